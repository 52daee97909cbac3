"""What is found in the reports of a campaign: for its administrator, and once released for all."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from hushcount.errors import BudgetExceeded, LedgerError, ManifestError, ParameterError
from hushcount.service import answers, bodies
from hushcount.service.collector import Collector, released
from hushcount.service.observed import say
from hushcount.service.problems import RefusedError, plain
from hushcount.service.routes.asking import PRIVATE, for_admin, named, token_of
from hushcount.service.store.campaigns import ENDED, StoredCampaign

MOST_ITEMS = 1000
DELETED_REPORTS = "The reports of this campaign are deleted, so nothing more can be found in them."
OVERSPENT = "The ledger does not allow this release, so nothing was released."


async def release(collector: Collector, request: Request) -> Response:
    """Find the heavy hitters, and let everybody see them from now on."""
    found = _with_reports(collector, await for_admin(collector, request))
    asked = await bodies.decoded(request, bodies.NewRelease, may_be_empty=True)
    manifest = found.manifest
    text = await _answered(
        collector, lambda store: answers.heavy_hitters(store, manifest, asked.threshold, asked.limit)
    )
    await _charge(collector, found)
    await collector.writing.do(lambda store: store.campaigns.release(manifest.id, text))
    collector.forget(manifest.id)
    say("released", campaign=manifest.id)
    return Response(text, 200, PRIVATE, bodies.JSON)


async def heavy_hitters(collector: Collector, request: Request) -> Response:
    """Give what was released; the administrator gets what could be released now."""
    found = await named(collector, request)
    if found.released is None:
        _with_reports(collector, found)
    if token_of(request) is None or found.released is not None:
        return plain(200, released(found), {"Cache-Control": "no-cache"})
    await collector.check_admin(token_of(request))
    text = await _shown(collector, found, lambda store: answers.heavy_hitters(store, found.manifest))
    return Response(text, 200, PRIVATE, bodies.JSON)


async def frequencies(collector: Collector, request: Request) -> Response:
    """Estimate the counts of chosen items: for the administrator, and for all once there is a release."""
    found = await named(collector, request)
    if found.released is None:
        await collector.check_admin(token_of(request))
    items = request.query_params.getlist("item")
    if not 1 <= len(items) <= MOST_ITEMS:
        raise RefusedError(422, f"Give item from 1 to {MOST_ITEMS} times.")
    _with_reports(collector, found)
    with collector.asking():
        counts = await _shown(
            collector, found, lambda store: answers.frequencies(store, found.manifest, items)
        )
    return plain(200, counts, PRIVATE)


async def check(collector: Collector, request: Request) -> Response:
    """Tell the administrator whether reports look as honest clients make them."""
    found = _with_reports(collector, await for_admin(collector, request))
    looks = await _shown(collector, found, lambda store: answers.consistency(store, found.manifest))
    return plain(200, looks, PRIVATE)


def _with_reports(collector: Collector, found: StoredCampaign) -> StoredCampaign:
    """Return a campaign whose reports are not deleted, or due to be; refuse others."""
    if found.state == ENDED or collector.clock() >= found.kept_until():
        raise RefusedError(410, DELETED_REPORTS)
    return found


async def _shown(
    collector: Collector, found: StoredCampaign, call: Callable[..., answers.Answered]
) -> answers.Answered:
    """Compute something; before the first release the ledger is charged before anybody sees it."""
    computed = await _answered(collector, call)
    if found.released is None:
        await _charge(collector, found)
    return computed


async def _charge(collector: Collector, found: StoredCampaign) -> None:
    """Charge the ledger for a campaign, once however often it is asked, or refuse."""
    ledger, dataset = collector.settings.ledger, collector.settings.dataset
    try:
        await collector.answering.do(lambda _: answers.charge(found.manifest, ledger, dataset))
    except (BudgetExceeded, LedgerError):
        raise RefusedError(409, OVERSPENT) from None


async def _answered(collector: Collector, call: Callable[..., answers.Answered]) -> answers.Answered:
    """Compute something from all reports, or refuse what cannot be computed."""
    try:
        return await collector.answering.do(call)
    except answers.NoReportsError:
        raise RefusedError(409, "No report is stored yet, so nothing can be estimated.") from None
    except (ManifestError, ParameterError):
        raise RefusedError(422, "A threshold, a limit or an item is not one that can be used.") from None
