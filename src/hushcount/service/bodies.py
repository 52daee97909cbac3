"""Bodies of requests: their type, their size, and strict decoding. A body is read after the token."""

from __future__ import annotations

import asyncio
from typing import Literal, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from hushcount.ldp.wire.versions import DRAWN
from hushcount.service.problems import RefusedError

MOST_BODY = 32 << 20
MOST_TOKENS = 100_000
PATIENCE = 20.0  # seconds for a body, and one more for each `SLOWEST` bytes of it
SLOWEST = 1 << 16
JSON = "application/json"
REPORT = "application/vnd.hushcount.report"
REPORTS = "application/vnd.hushcount.reports"
SEALED = "application/vnd.hushcount.sealed"
SEALED_REPORTS = "application/vnd.hushcount.sealed-reports"
Strict = TypeVar("Strict", bound=msgspec.Struct)


class NewCampaign(msgspec.Struct, forbid_unknown_fields=True):
    """The body that makes a campaign."""

    manifest: msgspec.Raw
    access: Literal["open", "token"] = "open"
    origins: list[str] = []


class NewTokens(msgspec.Struct, forbid_unknown_fields=True):
    """The body that asks for tokens."""

    count: int = 1
    role: Literal["client", "relay"] = "client"


class NewRelease(msgspec.Struct, forbid_unknown_fields=True):
    """The body that asks for a release; it may be empty."""

    threshold: float | None = None
    limit: int | None = None


def kind_of(request: Request, *known: str) -> str:
    """Return the type of a body, or refuse others."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in known:
        raise RefusedError(415)
    return kind


async def body_of(request: Request, most: int = MOST_BODY, kept: int = MOST_BODY) -> bytes:
    """Return a body, or refuse one that is too large or too slow, as soon as that is known.

    Parameters
    ----------
    request:
        The request.
    most:
        A larger body is refused by 413.
    kept:
        A larger one is read to its end and refused by 422, without being held in memory.
    """
    stated = request.headers.get("content-length", "0")
    if not stated.isascii() or not stated.isdigit() or int(stated[:12]) > most:
        raise RefusedError(413)
    held, size, began = bytearray(), 0, asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(PATIENCE) as limit:
            async for part in request.stream():
                size += len(part)
                limit.reschedule(began + PATIENCE + size / SLOWEST)
                if size > most:
                    raise RefusedError(413)
                if size <= kept:
                    held += part
    except ClientDisconnect:
        raise RefusedError(400) from None
    except TimeoutError:
        raise RefusedError(408, headers={"Connection": "close"}) from None
    if size > kept:
        raise RefusedError(422)
    return bytes(held)


async def report_of(request: Request) -> bytes:
    """Return the body of one report, or refuse one of another length."""
    stated = request.headers.get("content-length", "")
    if stated.isascii() and stated.isdigit() and DRAWN.report_bytes < int(stated[:12]) <= MOST_BODY:
        raise RefusedError(422)
    body = await body_of(request, kept=DRAWN.report_bytes)
    if len(body) != DRAWN.report_bytes:
        raise RefusedError(422)
    return body


async def decoded(request: Request, kind: type[Strict], may_be_empty: bool = False) -> Strict:
    """Return a JSON body, or refuse what is no JSON (400) or has other fields or types (422)."""
    body = await body_of(request)
    if may_be_empty and not body:
        return kind()
    kind_of(request, JSON)
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError:
        raise RefusedError(422) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RefusedError(400) from None
