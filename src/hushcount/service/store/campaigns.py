"""Campaigns and tokens as a store keeps them. Of tokens only hashes are kept."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256

from hushcount.ldp.wire.manifest import Manifest
from hushcount.secure import fresh_key
from hushcount.service.store.residue import note_residue
from hushcount.stores.database import Database

OPEN, TOKEN = "open", "token"
ACCESS = (OPEN, TOKEN)  # who may send a report: everybody, or whoever has a token
CLIENT, RELAY = "client", "relay"
ROLES = (CLIENT, RELAY)
# A running campaign takes reports, a closed one does not; of an ended one the reports are deleted, of a
# deleted one everything but its id.
RUNNING, CLOSED, ENDED, DELETED = "running", "closed", "ended", "deleted"
DAY = 24 * 3600
_TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """One campaign: its manifest, who may report, and how far it is."""

    manifest: Manifest
    access: str
    origins: tuple[str, ...]
    state: str
    batches: int
    reports: int
    dropped: int  # sealed reports that did not open, or were malformed
    released: str | None

    @property
    def by_relay(self) -> bool:
        """Whether reports come in batches of a relay only: the manifest names one."""
        return bool(self.manifest.terms.relay)

    def takes_reports(self, now: float) -> bool:
        """Return whether the campaign still takes reports."""
        return self.state == RUNNING and not self.manifest.expired(now)

    def kept_until(self) -> int:
        """Return when the reports and the spent tokens are deleted."""
        return self.manifest.expires + self.manifest.terms.retention_days * DAY


def is_campaign_id(text: str) -> bool:
    """Return whether a text can be the id of a campaign; anything else goes to no database and no address.

    >>> is_campaign_id("0" * 64), is_campaign_id("0" * 63 + "?")
    (True, False)
    """
    return re.fullmatch(r"[0-9a-f]{64}", text, re.ASCII) is not None


def token_hash(token: str) -> bytes:
    """Return the hash of a token, which is all that is kept of it."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


class Campaigns:
    """The campaigns and tokens of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, manifest: Manifest, access: str, origins: tuple[str, ...]) -> bool | None:
        """Add a campaign. Return whether it is new; None if its id is taken by another or a deleted one."""
        with self._database.transaction():
            made = self._database.change(
                "INSERT INTO campaign VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, NULL) ON CONFLICT (id) DO NOTHING",
                *(manifest.id, manifest.to_json(), access, json.dumps(origins), RUNNING),
            )
        if made:
            return True
        found = self.get(manifest.id)
        same = isinstance(found, StoredCampaign) and (found.access, found.origins) == (access, origins)
        return False if same else None

    def get(self, campaign: str) -> StoredCampaign | str | None:
        """Return a campaign, DELETED if it is deleted, or None."""
        rows = self._database.rows(
            "SELECT manifest, access, origins, state, batches, reports, dropped, released FROM campaign"
            " WHERE id = ?",
            campaign,
        )
        if not rows:
            return None
        manifest, access, origins, state, batches, reports, dropped, released = rows[0]
        if state == DELETED:
            return DELETED
        return StoredCampaign(
            Manifest.parse(str(manifest)),
            str(access),
            tuple(json.loads(str(origins))),
            str(state),
            int(str(batches)),
            int(str(reports)),
            int(str(dropped)),
            None if released is None else str(released),
        )

    def ids(self) -> list[str]:
        """Return the ids of all campaigns that are not deleted."""
        rows = self._database.rows("SELECT id FROM campaign WHERE state <> ? ORDER BY id", DELETED)
        return [str(row[0]) for row in rows]

    def reports_by_hour(self, campaign: str) -> list[tuple[int, int]]:
        """Return how many reports were stored in each hour; hours are counted from 1970 (UTC)."""
        rows = self._database.rows(
            "SELECT hour, CAST(SUM(reports) AS BIGINT) FROM batch WHERE campaign = ?"
            " GROUP BY hour ORDER BY hour",
            campaign,
        )
        return [(int(str(hour)), int(str(reports))) for hour, reports in rows]

    def issue(self, campaign: str, role: str, count: int) -> list[str]:
        """Return new tokens, in no order that the store keeps."""
        tokens = [urlsafe_b64encode(fresh_key(_TOKEN_BYTES)).decode() for _ in range(count)]
        with self._database.transaction():
            for hashed in sorted(map(token_hash, tokens)):
                self._database.change("INSERT INTO token VALUES (?, ?, ?)", hashed, campaign, role)
        return tokens

    def role_of(self, hashed: bytes) -> tuple[str, str] | None:
        """Return the campaign and the role of a token, or None if there is no such token."""
        rows = self._database.rows("SELECT campaign, role FROM token WHERE hash = ?", hashed)
        return (str(rows[0][0]), str(rows[0][1])) if rows else None

    def close(self, campaign: str) -> None:
        """Let a running campaign take no more reports."""
        self._change("UPDATE campaign SET state = ? WHERE id = ? AND state = ?", CLOSED, campaign, RUNNING)

    def release(self, campaign: str, document: str) -> None:
        """Keep what was released."""
        self._change(
            "UPDATE campaign SET released = ? WHERE id = ? AND state <> ?", document, campaign, DELETED
        )

    def _change(self, statement: str, *values: str) -> None:
        with self._database.transaction():
            self._database.change(statement, *values)

    def end(self, campaign: str) -> None:
        """Delete the reports and tokens of a campaign, whose manifest and released result stay."""
        with self._database.transaction():
            self._forget(campaign)
            self._database.change(
                "UPDATE campaign SET state = ?, batches = 0, spent = 0 WHERE id = ?", ENDED, campaign
            )

    def delete(self, campaign: str) -> None:
        """Delete all of a campaign but its id."""
        with self._database.transaction():
            self._forget(campaign)
            self._database.change(
                "UPDATE campaign SET state = ?, manifest = '', access = '', origins = '', released = NULL,"
                " reports = 0, batches = 0, spent = 0, dropped = 0 WHERE id = ?",
                *(DELETED, campaign),
            )

    def _forget(self, campaign: str) -> None:
        """Delete reports, spent tokens and tokens."""
        note_residue(self._database)
        for table in ("batch", "spent", "token"):
            self._database.change(f"DELETE FROM {table} WHERE campaign = ?", campaign)

    def overdue(self, now: float) -> list[str]:
        """Return the campaigns whose reports must be deleted by now."""
        due = []
        for campaign in self.ids():
            found = self.get(campaign)
            if isinstance(found, StoredCampaign) and found.state != ENDED and now >= found.kept_until():
                due.append(campaign)
        return due
