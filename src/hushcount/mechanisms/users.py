"""Users: group privacy for any mechanism, and the ways to protect a user compared by public numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from hushcount.errors import ParameterError
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Calibrated, Claim, Mechanism
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.groups import group_budget, row_budget
from hushcount.mechanisms.histograms.correlated import correlated_for
from hushcount.mechanisms.histograms.gaussian import CERTAIN, GaussianSparseHistogram, histogram_for
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.privacy import (
    EVENT,
    USER,
    Budget,
    Guarantee,
    PrivacyUnit,
    check_count,
    check_delta,
    unwarned,
)
from hushcount.releases.release import Release
from hushcount.shapes import FloorCounters, Histogram, Public, Shape, Shards, TrackedCells

PROOF = "docs/proofs/sources/bounding.md"
GROUP, PAMG, EXACT = "group", "pamg", "exact"
ON_DISK = "exact counts of all keys, made on disk"
MOST_APART = 16  # keys of a user for which noise of each key by itself is considered


class GroupRelease(Mechanism[Shape, Release]):
    """A mechanism that protects one row, with so small a budget that it protects all rows of a user.

    Theorem: what is (epsilon', delta')-DP for one row is (epsilon, delta)-DP for m rows, where
        epsilon' = epsilon / m and delta' = delta (exp(epsilon') - 1) / (exp(epsilon) - 1).
    Neighbours: add or remove one user, with at most m rows.
    Assumes: the order of all other rows does not change.
    Parameters: m, the rows of the unit; those of the mechanism at (epsilon', delta').
    Proof: docs/proofs/sources/bounding.md, section 2. Checked by: tests/privacy/test_bounding.py
    """

    name = "group"
    accepts = (FloorCounters, Histogram, Shards, TrackedCells)
    sketch = "space-saving"
    way_out = 'use mechanism="gaussian"'
    claim = Claim(
        "group privacy",
        "Group privacy: a mechanism that protects one row, at a smaller budget, is (epsilon, delta)-DP for"
        " all rows of one user.",
        PROOF,
        ("one user has at most max_keys rows", "the order of all other rows does not change"),
    )

    def __init__(self, budget: Budget, public: Public, mechanism: type[Calibrated]) -> None:
        self.mechanism = mechanism
        super().__init__(budget, public)

    def calibrate(self) -> None:
        """Calibrate the mechanism of one row."""
        row = row_budget(self.budget, self.public.unit.rows)
        self.each = self.mechanism(row, replace(self.public, unit=EVENT))

    def foretold(self, unit: PrivacyUnit) -> Guarantee:
        """Return what the mechanism of one row will promise, for all rows of a user."""
        return user_guarantee(self.each.foretold(EVENT), self.budget, self.public.unit.rows)

    def forecast(self) -> KeyForecast:
        """Return what the mechanism of one row will publish."""
        return self.each.forecast()

    def draw(self, shape: Shape, bits: Bits) -> Release:
        """Release at the budget of one row, and state what that protects of a user."""
        return for_users(self.each.release(shape, bits), self.budget, self.public.unit.rows)


def for_users(release: Release, budget: Budget, rows: int) -> Release:
    """Return the same release with its guarantee for one user of at most `rows` rows."""
    return replace(release, guarantee=user_guarantee(release.guarantee, budget, rows))


def user_guarantee(own: Guarantee, budget: Budget, rows: int) -> Guarantee:
    """Return the guarantee of a mechanism of one row as one for a user of at most `rows` rows."""
    parameters = {"max_rows": rows, "row_epsilon": own.epsilon, "row_delta": own.delta}
    return replace(
        own,
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=USER,
        mechanism=f"{own.mechanism} for groups of {rows} rows",
        theorem=f"{own.theorem} Rows of one user together: group privacy.",
        proof=f"{own.proof}, {PROOF}",
        parameters={**own.parameters, **parameters},
    )


@dataclass(frozen=True, slots=True)
class Route:
    """One way to release counts of users, and the smallest counts that it publishes.

    `threshold` is what a count must reach above what the sketch left out, and `reliable` the smallest such
    count that is published with probability 0.95. `mechanism` is what exact counts are released by.
    """

    name: str
    threshold: int
    reliable: int
    way: str
    mechanism: str = ""

    def lifted(self, min_users: int | None) -> Route:
        """Return the same route if keys of fewer than `min_users` users are never published."""
        more = (min_users or 1) - 1
        return replace(self, threshold=self.threshold + more, reliable=self.reliable + more)

    def said(self, counted: str) -> str:
        """Say how it counts, and from how many `counted` (users or rows) it publishes a key reliably."""
        return f"{self.way}: publishes a key of {self.reliable} {counted} with probability {CERTAIN:g}"


def user_routes(
    epsilon: float, delta: float, max_keys: int, counters: int, exact: bool = False
) -> list[Route]:
    """Return the routes for users of at most `max_keys` keys, that of the smallest reliable count first.

    `counters` are those of the sketches; `exact` adds the better of the two ways to release exact counts of
    all keys, which are made on disk. All of it is a function of public numbers.

    >>> [route.name for route in user_routes(1.0, 1e-6, 8, 10_000)]
    ['group', 'pamg']
    """
    budget = unwarned(epsilon, check_delta(delta))
    keys, size = check_count("max_keys", max_keys), check_count("counters", counters, least=2)
    makers = [lambda: _group(budget, keys), lambda: sketch_route(budget, size)]
    if exact:
        makers.append(lambda: best_for_exact(budget, keys))
    return sorted(_possible(makers), key=lambda route: route.reliable)


def sketch_route(budget: Budget, counters: int, shared: bool = True) -> Route:
    """Return the route of a sketch that counts users, whose counts share a part of their noise or not."""
    noise = "correlated" if shared else "independent"
    way = f"user-level Misra-Gries, {noise} Gaussian noise for {counters} counters together"
    if not shared:
        return _gaussian(PAMG, budget, counters, way)
    found = correlated_for(budget, counters)
    return Route(PAMG, found.threshold, found.reliable, way)


def best_for_exact(budget: Budget, max_keys: int) -> Route:
    """Return the way to release exact counts that publishes the smallest ones reliably.

    >>> [best_for_exact(Budget(1.0, 1e-6), keys).reliable for keys in (1, 2, 8, 100)]
    [16, 32, 84, 309]
    """
    return exact_routes(budget, max_keys)[0]


def exact_routes(budget: Budget, max_keys: int) -> list[Route]:
    """Return both ways to release exact counts of users of at most `max_keys` keys, the better one first."""
    makers = [lambda: _gaussian(EXACT, budget, max_keys, f"Gaussian noise for {_keys(max_keys)} together")]
    if max_keys <= MOST_APART:  # with more, noise for each key by itself is far behind
        makers.append(lambda: _geometric(budget, max_keys))
    return sorted(_possible(makers), key=lambda route: route.reliable)


def _geometric(budget: Budget, max_keys: int) -> Route:
    """Return the route of exact counts with a truncated geometric noise at a share of the budget."""
    mechanism = TruncatedGeometric(budget, Public(moved=max_keys))
    forecast = mechanism.forecast()
    way = f"{ON_DISK}, truncated geometric noise for each of {_keys(max_keys)}"
    return Route(EXACT, forecast.threshold, forecast.smallest(CERTAIN, 0.0), way, mechanism.name)


def _keys(max_keys: int) -> str:
    return f"{max_keys} keys of a user" if max_keys > 1 else "1 key of a user"


def _possible(makers: list[Callable[[], Route]]) -> list[Route]:
    """Return the routes whose noise can be drawn; if there are none, raise what the first one raises."""
    routes = []
    for make in makers:
        with suppress(ParameterError):
            routes.append(make())
    return routes or [makers[0]()]


def _group(budget: Budget, max_keys: int) -> Route:
    """Return the route of one sketch of rows with the noise for all rows of a user."""
    each = group_budget(budget.epsilon, budget.delta, max_keys)
    threshold = thresholds.floor_threshold(each.epsilon, each.delta)
    reliable = threshold + tails.largest_difference(each.epsilon, 1 - CERTAIN, 1) - 1
    way = f"one SpaceSaving sketch of all rows, noise for {max_keys} rows of a user together"
    return Route(GROUP, threshold, reliable, way)


def _gaussian(name: str, budget: Budget, changed: int, way: str) -> Route:
    """Return a route with Gaussian noise for `changed` counts at once."""
    found = histogram_for(budget, changed)
    said = f"{ON_DISK}, {way}" if name == EXACT else way
    return Route(name, found.threshold, found.reliable, said, GaussianSparseHistogram.name)
