"""What the administrator of a collector asks for over HTTP; never of the store itself."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hushcount.errors import DataError
from hushcount.ldp.client.http import ask, checked_url
from hushcount.ldp.wire.manifest import Manifest
from hushcount.releases.release import Release
from hushcount.releases.stored.reading import read_release

Fields = dict[str, object]
NOT_JSON = "The service at {} is no collector: its answer cannot be read."


@dataclass(frozen=True, slots=True)
class Administrator:
    """Requests with the token of the administrator.

    Parameters
    ----------
    url:
        The address of the collector, such as https://collector.example.
    token:
        The token of the administrator.
    """

    url: str
    token: str

    def make(self, path: str, access: str, origins: tuple[str, ...]) -> Fields:
        """Make a campaign and return its id and address.

        Parameters
        ----------
        path:
            The manifest, which says what clients are asked.
        access:
            "open", or "token" if each report spends a token.
        origins:
            The pages that may send reports, such as https://page.example.
        """
        manifest = Manifest.load(path)
        fields = {"access": access, "origins": list(origins)}
        body = f'{{"manifest": {manifest.to_json()}, {json.dumps(fields)[1:]}'
        return self._asked("POST", "", body.encode())

    def issue(self, campaign: str, count: int, role: str) -> list[str]:
        """Return new tokens of a campaign."""
        body = json.dumps({"count": count, "role": role}).encode()
        found = self._asked("POST", f"/{campaign}/tokens", body)["tokens"]
        return [str(token) for token in found] if isinstance(found, list) else []

    def campaigns(self) -> list[Fields]:
        """Return all campaigns."""
        found = self._asked("GET", "")["campaigns"]
        return found if isinstance(found, list) else []

    def status(self, campaign: str) -> Fields:
        """Return how far a campaign is."""
        return self._asked("GET", f"/{campaign}")

    def check(self, campaign: str) -> Fields:
        """Return whether the reports look as honest clients make them."""
        return self._asked("GET", f"/{campaign}/check")

    def release(self, campaign: str, threshold: float | None, limit: int | None) -> Fields:
        """Publish the heavy hitters and return them."""
        body = json.dumps({"threshold": threshold, "limit": limit}).encode()
        return self._asked("POST", f"/{campaign}/release", body)

    def close(self, campaign: str) -> Fields:
        """Let a campaign take no more reports."""
        return self._asked("POST", f"/{campaign}/close")

    def delete(self, campaign: str) -> None:
        """Delete all of a campaign but its id."""
        self._ask("DELETE", f"/{campaign}")

    def released(self, campaign: str) -> bytes:
        """Return the release of a campaign, as the collector keeps it."""
        return self._ask("GET", f"/{campaign}/heavy-hitters")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the body of a good answer, or raise what a bad one says."""
        url = f"{checked_url(self.url)}/v1/campaigns{path}"
        found = ask(method, url, self.token, b"" if method == "POST" and body is None else body)
        if found.status >= 300:
            raise DataError(f"The collector refused with status {found.status}: {found.title}")
        return found.body

    def _asked(self, method: str, path: str, body: bytes | None = None) -> Fields:
        """Return the JSON object of a good answer."""
        text = self._ask(method, path, body)
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise DataError(NOT_JSON.format(self.url))
        return found


def release_in(document: bytes) -> Release:
    """Return the release in the answer of a collector."""
    found = read_release(document)
    if not isinstance(found, Release):
        raise DataError("The collector sent something else than a table.")
    return found
