"""The routes of the collector: who may ask, what is checked in which order, and the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from hushcount.errors import BudgetExceeded, LedgerError, ManifestError, ParameterError
from hushcount.service import answers, bodies, pages
from hushcount.service.collector import ADMIN, Collector, released
from hushcount.service.groups import BusyError, until_meeting
from hushcount.service.observed import say
from hushcount.service.problems import RefusedError, again, plain
from hushcount.service.store.campaigns import CLIENT, RELAY, TOKEN, StoredCampaign
from hushcount.service.store.reports import HOUR, Outcome

Handler = Callable[[Collector, Request], Awaitable[Response]]
RETRY = 5  # seconds, after a failure of the store
MOST_ITEMS = 1000
ALONE = "Too few reports came at the same time to hide which token sent which; come again later."
OVERSPENT = "The ledger does not allow this release, so nothing was released."
KEPT = {"Cache-Control": "public, max-age=300"}
PRIVATE = {"Cache-Control": "no-store"}


def token_of(request: Request) -> str | None:
    """Return the token of a request."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


async def _for_admin(collector: Collector, request: Request) -> StoredCampaign:
    """Return the campaign of a request of the administrator."""
    await collector.check_admin(token_of(request))
    return await _campaign(collector, request)


async def _campaign(collector: Collector, request: Request) -> StoredCampaign:
    """Return the campaign that the path names."""
    return await collector.campaign(request.path_params["id"])


async def campaigns(collector: Collector, request: Request) -> Response:
    """List all campaigns."""
    await collector.check_admin(token_of(request))
    ids = await collector.reading.do(lambda store: store.campaigns.ids())
    for each in ids:
        collector.forget(each)
    found = [await collector.campaign(each) for each in ids]
    return plain(200, {"campaigns": [_brief(each) for each in found]}, PRIVATE)


async def make(collector: Collector, request: Request) -> Response:
    """Make a campaign."""
    await collector.check_admin(token_of(request))
    asked = await bodies.decoded(request, bodies.NewCampaign)
    if not all(_is_origin(each) for each in asked.origins):
        raise RefusedError(422, "An origin is scheme://host or scheme://host:port, or * for all.")
    manifest, new = await collector.make(bytes(asked.manifest), asked.access, tuple(asked.origins))
    if new:
        say("campaign made", campaign=manifest.id)
    where = f"/v1/campaigns/{manifest.id}"
    return plain(201 if new else 200, {"id": manifest.id, "url": where}, {"Location": where})


def _is_origin(text: str) -> bool:
    """Return whether a text can be the origin of a page."""
    scheme, colon, host = text.partition("://")
    plain_host = host.isascii() and host.isprintable() and not set(host) & set("/ ?#,\"'<>\\")
    return text == "*" or (scheme in ("http", "https") and bool(colon) and bool(host) and plain_host)


async def manifest(collector: Collector, request: Request) -> Response:
    """Give the manifest of a campaign."""
    found = await _campaign(collector, request)
    return Response(found.manifest.to_json(), 200, KEPT, bodies.JSON)


async def status(collector: Collector, request: Request) -> Response:
    """Tell the administrator how far a campaign is."""
    collector.forget(request.path_params["id"])
    found = await _for_admin(collector, request)
    hours = await collector.reading.do(lambda store: store.campaigns.reports_by_hour(found.manifest.id))
    manifest, terms = found.manifest, found.manifest.terms
    now = collector.clock()
    details = {
        "batches": found.batches,
        "dropped": found.dropped,
        "takes_reports": found.takes_reports(now),
        "by_relay": found.by_relay,
        "origins": list(found.origins),
        "deleted_after": _moment(found.kept_until()),
        "reports_by_hour": [{"hour": _moment(hour * HOUR), "reports": count} for hour, count in hours],
        "questions": [
            {"kind": question.kind, "share": share / 2**32}
            for question, share in zip(manifest.groups[0].questions, manifest.groups[0].shares, strict=True)
        ],
        "guarantees": {
            "local": {"epsilon": manifest.epsilon},
            "central": None
            if terms.central is None
            else {"epsilon": terms.central_epsilon, "delta": terms.central_delta, "batch": terms.min_batch},
        },
        "least_detectable": {
            "now": answers.least_detectable(manifest, found.reports),
            "planned": answers.least_detectable(manifest, manifest.users),
        },
        "poisoning": {"one_fake_report_moves_an_estimate_by": answers.influence(manifest)},
    }
    return plain(200, _brief(found) | details, PRIVATE)


def _brief(found: StoredCampaign) -> dict[str, object]:
    """Return what a list of campaigns says of each."""
    return {
        "id": found.manifest.id,
        "state": found.state,
        "access": found.access,
        "reports": found.reports,
        "users": found.manifest.users,
        "protocol": found.manifest.protocol,
        "expires": _moment(found.manifest.expires),
        "released": found.released is not None,
    }


