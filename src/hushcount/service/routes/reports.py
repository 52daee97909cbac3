"""Taking reports, one or a batch."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hushcount.service import bodies
from hushcount.service.collector import ADMIN, RETRY, Collector
from hushcount.service.groups import BusyError, until_meeting
from hushcount.service.problems import RefusedError, again, plain
from hushcount.service.routes.asking import named, token_of
from hushcount.service.store.campaigns import CLIENT, RELAY, TOKEN, StoredCampaign
from hushcount.service.store.reports import Outcome

ALONE = "Too few reports came at the same time to hide which token sent which; come again later."


async def add(collector: Collector, request: Request) -> Response:
    """Take one report, or a batch."""
    found = await named(collector, request)
    kind = bodies.kind_of(request, bodies.REPORT, bodies.REPORTS, bodies.SEALED_REPORTS)
    return await (_add_one if kind == bodies.REPORT else _add_batch)(collector, request, found)


async def _add_one(collector: Collector, request: Request, found: StoredCampaign) -> Response:
    """Take one report."""
    if found.by_relay:
        raise RefusedError(403, "This campaign takes reports through its relay only.")
    token = token_of(request)
    if found.access == TOKEN and await collector.role_of(token, found.manifest.id) != CLIENT:
        raise RefusedError(403)
    report = await bodies.report_of(request)
    try:
        outcome = await collector.add_single(found, report, token if found.access == TOKEN else None)
    except BusyError:
        raise RefusedError(503, headers=again(RETRY)) from None
    if outcome is Outcome.ALONE:
        raise RefusedError(503, ALONE, again(until_meeting(collector.clock())))
    if outcome is not Outcome.STORED:
        raise RefusedError(409 if outcome is Outcome.DONE else 410)
    return plain(202, {"accepted": 1})


async def _add_batch(collector: Collector, request: Request, found: StoredCampaign) -> Response:
    """Take a batch, whole or not at all."""
    if await collector.role_of(token_of(request), found.manifest.id) not in (ADMIN, RELAY):
        raise RefusedError(403)
    kind = bodies.kind_of(request, bodies.REPORTS, bodies.SEALED_REPORTS)
    outcome, fresh, others = await collector.add_batch(found, await bodies.body_of(request), kind)
    if outcome is Outcome.OVER:
        raise RefusedError(410)
    return plain(202, {"accepted": fresh, "duplicates": others})
