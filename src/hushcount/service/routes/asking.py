"""What all routes ask of a request: its token and the campaign that its path names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from hushcount.service.collector import Collector
from hushcount.service.store.campaigns import StoredCampaign

Handler = Callable[[Collector, Request], Awaitable[Response]]
KEPT = {"Cache-Control": "public, max-age=300"}
PRIVATE = {"Cache-Control": "no-store"}


def token_of(request: Request) -> str | None:
    """Return the token of a request."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None


async def for_admin(collector: Collector, request: Request) -> StoredCampaign:
    """Return the campaign of a request of the administrator."""
    await collector.check_admin(token_of(request))
    return await named(collector, request)


async def named(collector: Collector, request: Request) -> StoredCampaign:
    """Return the campaign that the path names."""
    return await collector.campaign(request.path_params["id"])
