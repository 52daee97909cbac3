"""The collector: what its routes ask for, on three threads with a connection each."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from hashlib import sha256

from hushcount.errors import DataError, ManifestError, ParameterError, ReportError
from hushcount.ldp.server.decoding import check_work
from hushcount.ldp.wire.batch import unpack_batch
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.sealing import SEALED_BYTES
from hushcount.ldp.wire.versions import DRAWN
from hushcount.service.bodies import MOST_BODY, REPORTS
from hushcount.service.groups import Groups, check_waiting
from hushcount.service.limits import Limits
from hushcount.service.observed import Observed, complain
from hushcount.service.opening import opened
from hushcount.service.problems import RefusedError, again
from hushcount.service.store.batch import read_reports
from hushcount.service.store.campaigns import DELETED, TOKEN, StoredCampaign, is_campaign_id, token_hash
from hushcount.service.store.reports import Outcome, RelayBatch, Single
from hushcount.service.store.seals import SealKey
from hushcount.service.store.store import CollectorStore, Desk
from hushcount.service.store.warming import compile_loops

ADMIN = "admin"
MOST_ASKING = 16  # questions about counts that wait at once; more are told to come again
REMEMBERED = 1.0  # seconds for which a campaign is not read again
MOST_REMEMBERED = 64
MOST_IN_BATCH = (MOST_BODY - 16) // SEALED_BYTES
ONE_PER_TOKEN = (
    "A client's token is good for one report, but the manifest asks for several per user; take access"
    ' "open", or a manifest with one report per user.'
)
BUSY = "Too many questions wait already; come again later."
RETRY = 5  # seconds, after a failure of the store
NO_DATASET = "--ledger, or HUSHCOUNT_LEDGER, and --dataset go together: where is charged, and whose budget."
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSettings:
    """What the operator of a collector decides.

    Parameters
    ----------
    store:
        The path of an SQLite file, or the address of a PostgreSQL server.
    admin_token:
        The secret of the administrator.
    smallest_group:
        Single reports are written in groups of at least so many, or after `longest_wait` seconds. A group
        with tokens that is smaller even then is not stored.
    longest_wait:
        How long a single report waits for others, in seconds.
    rate:
        Requests per second of one address; 0 for no limit.
    ledger, dataset:
        Whose budget the central guarantees of anonymous campaigns are charged to.
    """

    store: str
    admin_token: str
    smallest_group: int = 10
    longest_wait: float = 1.0
    rate: float = 100.0
    ledger: str | None = None
    dataset: str | None = None

    def __post_init__(self) -> None:
        check_waiting(self.smallest_group, self.longest_wait, self.rate)
        if (self.ledger is None) != (self.dataset is None):
            raise ParameterError(NO_DATASET)


class Collector:
    """A running collector.

    Parameters
    ----------
    settings:
        What the operator decides.
    clock:
        The time in seconds since 1970; only tests give one.
    """

    def __init__(self, settings: CollectorSettings, clock: Clock = time.time) -> None:
        self.settings = settings
        self.clock = clock
        self.observed = Observed()
        self.limits = Limits(settings.rate)
        self.reading, self.writing, self.answering = (Desk(settings.store) for _ in range(3))
        self.groups = Groups(self._write, settings.smallest_group, settings.longest_wait)
        self._admin = sha256(settings.admin_token.encode()).digest()
        self._remembered: dict[str, tuple[float, StoredCampaign]] = {}
        self._asking = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the store, compile what requests need, and close the store in the end."""
        await asyncio.to_thread(compile_loops)
        await self.writing.do(lambda store: store.seals.published(self.clock()))
        try:
            yield
        finally:
            for desk in (self.writing, self.reading, self.answering):
                await desk.close()

    async def campaign(self, campaign: str) -> StoredCampaign:
        """Return a campaign; refuse an id that is unknown (404) or deleted (410)."""
        if not is_campaign_id(campaign):
            raise RefusedError(404)
        moment, found = self._remembered.get(campaign, (0.0, None))
        if found is not None and time.monotonic() - moment < REMEMBERED:
            return found
        read = await self.reading.do(lambda store: store.campaigns.get(campaign))
        if not isinstance(read, StoredCampaign):
            raise RefusedError(410 if read == DELETED else 404)
        while len(self._remembered) >= MOST_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[campaign] = (time.monotonic(), read)
        return read

    def forget(self, campaign: str) -> None:
        """Read a campaign again when it is needed next."""
        self._remembered.pop(campaign, None)

    async def role_of(self, token: str | None, campaign: str) -> str:
        """Return the role of a token; refuse none, an unknown one (401), or one of another campaign (403)."""
        if token is None:
            raise RefusedError(401, headers={"WWW-Authenticate": "Bearer"})
        hashed = token_hash(token)
        if hmac.compare_digest(hashed, self._admin):
            return ADMIN
        found = await self.reading.do(lambda store: store.campaigns.role_of(hashed))
        if found is None:
            raise RefusedError(401, headers={"WWW-Authenticate": "Bearer"})
        if found[0] != campaign:
            raise RefusedError(403)
        return found[1]

    async def check_admin(self, token: str | None) -> None:
        """Refuse whoever is not the administrator."""
        if await self.role_of(token, "") != ADMIN:
            raise RefusedError(403)

    async def make(self, text: bytes, access: str, origins: tuple[str, ...]) -> tuple[Manifest, bool]:
        """Add a campaign and return it with whether it is new."""
        try:
            manifest = Manifest.parse(text)
            check_work(manifest)
        except ManifestError:
            raise RefusedError(422, "The manifest is refused; hushcount ldp new makes one.") from None
        if manifest.wire is not DRAWN:
            raise RefusedError(422, "The manifest must be of version 2.")
        if manifest.expired(self.clock()):
            raise RefusedError(422, "The manifest has expired.")
        if manifest.terms.relay and manifest.terms.min_batch > MOST_IN_BATCH:
            raise RefusedError(
                422, f"The smallest batch of a relay may have at most {MOST_IN_BATCH} reports."
            )
        if access == TOKEN and manifest.reports > 1:
            raise RefusedError(422, ONE_PER_TOKEN)
        made = await self.writing.do(lambda store: store.campaigns.add(manifest, access, origins))
        if made is None:
            raise RefusedError(409)
        return manifest, made

    async def add_single(self, found: StoredCampaign, report: bytes, token: str | None) -> Outcome:
        """Store one report and return what became of it, once that is on disk."""
        try:
            read_reports(report, found.manifest)
        except ReportError:
            raise RefusedError(422) from None
        single = Single(report, None if token is None else token_hash(token))
        return await self.groups.add(found.manifest, single)

    async def _write(self, manifest: Manifest, singles: list[Single]) -> list[Outcome]:
        """Write a group, and count what became of it."""
        smallest = self.settings.smallest_group
        outcomes = await self.writing.do(
            lambda store: store.reports.add_singles(manifest, singles, self.clock(), smallest)
        )
        self.observed.event("groups")
        self.observed.event("reports", outcomes.count(Outcome.STORED))
        return outcomes

    async def add_batch(self, found: StoredCampaign, body: bytes, kind: str) -> tuple[Outcome, int, int]:
        """Store a batch; return what became of it, how many reports are new and how many are not."""
        manifest, terms, now = found.manifest, found.manifest.terms, self.clock()
        keys: dict[bytes, SealKey] = {}
        if kind != REPORTS:  # opening takes long, so a batch that came before is not opened again
            digest = sha256(body).digest()
            if await self.reading.do(lambda store: store.reports.has(manifest.id, digest)):
                return Outcome.DONE, 0, len(body) // SEALED_BYTES
            keys = await self.reading.do(lambda store: store.seals.opening(now))
        sent = await asyncio.to_thread(_received, manifest, body, kind, keys)
        outcome, fresh = await self.writing.do(lambda store: store.reports.add_batch(manifest, sent, now))
        if outcome is Outcome.TOO_FEW:
            raise RefusedError(422, f"A batch of this campaign has at least {terms.min_batch} new reports.")
        if outcome is Outcome.MIXED:
            raise RefusedError(422, "A report of the batch is in another batch.")
        self.observed.event("batches")
        self.observed.event("reports", fresh)
        return outcome, fresh, len(sent.batch.nonces) - fresh

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Let a question of the public wait its turn, or refuse it if too many wait."""
        if self._asking >= MOST_ASKING:
            raise RefusedError(503, BUSY, again(RETRY))
        self._asking += 1
        try:
            yield
        finally:
            self._asking -= 1

    async def delete_overdue(self) -> None:
        """Delete the reports and tokens whose time of retention is over, and keys that have expired."""
        await self.writing.do(lambda store: store.seals.delete_expired(self.clock()))
        for campaign in await self.writing.do(lambda store: store.campaigns.overdue(self.clock())):
            await self.writing.do(_end, campaign)
            self.forget(campaign)
        await self.wipe()

    async def delete(self, campaign: str) -> None:
        """Delete all of a campaign but its id."""
        await self.writing.do(lambda store: store.campaigns.delete(campaign))
        self.forget(campaign)
        try:
            await self.wipe()
        except DataError as failure:  # it is deleted; the next sweep wipes it
            complain("wipe failed", kind=type(failure).__name__)

    async def wipe(self) -> None:
        """Remove what was deleted from the files of the store, and from the memory of this process."""
        await self.writing.do(lambda store: store.reports.forget_deleted())
        await self.answering.do(lambda store: store.tables.forget_deleted())
        if not await self.writing.do(lambda store: store.wipe()):
            complain("wipe delayed")


def released(found: StoredCampaign) -> dict[str, object]:
    """Return what was released of a campaign; refuse if nothing was."""
    if found.released is None:
        raise RefusedError(403, "Nothing of this campaign was released yet.")
    document: dict[str, object] = json.loads(found.released)
    return document


def _end(store: CollectorStore, campaign: str) -> None:
    store.campaigns.end(campaign)


def _received(manifest: Manifest, body: bytes, kind: str, keys: dict[bytes, SealKey]) -> RelayBatch:
    """Return the reports of a body, or refuse it."""
    dropped = 0
    try:
        if kind == REPORTS:
            received = read_reports(unpack_batch(body), manifest)
            if manifest.terms.relay and not received.ascending:
                raise RefusedError(422, "The reports of a batch must be sorted by nonce, none twice.")
        else:
            reports, dropped = opened(body, manifest, keys)
            received = read_reports(b"".join(reports), manifest)
    except ReportError:
        raise RefusedError(422) from None
    return RelayBatch(received.batch, sha256(body).digest(), dropped, kind != REPORTS)
