"""What every protocol offers: its manifest, clients, and an aggregator. Light: the server loads late."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.ldp.client import Client
from hushcount.ldp.client_state import ClientState
from hushcount.ldp.manifest import Manifest

if TYPE_CHECKING:
    from hushcount.ldp.aggregator import Aggregator

THIRTY_DAYS = 30 * 24 * 3600
THRESHOLD = "threshold"  # its name among the parameters of a manifest


@dataclass(frozen=True, slots=True)
class Terms:
    """What the maker of a campaign decides whatever the protocol, besides the encoding."""

    epsilon: float | str
    users: int
    threshold: float | None
    expires: int | None
    symbol_bits: int | None = None


class Campaign:
    """A manifest, and what is made of it; clients and aggregators need no more than the manifest."""

    __slots__ = ("manifest",)

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    def client(self, nonce: bytes | int, *, state: ClientState | None = None) -> Client:
        """The client of a user, who has this nonce from the collector."""
        return Client(self.manifest, nonce, state=state)

    def aggregator(self) -> Aggregator:
        """An aggregator without reports."""
        from hushcount.ldp.aggregator import Aggregator

        return Aggregator(self.manifest)


def threshold_of(threshold: float | None, least: float, users: int) -> float:
    """The threshold of a campaign: as given, or the least count found reliably, but at most all users."""
    if threshold is None:
        return min(least, users)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= users:
        raise ParameterError(f"threshold must be above 0 and at most users = {users}, got {threshold!r}.")
    return threshold


def expiry(expires: int | None) -> int:
    """The end of a campaign in seconds since 1970: as given, or thirty days from now."""
    return int(time.time()) + THIRTY_DAYS if expires is None else expires
