"""Single reports wait until enough of them can be written together; each answer waits for the disk.

An answer of 202 says that a report is on disk, and no group is written before it is large enough or has
waited long enough. Both hold because the answer is held back: a request lasts until its group is written.

A group whose reports spend tokens and that is still too small in the end is not written at all, because the
store would show which token belongs to which report. Its clients are told to come again at the next full
minute, so that those of a quiet campaign meet.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hushcount.errors import DataError, ParameterError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.service.observed import complain
from hushcount.service.store.reports import Outcome, Single

MEETING = 60  # seconds from one moment at which the clients of small groups come again to the next
MOST_IN_GROUP = 4096
MOST_WAITING = 1 << 15  # reports of one campaign; more are told to come again
Write = Callable[[Manifest, list[Single]], Awaitable[list[Outcome]]]


class BusyError(Exception):
    """Too many reports wait already."""


@dataclass(slots=True)
class _Waiting:
    """The reports of one campaign that are not written yet."""

    manifest: Manifest
    reports: list[tuple[Single, asyncio.Future[Outcome]]] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Groups:
    """Gathers single reports by campaign, and writes a group as soon as it may be written.

    Parameters
    ----------
    write:
        Writes the reports of a campaign and says what became of each.
    smallest:
        A group of at least so many is written at once.
    longest:
        A smaller one waits for so many seconds.
    """

    def __init__(self, write: Write, smallest: int, longest: float) -> None:
        self._write = write
        self._smallest = smallest
        self._longest = longest
        self._waiting: dict[str, _Waiting] = {}
        self._hurrying = False

    def hurry(self) -> None:
        """Let nothing wait for company any longer: the service is about to stop."""
        self._hurrying = True
        for waiting in self._waiting.values():
            waiting.enough.set()

    async def add(self, manifest: Manifest, single: Single) -> Outcome:
        """Return what became of a report, once that is on disk; raise what kept its group from it."""
        waiting = self._waiting.get(manifest.id)
        if waiting is None:
            waiting = self._waiting[manifest.id] = _Waiting(manifest)
        if len(waiting.reports) >= MOST_WAITING:
            raise BusyError
        done = asyncio.get_running_loop().create_future()
        waiting.reports.append((single, done))
        if self._hurrying or len(waiting.reports) >= self._smallest:
            waiting.enough.set()
        if waiting.task is None:
            waiting.task = asyncio.create_task(self._serve(waiting))
        return await asyncio.shield(done)

    async def _serve(self, waiting: _Waiting) -> None:
        """Write groups until no report waits any more."""
        try:
            while waiting.reports:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(waiting.enough.wait(), self._longest)
                group = waiting.reports[:MOST_IN_GROUP]
                del waiting.reports[:MOST_IN_GROUP]
                if len(waiting.reports) < self._smallest and not self._hurrying:
                    waiting.enough.clear()
                await self._write_group(waiting.manifest, group)
        finally:
            self._waiting.pop(waiting.manifest.id, None)

    async def _write_group(
        self, manifest: Manifest, group: list[tuple[Single, asyncio.Future[Outcome]]]
    ) -> None:
        """Write one group and answer its requests."""
        try:
            outcomes = await self._write(manifest, [single for single, _ in group])
        except Exception as error:
            if not isinstance(error, DataError):
                complain("group failed", kind=type(error).__name__)
            failure = DataError("The group could not be written.")
            for _, done in group:
                if not done.cancelled():
                    done.set_exception(failure)
                    done.exception()  # whoever asked may be gone, which is no reason to complain
            return
        for (_, done), outcome in zip(group, outcomes, strict=True):
            if not done.cancelled():
                done.set_result(outcome)


def check_waiting(smallest: int, longest: float, rate: float) -> None:
    """Raise unless groups and limits are as they can be."""
    if not 1 <= smallest <= MOST_IN_GROUP:
        raise ParameterError(f"--min-group must be from 1 to {MOST_IN_GROUP}, got {smallest}.")
    if not 0 < longest <= MEETING:
        raise ParameterError(f"--max-wait of a group must be above 0 and at most {MEETING} seconds.")
    if not 0 <= rate < math.inf:
        raise ParameterError("--rate must be 0, for no limit, or above.")


def until_meeting(now: float | None = None) -> int:
    """Return the seconds until clients of small groups come again.

    >>> until_meeting(59.5), until_meeting(60.0)
    (1, 60)
    """
    moment = time.time() if now is None else now
    return max(math.ceil(MEETING - moment % MEETING), 1)
