"""Files that are whole or not there: each is written beside its target, then all are renamed together."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, Self, runtime_checkable

from hushcount import signals
from hushcount.errors import DataError, ParameterError, system_reason
from hushcount.files.leftovers import prefix, remove_leftovers, take_lock

try:
    import fcntl
except ImportError:  # a system without file locks
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]
# Sketches, checkpoints and states hold raw data: only their owner may read them, whatever the umask says.
PRIVATE = 0o600
# Releases get what the umask leaves of this, or keep the mode of the file that they replace.
PUBLIC = 0o666
SQLITE = b"SQLite format 3\0"
_numbers = itertools.count()


@dataclass(slots=True)
class Outputs:
    """Files that are prepared one after the other and then appear together.

    Leaving the block without `commit` removes whatever was prepared; the targets stay as they were. After it,
    whoever interrupts the program is told what was written, unless these are files of the program's own.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp(), "table.csv")
    >>> with Outputs() as outputs:
    ...     with outputs.file(target) as stream:
    ...         _ = stream.write(b"key,count")
    ...     outputs.commit()
    >>> target.read_bytes()
    b'key,count'
    """

    told: bool = True
    _prepared: list[_Prepared] = field(default_factory=list)
    _elsewhere: list[tuple[str, Callable[[], None]]] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with signals.held():
            while self._prepared:
                self._prepared.pop().discard()

    @contextmanager
    def file(self, path: PathLike, mode: int = PUBLIC) -> Iterator[BinaryIO]:
        """Open a new file beside `path`, which it replaces at the commit.

        Parameters
        ----------
        path
            Where the file will be. The file behind a link is replaced, and the link stays.
        mode
            `PRIVATE` for raw data; `PUBLIC` to follow the umask, or the mode of the replaced file.

        Raises
        ------
        DataError
            If the file cannot be written.
        """
        with signals.held():
            self._prepared.append(_Prepared.beside(path, mode))
        prepared = self._prepared[-1]
        try:
            with os.fdopen(os.dup(prepared.handle), "w+b") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise unwritable(path, error) from None

    def elsewhere(self, place: str, write: Callable[[], None]) -> None:
        """Have something written that is no file, whole or not at all, once all files are prepared."""
        self._elsewhere.append((place, write))

    def commit(self) -> None:
        """Write what is no file, which may fail; then rename all prepared files to their targets.

        No signal comes between.
        """
        written: list[str] = []
        with signals.held():
            for place, write in self._elsewhere:
                write()
                written.append(place)
            while self._prepared:
                try:
                    self._prepared[0].rename()
                except OSError as error:
                    raise unwritable(self._prepared[0].path, error, written) from None
                written.append(str(self._prepared.pop(0).path))
            if written and self.told:
                signals.leaves(f"{_listed(written)} had been written.")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A file that waits beside its target, locked so that nobody takes it for a leftover."""

    path: PathLike
    target: str
    name: str
    handle: int

    @classmethod
    def beside(cls, path: PathLike, mode: int) -> _Prepared:
        """Create the file."""
        check_writable(path)
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        remove_leftovers(folder)
        try:
            while True:
                name = os.path.join(folder, f".{prefix()}{next(_numbers)}")
                with suppress(FileExistsError):
                    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
                    break
            take_lock(handle)
            if mode != PRIVATE and os.path.exists(target):
                os.chmod(name, stat.S_IMODE(os.stat(target).st_mode))
        except OSError as error:
            raise unwritable(path, error) from None
        return cls(path, target, name, handle)

    def rename(self) -> None:
        """Put the file in its place, durably."""
        os.replace(self.name, self.target)
        os.close(self.handle)
        make_durable(Path(self.target))

    def discard(self) -> None:
        """Remove the file."""
        os.close(self.handle)
        with suppress(OSError):
            os.unlink(self.name)


@contextmanager
def atomic_file(path: PathLike, mode: int = PUBLIC, told: bool = True) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the block ends well, and vanishes when it does not."""
    with Outputs(told) as outputs:
        with outputs.file(path, mode) as stream:
            yield stream
        outputs.commit()


def replace_verified(path: PathLike, data: bytes) -> None:
    """Replace a private file by `data`, once the new file has been read back and found the same."""
    with atomic_file(path, PRIVATE, told=False) as stream:
        stream.write(data)
        stream.seek(0)
        if stream.read() != data:
            raise DataError(f"Cannot write {path}: what was written does not read back the same.")


def check_writable(path: PathLike, database: bool = False) -> None:
    """Raise now, before hours of work, if `path` cannot be written later; a database only as one."""
    folder, kind = Path(path).parent, stat.S_IFREG
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from None
    if not folder.is_dir():
        raise DataError(f"Cannot write {path}: the folder {folder} does not exist.")
    if kind == stat.S_IFDIR or not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"Cannot write {path}: permission denied, or it is a folder.")
    if kind != stat.S_IFREG:
        raise DataError(f"Cannot write {path}: it is not a regular file.")
    with suppress(OSError), open(path, "rb") as stream:
        if not database and stream.read(len(SQLITE)) == SQLITE:
            raise ParameterError(
                f"{path} is a database, which may be the ledger of what was spent, so it is not replaced;"
                " name another file."
            )


@runtime_checkable
class Accompanied(Protocol):
    """A path with which other files are written or read."""

    @property
    def written(self) -> tuple[PathLike, ...]:
        """All files that are written, itself among them."""
        ...

    @property
    def read(self) -> tuple[PathLike, ...]:
        """The files that are read."""
        ...


def refuse_same(outputs: Iterable[PathLike | None], inputs: Iterable[PathLike]) -> None:
    """Raise if an output is an input, or is given twice, under whatever path or link.

    Parameters
    ----------
    outputs
        Files that a run will write; None stands for one that was not asked for.
    inputs
        Files that it reads.

    Raises
    ------
    ParameterError
        If writing an output would destroy an input or another output.
    """
    asked = [path for path in outputs if path is not None]
    others = [name for path in asked if isinstance(path, Accompanied) for name in path.read]
    read = {identity(path) for path in (*inputs, *others)}
    written: set[object] = set()
    for path in (name for each in asked for name in written_with(each)):
        if identity(path) in read:
            raise ParameterError(f"{path} is read by this run, so it cannot be written; name another file.")
        if identity(path) in written:
            raise ParameterError(f"{path} would be written twice; name another file for one of them.")
        written.add(identity(path))


def written_with(path: PathLike) -> tuple[PathLike, ...]:
    """Return all files that are written if this one is."""
    return path.written if isinstance(path, Accompanied) else (path,)


def identity(path: PathLike) -> object:
    """Return what is equal for two paths of one file: device and inode, or the path of a file to be made."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until nobody else is in such a block for the same path.

    The lock is on a file beside it, because the file itself is replaced. It ends with the process.
    """
    try:
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def make_durable(path: Path) -> None:
    """Have the system record on disk that a file was renamed, if it can."""
    with suppress(OSError):
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unwritable(path: PathLike, error: OSError | ValueError, written: Sequence[str] = ()) -> DataError:
    """Return the error that says why a file cannot be written, and which others were."""
    reason = system_reason(error) if isinstance(error, OSError) else "the name is not allowed"
    others = f" {_listed(written)} had been written." if written else ""
    return DataError(f"Cannot write {os.fspath(path)}: {reason}.{others}")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
