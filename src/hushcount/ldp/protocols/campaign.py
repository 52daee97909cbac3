"""What every protocol offers: a manifest, clients and an aggregator. The server is loaded on first use."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from hushcount.errors import ParameterError
from hushcount.ldp import registry
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.words import WIDEST_ITEM
from hushcount.privacy import check_count

if TYPE_CHECKING:
    from hushcount.ldp.server.aggregator import Aggregator

THIRTY_DAYS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Terms:
    """What the maker of a campaign decides for any protocol, besides the encoding."""

    epsilon: float | str
    users: int
    threshold: float | None
    expires: int | None
    symbol_bits: int | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """Expected precision and recall of what is published at a threshold."""

    precision: float
    recall: float
    published: float
    above_threshold: int


class CampaignPlan(Protocol):
    """What a campaign is expected to find, known before anybody reports."""

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        ...

    @property
    def least_detectable(self) -> float:
        """The smallest count that is found reliably."""
        ...

    @property
    def memory(self) -> int:
        """Bytes that the aggregator needs once all users have reported."""
        ...

    def quality(self, counts: Sequence[float], threshold: float | None = None) -> Quality:
        """Return the expected precision and recall if items had these counts."""
        ...


class Campaign:
    """A campaign: its manifest, and the clients and aggregators that are made from it.

    `plan` says what the campaign is expected to find; the protocols of the paper have none.
    """

    __slots__ = ("manifest", "plan")
    widest_listed: ClassVar[int] = WIDEST_ITEM  # bits of items among which heavy ones can be found

    def __init__(self, manifest: Manifest, plan: CampaignPlan | None = None) -> None:
        self.manifest = manifest
        self.plan = plan

    @classmethod
    def protocol_name(cls) -> str:
        """Return the name of the protocol, as manifests write it."""
        return registry.name_of(cls)

    def client(self, nonce: bytes | int, *, state: ClientState | None = None) -> Client:
        """Return the client of one user.

        Parameters
        ----------
        nonce:
            Eight bytes, or an integer below 2^64, that the collector gave to this user.
        state:
            What the user's device remembers; without one, the client remembers this campaign only.
        """
        return Client(self.manifest, nonce, state=state)

    def aggregator(self) -> Aggregator:
        """Return an aggregator that has no reports yet."""
        from hushcount.ldp.server.aggregator import Aggregator

        return Aggregator(self.manifest)


def threshold_of(threshold: float | None, least: float, users: int) -> float:
    """Return the given threshold, or by default `least`, the smallest count found reliably, or raise."""
    if threshold is None:
        return min(least, users)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= users:
        raise ParameterError(f"threshold must be above 0 and at most users = {users}, got {threshold!r}.")
    return threshold


def expiry(expires: int | None) -> int:
    """Return the given end of a campaign, or thirty days from now, in seconds since 1970."""
    return int(time.time()) + THIRTY_DAYS if expires is None else expires


def zipf_counts(users: int, exponent: float, items: int) -> list[float]:
    """Return counts proportional to rank^-exponent that sum to `users`, as an example for `quality`.

    >>> [round(count) for count in zipf_counts(1100, 1.0, 3)]
    [600, 300, 200]
    """
    weights = [rank**-exponent for rank in range(1, check_count("items", items) + 1)]
    total = math.fsum(weights)
    return [users * weight / total for weight in weights]
