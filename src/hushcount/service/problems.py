"""Answers to requests that are refused, as problem+json (RFC 9457). None repeats what was sent."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

TITLES = {
    400: "The body is not the JSON object that is expected here.",
    401: "A valid token is needed: Authorization: Bearer TOKEN.",
    403: "This token or campaign does not allow it.",
    404: "There is nothing here.",
    405: "This method is not allowed here.",
    408: "The body did not come in time; send it again.",
    409: "It is there already.",
    410: "The campaign has ended.",
    413: "The body is too large.",
    415: "The type of the body is not one that is taken here.",
    422: "The body is malformed.",
    429: "Too many requests; come again later.",
    500: "The server failed; nothing was stored.",
    503: "Nothing could be stored at the moment; come again later.",
}
PROBLEM = "application/problem+json"
Headers = Mapping[str, str]


class RefusedError(Exception):
    """A request is refused with a status, a title in place of the usual one, and headers."""

    def __init__(self, status: int, title: str | None = None, headers: Headers | None = None) -> None:
        self.status = status
        self.title = title or TITLES[status]
        self.headers = dict(headers or {})


def again(seconds: int) -> Headers:
    """Return the header that says when to come again."""
    return {"Retry-After": str(seconds)}


def problem(status: int, title: str | None = None, headers: Headers | None = None) -> Response:
    """Return the answer to a refused request."""
    body = {"type": "about:blank", "title": title or TITLES.get(status, "Refused."), "status": status}
    return Response(msgspec.json.encode(body), status, dict(headers or {}), PROBLEM)


def plain(status: int, values: object, headers: Headers | None = None) -> Response:
    """Return values as JSON."""
    return Response(msgspec.json.encode(values), status, dict(headers or {}), "application/json")


def of_framework(request: Request, error: Exception) -> Response:
    """Return the answer to what the framework itself refuses, such as an unknown path."""
    if isinstance(error, HTTPException):
        return problem(error.status_code, headers=error.headers)
    return problem(500)
