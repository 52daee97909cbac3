"""Making, listing, closing and deleting campaigns, and their tokens."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from hushcount.service import bodies
from hushcount.service.collector import Collector
from hushcount.service.observed import say
from hushcount.service.problems import RefusedError, plain
from hushcount.service.routes.asking import KEPT, PRIVATE, for_admin, named, token_of
from hushcount.service.routes.status import brief


async def campaigns(collector: Collector, request: Request) -> Response:
    """List all campaigns."""
    await collector.check_admin(token_of(request))
    ids = await collector.reading.do(lambda store: store.campaigns.ids())
    for each in ids:
        collector.forget(each)
    found = [await collector.campaign(each) for each in ids]
    return plain(200, {"campaigns": [brief(each) for each in found]}, PRIVATE)


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
    found = await named(collector, request)
    return Response(found.manifest.to_json(), 200, KEPT, bodies.JSON)


async def tokens(collector: Collector, request: Request) -> Response:
    """Issue tokens."""
    found = await for_admin(collector, request)
    asked = await bodies.decoded(request, bodies.NewTokens)
    if not 1 <= asked.count <= bodies.MOST_TOKENS:
        raise RefusedError(422, f"count must be from 1 to {bodies.MOST_TOKENS}.")
    if not found.takes_reports(collector.clock()):
        raise RefusedError(410)
    made = await collector.writing.do(
        lambda store: store.campaigns.issue(found.manifest.id, asked.role, asked.count)
    )
    return plain(201, {"tokens": made}, PRIVATE)


async def close(collector: Collector, request: Request) -> Response:
    """Let a campaign take no more reports."""
    found = await for_admin(collector, request)
    await collector.writing.do(lambda store: store.campaigns.close(found.manifest.id))
    collector.forget(found.manifest.id)
    say("closed", campaign=found.manifest.id)
    return plain(200, brief(await collector.campaign(found.manifest.id)))


async def delete(collector: Collector, request: Request) -> Response:
    """Delete all of a campaign but its id."""
    found = await for_admin(collector, request)
    campaign = found.manifest.id
    await collector.delete(campaign)
    say("deleted", campaign=campaign)
    return Response(None, 204)
