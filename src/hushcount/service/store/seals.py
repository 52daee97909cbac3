"""The keys of a collector to which reports are sealed: the newest is given out, older ones still open."""

from __future__ import annotations

from typing import NamedTuple

from hushcount.ldp.wire.sealing import KEY_ID_BYTES, new_pair
from hushcount.secure import fresh_key
from hushcount.service.store.residue import note_residue
from hushcount.stores.database import Database

DAY = 24 * 3600
ROTATION = 7 * DAY  # a key is given out for so long
LIFE = 30 * DAY  # and opens for so long, because a relay may keep sealed reports for some time


class SealKey(NamedTuple):
    """A key pair: its id and its public half are published."""

    id: bytes
    private: bytes
    public: bytes
    expires: int


class Seals:
    """The keys of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def published(self, now: float) -> SealKey:
        """Return the key to which reports are sealed now; it is made if the newest is too old."""
        self.delete_expired(now)
        with self._database.transaction():
            rows = self._database.rows(
                "SELECT id, private, public, expires FROM seal WHERE created > ?"
                " ORDER BY created DESC LIMIT 1",
                int(now) - ROTATION,
            )
            if rows:
                return _key(*rows[0])
            private, public = new_pair()
            made = SealKey(fresh_key(KEY_ID_BYTES), private, public, int(now) + LIFE)
            self._database.change(
                "INSERT INTO seal VALUES (?, ?, ?, ?, ?)",
                *(made.id, private, public, int(now), made.expires),
            )
            return made

    def delete_expired(self, now: float) -> None:
        """Delete the keys that open nothing any more."""
        if self._database.rows("SELECT 1 FROM seal WHERE expires <= ?", int(now)):
            with self._database.transaction():
                self._database.change("DELETE FROM seal WHERE expires <= ?", int(now))
                note_residue(self._database)

    def opening(self, now: float) -> dict[bytes, SealKey]:
        """Return all keys that still open, by their id."""
        rows = self._database.rows(
            "SELECT id, private, public, expires FROM seal WHERE expires > ?", int(now)
        )
        keys = [_key(*row) for row in rows]
        return {key.id: key for key in keys}


def _key(identity: object, private: object, public: object, expires: object) -> SealKey:
    """Return the key in a row."""
    if not isinstance(identity, bytes) or not isinstance(private, bytes) or not isinstance(public, bytes):
        raise TypeError("a key is missing.")
    return SealKey(identity, private, public, int(str(expires)))
