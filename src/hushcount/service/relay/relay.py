"""A running relay: sealed reports in, shuffled batches out. The collector sees no client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from hushcount.errors import ManifestError, ParameterError, ReportError
from hushcount.ldp.client.http import ask, checked_url
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.sealing import unpack_sealed
from hushcount.privacy import check_count
from hushcount.service.bodies import SEALED_REPORTS
from hushcount.service.groups import Groups, check_waiting
from hushcount.service.limits import Limits
from hushcount.service.observed import Observed, complain, say
from hushcount.service.problems import RefusedError, again
from hushcount.service.relay.pool import Pool
from hushcount.service.store.campaigns import is_campaign_id, token_hash
from hushcount.service.store.reports import Outcome, Single
from hushcount.service.store.warming import compile_loops

Answered = TypeVar("Answered")
OVER, UNKNOWN = 410, 404  # what a collector answers for a campaign that takes no more, or that it has not
MOST_BODIES = 4  # that are held in memory at once
LOOKUPS = 2.0  # campaigns per second about which the collector is asked
WITHOUT_RELAY = "This campaign takes reports without a relay."
TOO_SMALL = 422
_DAY = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySettings:
    """What the operator of a relay decides.

    Parameters
    ----------
    collector:
        The address of the collector.
    token:
        The token by which the collector knows the relay.
    store:
        The SQLite file in which sealed reports wait.
    client_tokens:
        The tokens of clients, each for one report per campaign; None if everybody may send.
    min_batch:
        Batches of at least so many are forwarded at once.
    max_wait:
        Smaller ones after so many seconds, if they reach the smallest batch of the manifest.
    smallest_group, longest_wait, rate:
        As for a collector.
    """

    collector: str
    token: str
    store: str
    client_tokens: tuple[str, ...] | None = None
    min_batch: int = 1000
    max_wait: float = 3600.0
    smallest_group: int = 10
    longest_wait: float = 1.0
    rate: float = 100.0

    def __post_init__(self) -> None:
        check_waiting(self.smallest_group, self.longest_wait, self.rate)
        check_count("--min-batch", self.min_batch)
        if not self.max_wait > 0:
            raise ParameterError("--max-wait must be above 0 seconds.")


class Relay:
    """A running relay.

    Parameters
    ----------
    settings:
        What the operator decides.
    """

    def __init__(self, settings: RelaySettings) -> None:
        self.settings = settings
        self.observed = Observed()
        self.limits = Limits(settings.rate)
        self._url = checked_url(settings.collector)
        self._tokens = (
            None if settings.client_tokens is None else set(map(token_hash, settings.client_tokens))
        )
        self._disk, self._net = ThreadPoolExecutor(1), ThreadPoolExecutor(2)
        self._pool: Pool | None = None
        self._manifests: dict[str, Manifest] = {}
        self._since: dict[str, float] = {}
        self._refused: dict[str, int] = {}  # how many came back in batches of which too few opened
        self._over: set[str] = set()  # campaigns that the collector has closed
        self._lookups = Limits(LOOKUPS)
        self._asked: dict[str, asyncio.Future[Manifest]] = {}  # lookups that are not answered yet
        self.bodies = asyncio.Semaphore(MOST_BODIES)
        self.groups = Groups(self._write, settings.smallest_group, settings.longest_wait)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the file, compile what requests need, and close the file in the end."""
        await asyncio.to_thread(compile_loops)
        for text in await self._do(lambda pool: pool.manifests()):
            manifest = Manifest.parse(text)
            self._manifests[manifest.id] = manifest
        try:
            yield
        finally:
            await self._do(lambda pool: pool.close())
            self._disk.shutdown()
            self._net.shutdown()

    async def _do(self, call: Callable[[Pool], Answered]) -> Answered:
        """Do something with the file, in its thread."""

        def work() -> Answered:
            if self._pool is None:
                self._pool = Pool(self.settings.store)
            return call(self._pool)

        return await asyncio.get_running_loop().run_in_executor(self._disk, work)

    async def manifest(self, campaign: str) -> Manifest:
        """Return the manifest of a campaign of the collector, or refuse."""
        if not is_campaign_id(campaign):
            raise RefusedError(404)
        if campaign in self._manifests:
            return self._manifests[campaign]
        asked = self._asked.get(campaign)
        if asked is None:
            if not self._lookups.allows(""):  # or whoever makes up campaigns keeps the collector busy
                raise RefusedError(503, headers=again(1))
            asked = self._asked[campaign] = asyncio.ensure_future(self._look_up(campaign))
            asked.add_done_callback(lambda _: self._asked.pop(campaign))
        return await asyncio.shield(asked)

    async def _look_up(self, campaign: str) -> Manifest:
        """Ask the collector for a manifest, and keep it."""
        url = f"{self._url}/v1/campaigns/{campaign}/manifest"
        found = await asyncio.get_running_loop().run_in_executor(self._net, ask, "GET", url)
        if found.status != 200:
            raise RefusedError(found.status if found.status in (OVER, UNKNOWN) else 503)
        try:
            manifest = Manifest.parse(found.body)
        except ManifestError:
            raise RefusedError(503) from None
        if manifest.id != campaign:
            raise RefusedError(503)
        if not manifest.terms.relay:
            raise RefusedError(403, WITHOUT_RELAY)
        await self._do(lambda pool: pool.keep_manifest(campaign, manifest.to_json()))
        self._manifests[campaign] = manifest
        return manifest

    async def add(self, campaign: str, sealed: bytes, token: str | None) -> Outcome:
        """Keep a sealed report, and return what became of it once that is on disk."""
        manifest = await self._running(campaign)
        hashed = None
        if self._tokens is not None:
            hashed = None if token is None else token_hash(token)
            if hashed not in self._tokens:
                raise RefusedError(401, headers={"WWW-Authenticate": "Bearer"})
        return await self.groups.add(manifest, Single(sealed, hashed))

    def check_batches(self) -> None:
        """Refuse batches where each report spends a token."""
        if self._tokens is not None:
            raise RefusedError(403, "This relay takes one report for each token, and so no batches.")

    async def add_batch(self, campaign: str, body: bytes) -> int:
        """Keep a batch of sealed reports, which spend no tokens, and return how many, once it is on disk."""
        manifest = await self._running(campaign)
        try:
            sealed = await asyncio.to_thread(unpack_sealed, body)
        except ReportError:
            raise RefusedError(422) from None
        await self._do(lambda pool: pool.add_batch(manifest.id, sealed, time.time()))
        self.observed.event("sealed", len(sealed))
        return len(sealed)

    async def _running(self, campaign: str) -> Manifest:
        """Return the manifest of a campaign that takes reports, or refuse."""
        manifest = await self.manifest(campaign)
        if manifest.expired() or campaign in self._over:
            raise RefusedError(410)
        return manifest

    async def _write(self, manifest: Manifest, singles: list[Single]) -> list[Outcome]:
        """Write a group."""
        smallest = self.settings.smallest_group
        outcomes = await self._do(lambda pool: pool.add(manifest.id, singles, time.time(), smallest))
        self.observed.event("sealed", outcomes.count(Outcome.STORED))
        return outcomes

    async def forward(self) -> None:
        """Make the batches that are due, and send what the collector does not have yet.

        Campaigns take turns, one batch each, so that none waits for another whose batches are many or are
        not taken.
        """
        for campaign, count in (await self._do(lambda pool: pool.waiting())).items():
            if await self._is_due(campaign, count):
                smallest = (await self.manifest(campaign)).terms.min_batch
                await self._do(partial(Pool.gather, campaign=campaign, smallest=smallest))
                self._since.pop(campaign, None)
                self._refused.pop(campaign, None)
        stuck: set[str] = set()
        while turns := [
            each for each in await self._do(lambda pool: pool.next_batches()) if each[1] not in stuck
        ]:
            for number, campaign in turns:
                if not await self._send(number, campaign):
                    stuck.add(campaign)

    async def _is_due(self, campaign: str, count: int) -> bool:
        """Return whether what waits for a campaign may be forwarded, and has waited long enough."""
        try:
            smallest = (await self.manifest(campaign)).terms.min_batch
        except RefusedError:  # `delete_overdue` sees to campaigns that are over
            return False
        began = self._since.setdefault(campaign, time.monotonic())
        waited = time.monotonic() - began >= self.settings.max_wait
        refused = self._refused.get(campaign, 0)
        if refused and count < refused + smallest:  # so nobody makes it send the same again for one more
            return False
        return count >= (smallest if waited else max(smallest, self.settings.min_batch))

    async def _send(self, number: int, campaign: str) -> bool:
        """Send one batch and return whether it is done with; it stays on disk unless the collector has it."""
        body = await self._do(lambda pool: pool.batch(number))
        url = f"{self._url}/v1/campaigns/{campaign}/reports"
        found = await asyncio.get_running_loop().run_in_executor(
            self._net, ask, "POST", url, self.settings.token, body, SEALED_REPORTS
        )
        self.observed.event("batches")
        if found.status in (202, OVER):
            await self._do(lambda pool: pool.forwarded(number))
            if found.status != 202:
                self._over.add(campaign)
            say("forwarded" if found.status == 202 else "campaign over", campaign=campaign)
        elif found.status == TOO_SMALL:  # some did not open, so the others need more company
            self._refused[campaign] = self._refused.get(campaign, 0) + len(unpack_sealed(body))
            await self._do(lambda pool: pool.put_back(number, campaign, body, time.time()))
            complain("batch refused", status=found.status)
        else:
            complain("batch not taken", status=found.status)
            return False
        return True

    async def delete_overdue(self) -> None:
        """Delete what is left of campaigns whose time of retention is over."""
        for campaign in await self._do(lambda pool: pool.campaigns()):
            try:
                manifest = await self.manifest(campaign)
            except RefusedError as refused:
                over = refused.status == OVER
            else:
                over = time.time() >= manifest.expires + manifest.terms.retention_days * _DAY
            if over:
                await self._do(partial(Pool.forget, campaign=campaign))

    async def work(self, pause: float) -> None:
        """Forward and delete until the relay stops."""
        while True:
            try:
                await self.forward()
                await self.delete_overdue()
            except Exception as failure:  # whatever it was, the reports are on disk, and others wait
                complain("collector or store failed", kind=type(failure).__name__)
            await asyncio.sleep(pause)
