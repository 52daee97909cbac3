"""What was deleted leaves the files of a store too: it is neither in free pages nor in a log.

SQLite fills what is deleted with zeros, but older pages are in the log until it is emptied, which it cannot
be while somebody reads. PostgreSQL leaves deleted rows in the files of its tables until they are written
anew. A row of the store remembers that this is to be done, so that no crash and no lock prevents it for good.
"""

from __future__ import annotations

from hushcount.service.store.schema import RESIDUE
from hushcount.stores.database import Database

_TABLES = ("batch", "spent", "token", "campaign", "seal")
_PATIENCE = "5s"  # that everybody waits for a table if somebody else, such as a backup, is reading it
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"


def note_residue(database: Database) -> None:
    """Remember, in the transaction that deletes something, that it may still be in the files."""
    database.change(
        "INSERT INTO residue VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET number = residue.number + 1",
        RESIDUE,
    )


def wipe(database: Database) -> bool:
    """Remove what was deleted from the files; return False if that has to be tried again."""
    found = database.rows("SELECT number FROM residue WHERE id = ?", RESIDUE)
    if not found:
        return True
    if database.alone:  # a server
        _write_anew(database)
    elif database.rows(_EMPTY_LOG)[0][0]:  # somebody reads
        return False
    with database.transaction():
        database.change("DELETE FROM residue WHERE number = ?", found[0][0])  # unless more was deleted
    return True


def _write_anew(server: Database) -> None:
    """Write the tables of a server anew, or raise DataError if somebody keeps one locked."""
    server.change(f"SET lock_timeout = '{_PATIENCE}'")
    try:
        for table in _TABLES:
            server.change(f"VACUUM (FULL) {table}")
    finally:
        server.change("RESET lock_timeout")
