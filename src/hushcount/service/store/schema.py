"""The tables of a store, and how those of earlier versions are brought up to date.

Reports and spent tokens are in tables of their own, in blobs that are sorted by random names: neither says in
which order requests came. What they have in common is the group in which they were written.
"""

from __future__ import annotations

from hushcount.errors import DataError
from hushcount.stores.database import Database, is_server, open_database, shown

_VERSIONS = "CREATE TABLE IF NOT EXISTS collector (id BIGINT PRIMARY KEY, version BIGINT NOT NULL)"
RESIDUE = 1
# The statements that lead from each version to the next, beginning with none.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE campaign (id TEXT PRIMARY KEY, manifest TEXT NOT NULL, access TEXT NOT NULL,"
        " origins TEXT NOT NULL, state TEXT NOT NULL, batches BIGINT NOT NULL, reports BIGINT NOT NULL,"
        " spent BIGINT NOT NULL, dropped BIGINT NOT NULL, released TEXT)",
        "CREATE TABLE token (hash BLOB PRIMARY KEY, campaign TEXT NOT NULL, role TEXT NOT NULL)",
        "CREATE TABLE batch (campaign TEXT NOT NULL, number BIGINT NOT NULL, hour BIGINT NOT NULL,"
        " reports BIGINT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (campaign, number))",
        "CREATE INDEX batch_digest ON batch (campaign, digest)",
        "CREATE TABLE spent (campaign TEXT NOT NULL, number BIGINT NOT NULL, hashes BLOB NOT NULL,"
        " PRIMARY KEY (campaign, number))",
        "CREATE TABLE seal (id BLOB PRIMARY KEY, private BLOB NOT NULL, public BLOB NOT NULL,"
        " created BIGINT NOT NULL, expires BIGINT NOT NULL)",
    ),
    # Has a row as long as the files may still hold something that was deleted.
    (
        "CREATE TABLE residue (id BIGINT PRIMARY KEY, number BIGINT NOT NULL)",
        f"INSERT INTO residue VALUES ({RESIDUE}, 1)",
    ),
)
NEWER = "{} was written by a newer version of hushcount; use that version."
# Milliseconds that a request waits for a file that another process has locked, before it is answered by 503.
_PATIENCE = 2000
_SETTINGS = (f"PRAGMA busy_timeout = {_PATIENCE}", "PRAGMA secure_delete = ON")


def open_store(location: str) -> Database:
    """Open the database of a store, make what is missing, and bring it up to date, or raise DataError."""
    database = open_database(location, (_VERSIONS,))
    try:
        if not is_server(location):
            for setting in _SETTINGS:
                database.rows(setting)
        _migrate(database, location)
    except BaseException:
        database.__exit__()
        raise
    return database


def _migrate(database: Database, location: str) -> None:
    """Run the steps that are missing, all or none of them."""
    with database.transaction():
        database.change("INSERT INTO collector VALUES (1, 0) ON CONFLICT (id) DO NOTHING")
        ((version,),) = database.rows(f"SELECT version FROM collector WHERE id = 1{database.alone}")
        if not isinstance(version, int) or version > len(MIGRATIONS):
            raise DataError(NEWER.format(shown(location)))
        for statement in (each for step in MIGRATIONS[version:] for each in step):
            database.change(statement.replace("BLOB", "BYTEA") if is_server(location) else statement)
        database.change("UPDATE collector SET version = ? WHERE id = 1", len(MIGRATIONS))
