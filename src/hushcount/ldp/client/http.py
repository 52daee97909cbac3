"""Requests to a collector or a relay over HTTP. The standard library is enough."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from hushcount.errors import DataError, ParameterError

TIMEOUT = 60.0  # seconds; a report waits for others before it is answered
MOST_ANSWER = 1 << 28
JSON = "application/json"
UNREACHABLE = "{} cannot be reached; check the address, and try again later."


class HttpAnswer(NamedTuple):
    """A status, a body, and after how many seconds to come again."""

    status: int
    body: bytes
    again: float | None = None

    @property
    def title(self) -> str:
        """What the service says of a refused request."""
        try:
            found = json.loads(self.body)["title"]
        except (ValueError, KeyError, TypeError):
            return f"The service answered with status {self.status}."
        return found if isinstance(found, str) and found.isprintable() else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a token must not go elsewhere."""

    def redirect_request(self, *_: object) -> None:
        """Refuse."""


def checked_url(url: str) -> str:
    """Return an address without its last slash, or raise."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ParameterError(f"url must be http:// or https:// and a host, got {url!r}.")
    if parts.username is not None or parts.password is not None:
        raise ParameterError("url must hold no user and no password; give the token by itself.")
    return url.rstrip("/")


def ask(
    method: str, url: str, token: str | None = None, body: bytes | None = None, kind: str = JSON
) -> HttpAnswer:
    """Send a request and return its answer, whatever its status; raise DataError if there is none."""
    headers: Mapping[str, str] = {} if body is None else {"Content-Type": kind}
    if token is not None:
        headers = {**headers, "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(request, timeout=TIMEOUT) as found:
            return HttpAnswer(found.status, found.read(MOST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            return HttpAnswer(error.code, error.read(MOST_ANSWER), _seconds(error.headers.get("Retry-After")))
    except (OSError, ValueError):
        failure = DataError(UNREACHABLE.format(_place(url)))
    raise failure


def _place(url: str) -> str:
    """Return where an address leads, without the campaign."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _seconds(text: str | None) -> float | None:
    """Return the number of seconds in a header, if it is one."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None