def _moment(seconds: int) -> str:
    """Return a time in UTC as text; a time beyond the calendar is its last day."""
    return datetime.fromtimestamp(min(seconds, 253_402_300_799), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def tokens(collector: Collector, request: Request) -> Response:
    """Issue tokens."""
    found = await _for_admin(collector, request)
    asked = await bodies.decoded(request, bodies.NewTokens)
    if not 1 <= asked.count <= bodies.MOST_TOKENS:
        raise RefusedError(422, f"count must be from 1 to {bodies.MOST_TOKENS}.")
    if not found.takes_reports(collector.clock()):
        raise RefusedError(410)
    made = await collector.writing.do(
        lambda store: store.campaigns.issue(found.manifest.id, asked.role, asked.count)
    )
    return plain(201, {"tokens": made}, PRIVATE)


async def add(collector: Collector, request: Request) -> Response:
    """Take one report, or a batch."""
    found = await _campaign(collector, request)
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


async def release(collector: Collector, request: Request) -> Response:
    """Find the heavy hitters, and let everybody see them from now on."""
    found = await _for_admin(collector, request)
    asked = await bodies.decoded(request, bodies.NewRelease, may_be_empty=True)
    manifest = found.manifest
    text = await _estimated(
        collector, found, lambda store: answers.heavy_hitters(store, manifest, asked.threshold, asked.limit)
    )
    await collector.writing.do(lambda store: store.campaigns.release(manifest.id, text))
    collector.forget(manifest.id)
    say("released", campaign=manifest.id)
    return Response(text, 200, PRIVATE, bodies.JSON)


async def close(collector: Collector, request: Request) -> Response:
    """Let a campaign take no more reports."""
    found = await _for_admin(collector, request)
    await collector.writing.do(lambda store: store.campaigns.close(found.manifest.id))
    collector.forget(found.manifest.id)
    say("closed", campaign=found.manifest.id)
    return plain(200, _brief(await collector.campaign(found.manifest.id)))


async def delete(collector: Collector, request: Request) -> Response:
    """Delete all of a campaign but its id."""
    found = await _for_admin(collector, request)
    campaign = found.manifest.id
    await collector.writing.do(lambda store: store.campaigns.delete(campaign))
    await collector.writing.do(lambda store: store.reports.forget(campaign))
    collector.forget(campaign)
    say("deleted", campaign=campaign)
    return Response(None, 204)


async def heavy_hitters(collector: Collector, request: Request) -> Response:
    """Give what was released; the administrator gets what could be released now."""
    found = await _campaign(collector, request)
    if token_of(request) is None or found.released is not None:
        return plain(200, released(found), {"Cache-Control": "no-cache"})
    await collector.check_admin(token_of(request))
    text = await _estimated(collector, found, lambda store: answers.heavy_hitters(store, found.manifest))
    return Response(text, 200, PRIVATE, bodies.JSON)


async def frequencies(collector: Collector, request: Request) -> Response:
    """Estimate the counts of chosen items: for the administrator, and for all once there is a release."""
    found = await _campaign(collector, request)
    if found.released is None:
        await collector.check_admin(token_of(request))
    items = request.query_params.getlist("item")
    if not 1 <= len(items) <= MOST_ITEMS:
        raise RefusedError(422, f"Give item from 1 to {MOST_ITEMS} times.")
    counts = await _estimated(
        collector, found, lambda store: answers.frequencies(store, found.manifest, items)
    )
    return plain(200, counts, PRIVATE)


async def check(collector: Collector, request: Request) -> Response:
    """Tell the administrator whether reports look as honest clients make them."""
    found = await _for_admin(collector, request)
    return plain(
        200, await _answered(collector, lambda store: answers.consistency(store, found.manifest)), PRIVATE
    )


async def _estimated(
    collector: Collector, found: StoredCampaign, call: Callable[..., answers.Answered]
) -> answers.Answered:
    """Estimate counts; the ledger is charged before the first of a campaign are shown to anybody."""
    estimates = await _answered(collector, call)
    if found.released is None:
        settings = collector.settings
        try:
            await collector.answering.do(
                lambda _: answers.charge(found.manifest, settings.ledger, settings.dataset)
            )
        except (BudgetExceeded, LedgerError):
            raise RefusedError(409, OVERSPENT) from None
    return estimates


async def _answered(collector: Collector, call: Callable[..., answers.Answered]) -> answers.Answered:
    """Compute something from all reports, or refuse what cannot be computed."""
    try:
        return await collector.answering.do(call)
    except answers.NoReportsError:
        raise RefusedError(409, "No report is stored yet, so nothing can be estimated.") from None
    except (ManifestError, ParameterError):
        raise RefusedError(422, "A threshold, a limit or an item is not one that can be used.") from None


ONE = "/v1/campaigns/{id:str}"
ROUTES: dict[str, dict[str, Handler]] = {
    "/": {"GET": pages.front},
    "/healthz": {"GET": pages.health},
    "/readyz": {"GET": pages.ready},
    "/metrics": {"GET": pages.metrics},
    "/v1/openapi.json": {"GET": pages.openapi},
    "/v1/keys": {"GET": pages.keys},
    "/v1/campaigns": {"GET": campaigns, "POST": make},
    ONE: {"GET": status, "DELETE": delete},
    f"{ONE}/manifest": {"GET": manifest},
    f"{ONE}/tokens": {"POST": tokens},
    f"{ONE}/reports": {"POST": add},
    f"{ONE}/release": {"POST": release},
    f"{ONE}/close": {"POST": close},
    f"{ONE}/heavy-hitters": {"GET": heavy_hitters},
    f"{ONE}/frequencies": {"GET": frequencies},
    f"{ONE}/check": {"GET": check},
}
