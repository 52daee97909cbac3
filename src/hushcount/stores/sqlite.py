"""Connections to SQLite files that several processes share and that outlive a crash.

Every file keeps a write-ahead log, and a transaction is on disk before it counts as done. A network file
system does not keep the locks that this needs, so a file on one is refused.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushcount.errors import DataError
from hushcount.files.atomic import PRIVATE, check_writable
from hushcount.files.failures import attempt
from hushcount.signals import held

# Milliseconds to wait for a transaction of another process.
PATIENCE = 30_000
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "fuse.sshfs"}
LOCKED = "Another process has kept the database locked for too long; run it again."


def connect(path: str | os.PathLike[str], schema: str) -> sqlite3.Connection:
    """Open a file that only its owner can read, and make its tables if it is new.

    Parameters
    ----------
    path
        The file; it is created (0600) if there is none.
    schema
        SQL that creates what is missing ("CREATE TABLE IF NOT EXISTS ...").

    Returns
    -------
    A connection that changes nothing outside of `transaction`.

    Raises
    ------
    DataError
        If the file cannot be written, is no database, or lies on a network file system.
    """
    check_writable(path)
    kind = file_system(os.path.realpath(path))
    if kind in NETWORK:
        raise DataError(f"{path} lies on a network file system ({kind}), which does not keep locks; move it.")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
    no_database = DataError(f"{path} is not a database that hushcount can use.")
    return attempt(lambda _: no_database, _opened, path, schema)


def _opened(path: str | os.PathLike[str], schema: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE / 1000, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    connection.executescript(schema)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do all of a block or nothing of it, alone; no signal interrupts it.

    >>> connection = sqlite3.connect(":memory:", isolation_level=None)
    >>> with transaction(connection):
    ...     _ = connection.execute("CREATE TABLE spent (epsilon REAL)")
    """
    with held():
        attempt(lambda _: DataError(LOCKED), connection.execute, "BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """Return the kind of file system on which a path lies, empty where the system does not say."""
    try:
        lines = Path(mounts).read_text().splitlines()
    except OSError:
        return ""
    kinds = {line.split(" ")[1].replace("\\040", " "): line.split(" ")[2] for line in lines}
    places = [place for place in kinds if os.path.commonpath((place, path)) == place]
    return kinds[max(places, key=len)] if places else ""
