"""Three ways to protect a user with several keys, compared by the smallest count that each publishes.

Everything here is a function of public parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.histograms.gaussian_calibration import CERTAIN, sparse_histogram
from hushcount.privacy import Budget, check_count

GROUP, PAMG, EXACT = "group", "pamg", "exact"


@dataclass(frozen=True, slots=True)
class Route:
    """A way to release, with the height from which on it publishes, and does so reliably.

    `reliable` is the least count, above what the sketch left out, that is published with probability 0.95.
    """

    name: str
    threshold: int
    reliable: int
    way: str

    @property
    def sentence(self) -> str:
        """How it counts, and what of it is published."""
        return self.said("users")

    def said(self, counted: str) -> str:
        """The same, where counts are numbers of users, or of rows."""
        return f"{self.way}: publishes a key of {self.reliable} {counted} with probability {CERTAIN:g}"


def group_budget(epsilon: float, delta: float, max_keys: int) -> Budget:
    """The budget for one event at which up to `max_keys` events together cost (epsilon, delta)."""
    each = math.nextafter(epsilon / max_keys, 0) if max_keys > 1 else epsilon
    return Budget(each, delta * (math.expm1(each) / math.expm1(epsilon)))


def user_routes(
    epsilon: float, delta: float, max_keys: int, counters: int, exact: bool = False
) -> list[Route]:
    """The routes for users of at most `max_keys` keys, the one of the smallest reliable count first.

    `counters` are those of the sketches; `exact` adds the exact histogram, which needs memory for all keys.

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
    """The routes whose noise can be drawn; at such a small epsilon that there is none, the first refusal."""
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
    each = group_budget(budget.epsilon, budget.delta, max_keys)
    threshold = thresholds.floor_threshold(each.epsilon, each.delta)
    reliable = threshold + thresholds.largest_difference(each.epsilon, 1 - CERTAIN, 1) - 1
    sentence = f"one SpaceSaving sketch of all rows, noise for {max_keys} rows of a user together"
    return Route(GROUP, threshold, reliable, sentence)


def _pamg(budget: Budget, counters: int) -> Route:
    found = sparse_histogram(budget.epsilon, budget.delta, counters)
    sentence = f"UserMisraGries, Gaussian noise for {counters} counters together"
    return Route(PAMG, found.threshold, found.reliable, sentence)


def _exact(budget: Budget, max_keys: int) -> Route:
    found = sparse_histogram(budget.epsilon, budget.delta, max_keys)
    sentence = f"exact counts of all keys, Gaussian noise for {max_keys} keys of a user together"
    return Route(EXACT, found.threshold, found.reliable, sentence)
