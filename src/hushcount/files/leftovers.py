"""Temporary files and folders: named after their process, locked while in use, removed if it was killed.

A name holds the process number (`hushcount-4711-x3k9`). Whoever makes one keeps a lock on it as long as it is
used. A process that was killed by SIGKILL cannot remove its own; the next run of the same user removes what
nobody has locked, of processes that no longer exist.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from hushcount.signals import held

try:
    import fcntl
except ImportError:  # a system without file locks
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.?hushcount-(\d+)-")


def prefix() -> str:
    """Return how the names of this process begin."""
    return f"hushcount-{os.getpid()}-"


@contextmanager
def private_folder() -> Iterator[str]:
    """Make a folder that only its owner can enter (0700), and remove it when the block ends."""
    remove_leftovers(tempfile.gettempdir())
    with ExitStack() as kept:
        with held():
            folder = tempfile.mkdtemp(prefix=prefix())
            kept.callback(_remove_held, folder)
            lock = os.open(folder, os.O_RDONLY)
            kept.callback(os.close, lock)
            take_lock(lock)
        yield folder


def _remove_held(folder: str) -> None:
    with held():
        shutil.rmtree(folder, ignore_errors=True)


def take_lock(handle: int) -> bool:
    """Mark an open file or folder as used; return whether nobody else has done so."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_leftovers(folder: str) -> None:
    """Remove what killed processes of this user have left in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.match(entry.name)
            if found and not _alive(int(found[1])):
                with suppress(OSError):
                    _remove(entry.path)


def _remove(path: str) -> None:
    """Remove a file or folder that is this user's alone, unless somebody has locked it."""
    status = os.lstat(path)
    whole = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
    if status.st_uid != os.geteuid() or not (whole or stat.S_ISREG(status.st_mode)):
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if take_lock(handle):
            shutil.rmtree(path) if whole else os.unlink(path)
    finally:
        os.close(handle)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True
