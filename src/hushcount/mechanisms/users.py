"""Users: group privacy for any mechanism, and the ways to protect a user compared by public numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from hushcount.errors import ParameterError
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.base import Claim, calibrate
from hushcount.mechanisms.histograms.gaussian import CERTAIN, sparse_histogram
from hushcount.noise import tails
from hushcount.noise.laplace import LEAST_EPSILON
from hushcount.privacy import EVENT, SMALLEST_DELTA, USER, Budget, check_count

if TYPE_CHECKING:
    from hushcount.mechanisms.base import Calibrated, Mechanism
    from hushcount.noise.bits import Bits
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Shape

PROOF = "docs/proofs/sources/bounding.md"
GROUP, PAMG, EXACT = "group", "pamg", "exact"


@dataclass(frozen=True, slots=True)
class GroupRelease:
    """A mechanism that protects one row, with so small a budget that it protects all rows of a user.

    Theorem: what is (epsilon', delta')-DP for one row is (epsilon, delta)-DP for m rows, where
        epsilon' = epsilon / m and delta' = delta (exp(epsilon') - 1) / (exp(epsilon) - 1).
    Neighbours: add or remove one user, with at most m rows.
    Assumes: the order of all other rows does not change.
    Parameters: m, the rows of the unit; those of the mechanism at (epsilon', delta').
    Proof: docs/proofs/sources/bounding.md, section 2. Checked by: tests/privacy/test_bounding.py
    """

    budget: Budget
    public: Public
    mechanism: type[Mechanism]
    each: Calibrated = field(init=False)

    name: ClassVar[str] = "group"
    claim: ClassVar[Claim] = Claim(
        "group privacy",
        "Group privacy: a mechanism that protects one row, at a smaller budget, is (epsilon, delta)-DP for"
        " all rows of one user.",
        PROOF,
        ("one user has at most max_keys rows", "the order of all other rows does not change"),
    )

    def __post_init__(self) -> None:
        row = row_budget(self.budget, self.public.unit.rows)
        calibrate(self, each=self.mechanism(row, replace(self.public, unit=EVENT)))

    def release(self, shape: Shape, bits: Bits) -> Release:
        """Release at the budget of one row, and state what that protects of a user."""
        return for_users(self.each.release(shape, bits), self.budget, self.public.unit.rows)


def row_budget(budget: Budget, rows: int) -> Budget:
    """Return the budget for one row at which up to `rows` rows together cost `budget`; delta 0 stays 0."""
    if budget.delta:
        return group_budget(budget.epsilon, budget.delta, rows)
    return Budget.pure(group_budget(budget.epsilon, 0.5, rows).epsilon)


def for_users(release: Release, budget: Budget, rows: int) -> Release:
    """Return the same release with its guarantee for one user of at most `rows` rows."""
    own = release.guarantee
    parameters = {"max_rows": rows, "row_epsilon": own.epsilon, "row_delta": own.delta}
    guarantee = replace(
        own,
        epsilon=budget.epsilon,
        delta=budget.delta,
        unit=USER,
        mechanism=f"{own.mechanism} for groups of {rows} rows",
        theorem=f"{own.theorem} Rows of one user together: group privacy.",
        proof=f"{own.proof}, {PROOF}",
        parameters={**own.parameters, **parameters},
    )
    return replace(release, guarantee=guarantee)


@dataclass(frozen=True, slots=True)
class Route:
    """One way to release counts of users, and the smallest counts that it publishes.

    `threshold` is what a count must reach above what the sketch left out, and `reliable` the smallest such
    count that is published with probability 0.95.
    """

    name: str
    threshold: int
    reliable: int
    way: str

    @property
    def sentence(self) -> str:
        """Say how it counts, and from how many users it publishes a key reliably."""
        return self.said("users")

    def said(self, counted: str) -> str:
        """Say the same where counts are numbers of `counted`: users or rows."""
        return f"{self.way}: publishes a key of {self.reliable} {counted} with probability {CERTAIN:g}"


def group_budget(epsilon: float, delta: float, max_keys: int) -> Budget:
    """Return the budget for one event at which up to `max_keys` events together cost (epsilon, delta)."""
    smallest = max_keys * LEAST_EPSILON
    if epsilon < smallest:
        raise ParameterError(f"epsilon must be at least {smallest:g} for {max_keys} rows, got {epsilon}.")
    each = math.nextafter(epsilon / max_keys, 0) if max_keys > 1 else epsilon
    share = math.expm1(each) / math.expm1(epsilon)
    if delta * share < SMALLEST_DELTA:
        raise ParameterError(
            f"delta must be at least {SMALLEST_DELTA / share:.3g} for {max_keys} rows, got {delta}."
        )
    return Budget(each, delta * share)


def user_routes(
    epsilon: float, delta: float, max_keys: int, counters: int, exact: bool = False
) -> list[Route]:
    """Return the routes for users of at most `max_keys` keys, that of the smallest reliable count first.

    `counters` are those of the sketches; `exact` adds the exact histogram, which needs memory for all keys.
    All of it is a function of public numbers.

    >>> [route.name for route in user_routes(1.0, 1e-6, 8, 10_000)]
    ['group', 'pamg']
    """
    budget = Budget(epsilon, delta)
    keys, size = check_count("max_keys", max_keys), check_count("counters", counters, least=2)
    makers = [lambda: _group(budget, keys), lambda: _pamg(budget, size)]
    if exact:
        makers.append(lambda: _exact(budget, keys))
    return sorted(_possible(makers), key=lambda route: route.reliable)


def _possible(makers: list[Callable[[], Route]]) -> list[Route]:
    """Return the routes whose noise can be drawn; if there are none, raise the first refusal."""
    routes, refusals = [], []
    for make in makers:
        try:
            routes.append(make())
        except ParameterError as refusal:
            refusals.append(refusal)
    if not routes:
        raise refusals[0]
    return routes


def _group(budget: Budget, max_keys: int) -> Route:
    """Return the route of one sketch of rows with the noise for all rows of a user."""
    each = group_budget(budget.epsilon, budget.delta, max_keys)
    threshold = thresholds.floor_threshold(each.epsilon, each.delta)
    reliable = threshold + tails.largest_difference(each.epsilon, 1 - CERTAIN, 1) - 1
    way = f"one SpaceSaving sketch of all rows, noise for {max_keys} rows of a user together"
    return Route(GROUP, threshold, reliable, way)


def _pamg(budget: Budget, counters: int) -> Route:
    """Return the route of a user-level sketch with Gaussian noise."""
    found = sparse_histogram(budget.epsilon, budget.delta, counters)
    way = f"user-level Misra-Gries, Gaussian noise for {counters} counters together"
    return Route(PAMG, found.threshold, found.reliable, way)


def _exact(budget: Budget, max_keys: int) -> Route:
    """Return the route of exact counts with Gaussian noise."""
    found = sparse_histogram(budget.epsilon, budget.delta, max_keys)
    way = f"exact counts of all keys, Gaussian noise for {max_keys} keys of a user together"
    return Route(EXACT, found.threshold, found.reliable, way)
