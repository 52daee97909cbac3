"""What is open to everybody and names no campaign."""

from __future__ import annotations

import time
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from hushcount.ldp.wire.sealing import SUITE
from hushcount.service.collector import Collector
from hushcount.service.openapi import document
from hushcount.service.problems import plain
from hushcount.service.routes.asking import KEPT

FRONT = {"Cache-Control": "no-cache", "Content-Security-Policy": "frame-ancestors 'none'"}


async def keys(collector: Collector, request: Request) -> Response:
    """Give the key to which reports are sealed, to pages of all origins: it is public."""
    key = await collector.writing.do(lambda store: store.seals.published(collector.clock()))
    listed = {"id": key.id.hex(), "public": key.public.hex(), "suite": SUITE, "expires": key.expires}
    return plain(200, [listed], KEPT | {"Access-Control-Allow-Origin": "*"})


async def health(collector: Collector, request: Request) -> Response:
    """Say that the process runs."""
    return plain(200, {"status": "ok"})


async def ready(collector: Collector, request: Request) -> Response:
    """Say whether the store answers."""
    await collector.writing.do(lambda store: store.campaigns.ids())
    return plain(200, {"status": "ok", "time": int(time.time())})


async def metrics(collector: Collector, request: Request) -> Response:
    """Give the counters of this process."""
    return Response(collector.observed.text(), 200, media_type="text/plain; version=0.0.4")


async def openapi(collector: Collector, request: Request) -> Response:
    """Give the description of all routes."""
    return plain(200, document(), KEPT)


async def front(collector: Collector, request: Request) -> Response:
    """Give the dashboard. Its own policy allows its one script and its one style, which are in it."""
    page = resources.files("hushcount.service").joinpath("web", "index.html").read_text("utf-8")
    return Response(page, 200, FRONT, "text/html")
