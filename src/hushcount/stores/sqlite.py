"""SQLite files that several processes share and that outlive a crash.

Every file keeps a write-ahead log, and a transaction is on disk before it counts as done. A network file
system does not keep the locks that this needs, so a file on one is refused.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from hushcount.errors import DataError
from hushcount.files.atomic import PRIVATE, check_writable
from hushcount.files.failures import attempt
from hushcount.stores.database import LOCKED, Database, Value

# Milliseconds to wait for a transaction of another process.
PATIENCE = 30_000
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "fuse.sshfs"}
SETTINGS = ("synchronous = FULL", "foreign_keys = ON")
# What went wrong by SQLite's own codes; {path} is the file.
REASONS = {
    sqlite3.SQLITE_BUSY: LOCKED,
    sqlite3.SQLITE_LOCKED: LOCKED,
    sqlite3.SQLITE_READONLY: "{path} cannot be written: it is read-only.",
    sqlite3.SQLITE_CANTOPEN: "{path} cannot be opened; its folder must be writable too.",
    sqlite3.SQLITE_FULL: "The disk of {path} is full, so nothing was recorded; free some and run it again.",
    sqlite3.SQLITE_IOERR: "{path} cannot be read or written: input/output error.",
}
ROOM = 1 << 16  # bytes that a log needs
LOGS = "each name would have a log of its own; remove the others, or copy the file."
DAMAGED = "{path} is not a database that hushcount can use."


class SQLite(Database):
    """One SQLite file as a `Database`.

    Parameters
    ----------
    path
        The file; it is created (0600) if there is none and a schema is given.
    schema
        SQL statements that create what is missing ("CREATE TABLE IF NOT EXISTS ...").

    Raises
    ------
    DataError
        If the file does not exist, cannot be used, has several names, or lies on a network file system.
    """

    _begin = ("BEGIN IMMEDIATE",)
    _begin_reading = "BEGIN"

    def __init__(self, path: str | os.PathLike[str], schema: Sequence[str] = ()) -> None:
        self._path = path
        if not schema and not os.path.exists(path):
            raise DataError(f"{path} does not exist.")
        check_writable(path, database=True)
        kind = file_system(os.path.realpath(path))
        if kind in NETWORK:
            raise DataError(
                f"{path} lies on a network file system ({kind}), which does not keep locks; move it."
            )
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
        if os.stat(path).st_nlink > 1:
            raise DataError(f"{path} has other names too (hard links), and {LOGS}")
        self._connection = attempt(self._failure, _opened, path, ";\n".join(schema))

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def has_table(self, name: str) -> bool:
        """Return whether there is such a table."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name))

    def _run(self, statement: str, values: Sequence[Value] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    def _undo(self) -> None:
        """Undo what is not committed. After some failures SQLite has done so already."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _failure(self, error: Exception) -> DataError:
        code = vars(error).get("sqlite_errorcode", 0) & 0xFF  # missing where the module itself refused
        if code == sqlite3.SQLITE_IOERR and _is_full(self._path):  # as of a log that cannot be made there
            code = sqlite3.SQLITE_FULL
        return DataError(REASONS.get(code, DAMAGED).format(path=self._path))


def _opened(path: str | os.PathLike[str], script: str) -> sqlite3.Connection:
    """Open a file, and make its tables if it is new."""
    connection = sqlite3.connect(path, timeout=PATIENCE / 1000, isolation_level=None)
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise DataError(f"{path} cannot keep a write-ahead log where it lies; move it to a local disk.")
        for setting in SETTINGS:
            connection.execute(f"PRAGMA {setting}")
        if script:
            connection.executescript(f"BEGIN IMMEDIATE;\n{script};\nCOMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_full(path: str | os.PathLike[str]) -> bool:
    """Return whether the disk of a file has hardly any room left."""
    try:
        return shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free < ROOM
    except OSError:
        return False


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the kind of file system on which a path lies, empty where the system does not say."""
    try:
        lines = Path(mounts).read_text().splitlines()
    except OSError:
        return ""
    kinds = {line.split(" ")[1].replace("\\040", " "): line.split(" ")[2] for line in lines}
    places = [place for place in kinds if os.path.commonpath((place, path)) == place]
    return kinds[max(places, key=len)] if places else ""
