"""Files that are either whole or not there: write beside the target, then rename."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from hushcount.errors import DataError

PRIVATE = 0o600
PUBLIC = 0o644


@contextmanager
def atomic_file(path: str | os.PathLike[str], mode: int = PUBLIC) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends well, and vanishes when it does not."""
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".hushcount-")
    except OSError as error:
        raise _unwritable(target, error) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise _unwritable(target, error) from None
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now, before hours of work, if `path` cannot be written later."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise DataError(f"Cannot write {path}: the folder {folder} does not exist.")
    if Path(path).is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"Cannot write {path}: permission denied, or it is a folder.")


def _unwritable(path: Path, error: OSError) -> DataError:
    return DataError(f"Cannot write {path}: {(error.strerror or 'input/output error').lower()}.")
