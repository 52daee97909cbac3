"""The relay as an ASGI application."""

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
from hushcount.ldp.wire.sealing import SEALED_BYTES
from hushcount.service import bodies
from hushcount.service.app import SAFE
from hushcount.service.collector import RETRY
from hushcount.service.groups import BusyError, until_meeting
from hushcount.service.observed import complain, say
from hushcount.service.problems import RefusedError, again, of_framework, plain, problem
from hushcount.service.relay.relay import Relay
from hushcount.service.routes.asking import token_of
from hushcount.service.routes.reports import ALONE
from hushcount.service.store.reports import Outcome

PAUSE = 1.0  # seconds between two looks at what is due
_PAGES = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_ALLOWED = {
    "Access-Control-Allow-Methods": "POST, OPTIONS",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
}


def relay_application(relay: Relay, pause: float = PAUSE) -> Starlette:
    """Return the application of a relay."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with relay.running():
            work = asyncio.create_task(relay.work(pause))
            say("ready")
            try:
                yield
            finally:
                work.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await work

    async def sealed(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(None, 204, _ALLOWED)
        if bodies.kind_of(request, bodies.SEALED, bodies.SEALED_REPORTS) == bodies.SEALED_REPORTS:
            return plain(202, {"accepted": await _batch(relay, request)})
        body = await bodies.body_of(request, 4 * SEALED_BYTES)
        if len(body) != SEALED_BYTES:
            raise RefusedError(422)
        outcome = await relay.add(request.path_params["id"], body, token_of(request))
        if outcome is Outcome.ALONE:
            raise RefusedError(503, ALONE, again(until_meeting()))
        if outcome is Outcome.DONE:
            raise RefusedError(409)
        return plain(202, {"accepted": 1})

    async def health(request: Request) -> Response:
        return plain(200, {"status": "ok"})

    async def metrics(request: Request) -> Response:
        return Response(relay.observed.text(), 200, media_type="text/plain; version=0.0.4")

    routes = [
        Route("/v1/campaigns/{id:str}/sealed", _guarded(relay, sealed), methods=["POST", "OPTIONS"]),
        Route("/healthz", _guarded(relay, health)),
        Route("/metrics", _guarded(relay, metrics)),
    ]
    made = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: of_framework})
    made.router.redirect_slashes = False
    return made


async def _batch(relay: Relay, request: Request) -> int:
    """Take a batch. Everybody may send one, so only a few bodies are held at once."""
    relay.check_batches()
    if relay.bodies.locked():
        raise BusyError
    async with relay.bodies:
        return await relay.add_batch(request.path_params["id"], await bodies.body_of(request))


def _guarded(
    relay: Relay, call: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers all requests to a path; whatever fails says nothing of what was sent."""

    async def endpoint(request: Request) -> Response:
        answer = await answered(request)
        answer.headers.update(SAFE | _PAGES)
        relay.observed.request(call.__name__, answer.status_code)
        return answer

    async def answered(request: Request) -> Response:
        try:
            if not relay.limits.allows(request.client.host if request.client else ""):
                raise RefusedError(429, headers=again(1))
            return await call(request)
        except RefusedError as refused:
            return problem(refused.status, refused.title, refused.headers)
        except (DataError, BusyError) as failure:
            complain("store or collector failed", kind=type(failure).__name__)
            return problem(503, headers=again(RETRY))
        except Exception as failure:
            complain("failed", kind=type(failure).__name__)
            return problem(500)

    return endpoint
