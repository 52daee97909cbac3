"""What every protocol offers: a manifest, clients and an aggregator. The server is loaded on first use."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from hushcount.errors import ParameterError
from hushcount.ldp import registry
from hushcount.ldp.client.client import Client
from hushcount.ldp.client.state import ClientState
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import MOST_REPORTS, THRESHOLD, Manifest
from hushcount.ldp.wire.parts import WIDEST_ITEM
from hushcount.ldp.wire.response import ResponseDistribution, epsilon_part, epsilon_text
from hushcount.ldp.wire.terms import NO_TERMS, Terms
from hushcount.privacy import check_count

if TYPE_CHECKING:
    from hushcount.ldp.server.aggregator import Aggregator

THIRTY_DAYS = 30 * 24 * 3600
FALSE_ITEMS = 0.01  # items that noise alone is expected to publish, at most


class Quality(NamedTuple):
    """Expected precision and recall of what is published at a threshold."""

    precision: float
    recall: float
    published: float
    above_threshold: int


@dataclass(frozen=True, slots=True)
class CampaignPlan(ABC):
    """What a campaign is expected to find, known before anybody reports."""

    users: int
    response: ResponseDistribution
    threshold: float
    least_detectable: float  # the smallest count that is found reliably

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        return math.sqrt(self.users * self.response.absent)

    @property
    @abstractmethod
    def memory(self) -> int:
        """Most bytes that the aggregator needs once all users have reported."""

    @abstractmethod
    def chance_of(self, count: float, threshold: float | None = None) -> float:
        """Return the probability that an item with this count is published at a threshold."""

    def quality(self, counts: Sequence[float], threshold: float | None = None) -> Quality:
        """Return the expected precision and recall if items had these counts, by the normal approximation.

        Precision is the expected number of right items over that of published ones, false ones included.
        """
        limit = self.threshold if threshold is None else threshold
        chances = [self.chance_of(count, limit) for count in counts]
        wanted = [chance for count, chance in zip(counts, chances, strict=True) if count >= limit]
        published = math.fsum(chances) + FALSE_ITEMS
        right = math.fsum(wanted)
        return Quality(right / published, right / len(wanted) if wanted else 1.0, published, len(wanted))


@dataclass(kw_only=True, eq=False, repr=False)
class Campaign(ABC):
    """A campaign: what its maker decides, its manifest, and the clients and aggregators made from it.

    The fields that are parameters of a protocol are those that its maker decides. `plan` says what the
    campaign is expected to find; the protocols of the paper have none. All protocols have the parameters
    `reports`, the number of reports that each user sends about as many of their items, each at an equal part
    of epsilon, and `terms`, who runs the campaign and what they promise.
    """

    widest_listed: ClassVar[int] = WIDEST_ITEM  # bits of items among which heavy ones can be found
    encoding: Encoding = field(kw_only=False)
    epsilon: float | str
    users: int
    threshold: float | None = None
    expires: int | None = None
    reports: int = 1
    terms: Terms = NO_TERMS
    manifest: Manifest = field(init=False)
    plan: CampaignPlan | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        text = epsilon_text(self.epsilon)
        self.users = check_count("users", self.users)
        self.reports = check_count("reports", self.reports, most=MOST_REPORTS)
        groups = self._groups(epsilon_part(text, self.reports))
        end = int(time.time()) + THIRTY_DAYS if self.expires is None else self.expires
        self.manifest = Manifest(
            self.protocol_name(),
            self.encoding,
            text,
            groups,
            self.users,
            end,
            self._parameters(),
            reports=self.reports,
            terms=self.terms,
        )

    @property
    def answers(self) -> int:
        """How many reports are planned: `reports` of each user."""
        return self.users * self.reports

    @abstractmethod
    def _groups(self, epsilon: str) -> tuple[Group, ...]:
        """Return the questions, and make the plan if the protocol has one."""

    @abstractmethod
    def _parameters(self) -> dict[str, int]:
        """Return what the decoder needs besides the questions."""

    @classmethod
    def protocol_name(cls) -> str:
        """Return the name of the protocol, as manifests write it."""
        return registry.name_of(cls)

    def client(self, nonce: bytes | int | None = None, *, state: ClientState | None = None) -> Client:
        """Return the client of one user.

        Parameters
        ----------
        nonce:
            By default the client draws its own. One that is given, 16 bytes or an integer, is for tests.
        state:
            What the user's device remembers; without one, the client remembers this campaign only.
        """
        return Client(self.manifest, nonce, state=state)

    def aggregator(self) -> Aggregator:
        """Return an aggregator that has no reports yet."""
        from hushcount.ldp.server.aggregator import Aggregator

        return Aggregator(self.manifest)


@dataclass(kw_only=True, eq=False, repr=False)
class PlannedCampaign(Campaign):
    """A campaign with a plan, whose threshold is rounded up."""

    plan: CampaignPlan = field(init=False)

    def _parameters(self) -> dict[str, int]:
        """Return the threshold."""
        return {THRESHOLD: math.ceil(self.plan.threshold)}


def threshold_of(threshold: float | None, least: float, users: int) -> float:
    """Return the given threshold, or by default `least`, the smallest count found reliably, or raise."""
    if threshold is None:
        return min(least, users)
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= users:
        raise ParameterError(f"threshold must be above 0 and at most users = {users}, got {threshold!r}.")
    return threshold


def zipf_counts(users: int, exponent: float, items: int) -> list[float]:
    """Return counts proportional to rank^-exponent that sum to `users`, as an example for `quality`.

    >>> [round(count) for count in zipf_counts(1100, 1.0, 3)]
    [600, 300, 200]
    """
    weights = [rank**-exponent for rank in range(1, check_count("items", items) + 1)]
    total = math.fsum(weights)
    return [users * weight / total for weight in weights]


def upper_quantile(probability: float) -> float:
    """Return the z that a standard normal variable exceeds with this probability.

    >>> round(upper_quantile(0.025), 2)
    1.96
    """
    return -NormalDist().inv_cdf(min(max(probability, 1e-300), 1 - 1e-16))


def noise_reach(candidates: float) -> float:
    """Return how many standard deviations noise alone reaches for hardly any of so many items."""
    return upper_quantile(FALSE_ITEMS / candidates)


def above(z: float) -> float:
    """Return the probability that a standard normal variable exceeds z.

    >>> round(above(1.96), 4)
    0.025
    """
    return NormalDist().cdf(-z)
