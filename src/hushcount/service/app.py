"""The collector as an ASGI application: one wrapper around every route, and the work of every minute."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hushcount.errors import DataError
from hushcount.service.collector import RETRY, Collector
from hushcount.service.observed import complain, say
from hushcount.service.problems import RefusedError, again, of_framework, problem
from hushcount.service.routes.asking import Handler
from hushcount.service.routes.table import ONE, ROUTES

MINUTE = 60.0
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
}
_ALLOWED = "Authorization, Content-Type"
_ONE_DAY = "86400"


def application(collector: Collector) -> Starlette:
    """Return the application of a collector."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with collector.running():
            sweep = asyncio.create_task(_sweep(collector))
            say("ready")
            try:
                yield
            finally:
                sweep.cancel()
                say("stopping")

    routes = [
        Route(path, _endpoint(collector, path, methods), methods=[*methods, "OPTIONS"])
        for path, methods in ROUTES.items()
    ]
    handlers = {HTTPException: of_framework, 404: of_framework, 405: of_framework}
    made = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    made.router.redirect_slashes = False  # a redirect would repeat the host that the request names
    return made


def _endpoint(
    collector: Collector, path: str, methods: dict[str, Handler]
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers all requests to a path."""

    async def endpoint(request: Request) -> Response:
        answer = await _answer(collector, request, methods)
        for name, value in SAFE.items():
            answer.headers.setdefault(name, value)
        if path.startswith(ONE):
            await _share(collector, request, answer)
        collector.observed.request(path, answer.status_code)
        return answer

    return endpoint


async def _answer(collector: Collector, request: Request, methods: dict[str, Handler]) -> Response:
    """Answer a request; whatever fails becomes a problem that says nothing of what was sent."""
    address = request.client.host if request.client else ""
    try:
        if not collector.limits.allows(address):
            raise RefusedError(429, headers=again(1))
        if request.method == "OPTIONS":
            return Response(None, 204, {"Allow": ", ".join((*methods, "OPTIONS"))})
        return await methods["GET" if request.method == "HEAD" else request.method](collector, request)
    except RefusedError as refused:
        return problem(refused.status, refused.title, refused.headers)
    except DataError as failure:
        complain("store failed", kind=type(failure).__name__)
        collector.observed.event("store_failures")
        return problem(503, headers=again(RETRY))
    except Exception as failure:
        complain("failed", kind=type(failure).__name__)
        return problem(500)


async def _share(collector: Collector, request: Request, answer: Response) -> None:
    """Let pages of the origins of a campaign read an answer."""
    origin = request.headers.get("origin")
    answer.headers["Vary"] = "Origin"
    if origin is None:
        return
    try:
        found = await collector.campaign(request.path_params["id"])
    except (RefusedError, DataError):
        return
    if origin not in found.origins and "*" not in found.origins:
        return
    answer.headers["Access-Control-Allow-Origin"] = origin
    answer.headers["Access-Control-Expose-Headers"] = "Retry-After"
    if request.method == "OPTIONS":
        answer.headers["Access-Control-Allow-Methods"] = answer.headers["Allow"]
        answer.headers["Access-Control-Allow-Headers"] = _ALLOWED
        answer.headers["Access-Control-Max-Age"] = _ONE_DAY


async def _sweep(collector: Collector) -> None:
    """Delete what must not be kept any longer, now and every minute."""
    while True:
        try:
            await collector.delete_overdue()
        except Exception as failure:  # whatever it was, the next sweep must come
            complain("sweep failed", kind=type(failure).__name__)
        await asyncio.sleep(MINUTE)
