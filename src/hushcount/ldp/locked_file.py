"""A file that one process or thread changes at a time, and that outlives a crash. Pure Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hushcount.errors import DataError
from hushcount.files.atomic import PRIVATE

try:
    import fcntl
except ImportError:  # a system without locks of files: threads of one state still wait for each other
    fcntl = None  # type: ignore[assignment]


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until nobody else is in such a block for the same path.

    The lock is on a file beside it, because the file itself is replaced; it ends with the process.
    """
    try:
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise DataError(f"Cannot write {path}: {(error.strerror or 'input/output error').lower()}.") from None
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def make_durable(path: Path) -> None:
    """Have the system write down that a file was renamed, where it can be asked to."""
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
