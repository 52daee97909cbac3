"""How far estimates exceed the truth, read off the noisy rows themselves: post-processing of noisy cells.

Derivations: docs/proofs/linear/measured.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.keys.row_hash import KEYED, at_least_half
from hushcount.mechanisms.linear.calibration import (
    NEAR,
    SPLITS,
    Envelope,
    cells_of,
    depths,
    row_failure,
    width_of,
)
from hushcount.noise.lattice import smallest_integer
from hushcount.noise.tails import SAFETY
from hushcount.privacy import Budget

OWN = 1  # by so many a key can change how many cells of a row are large
WARY = 3 * OWN  # so many more allow for the key, wherever else it might have been hashed
RARE = 1e-9  # the probability that noise in some row is larger than the public bound allows
STEPS = 48  # bounds are read off the rows for the failures 1/2, 1/4, and so on


@lru_cache(maxsize=64)
def plan_measured(max_events: int, counters: int, budget: Budget, max_weight: int = 1) -> Envelope:
    """Return the shallowest size with nearly as low a public threshold as any, as wide as the counters.

    The rows show at most the public threshold, except with probability RARE, and in practice far less.
    """
    width, plans = width_of(counters), []
    for depth in depths(KEYED):
        beta, cell = cells_of((KEYED, depth, max_weight), max_events, budget)
        weight = max_weight if max_weight > 1 else None
        empty = Envelope(KEYED, depth, width, 0, 0, 0, beta, cell, weight)
        bounds = public_bounds(empty, max_events, beta / max_events)
        if bounds is not None:
            threshold = max_events // counters + max_weight + sum(bounds)
            plans.append(replace(empty, collisions=bounds[0], noise=bounds[1], threshold=threshold))
    least = min(plan.reach for plan in plans)
    return next(plan for plan in plans if plan.reach <= NEAR * least)


def public_bounds(plan: Envelope, max_events: int, failure: float) -> tuple[int, int] | None:
    """Return (collisions, noise) whose sum the rows exceed with probability RARE at most; None if none is.

    Of the cells of a row at most max_events / (g + 1) hold more than g of other keys, whatever the hash is.
    """
    row, found = row_failure(plan.kind, plan.depth, failure), []
    for split in SPLITS:
        colliding = split * row
        noisy = math.floor(2 * plan.width * (row - colliding)) - OWN  # cells that noise alone may raise
        if noisy >= 0:
            g = math.ceil(max_events / (2 * plan.width * colliding)) - 1
            usual = usual_share(plan.width, noisy, RARE / plan.depth)
            found.append((min(g, max_events), plan.distribution.two_sided(usual)))
    return min(found, key=sum, default=None)


def usual_share(width: int, most: int, failure: float) -> float:
    """Return a p with P[Bin(width, p) > most] <= failure, by Chernoff's bound."""
    share = (most + 1) / width
    if share > 1:
        return 1 - SAFETY
    low, high = 0.0, share
    for _ in range(60):
        p = (low + high) / 2
        apart = share * math.log(share / p)
        apart += (1 - share) * math.log((1 - share) / (1 - p)) if share < 1 else 0.0
        low, high = (p, high) if math.exp(-width * apart) <= failure else (low, p)
    return low


@dataclass(frozen=True, slots=True)
class NoisyRows:
    """The sizes of the noisy cells of every row, in order."""

    sizes: Counts

    @classmethod
    def of(cls, cells: Counts) -> NoisyRows:
        """Return the rows of cells, depth x width."""
        return cls(np.sort(np.abs(cells), axis=1))

    def bound(self, failure: float, more: int = OWN) -> int | None:
        """Return the least u >= 0 that an estimate exceeds the truth by, but for `failure`; None if none is.

        In every row a key shares its cell with more than u, of its own sign, with probability
        (cells above u, and `more`) / (2 width) at most; half of the rows must.
        """
        width, largest = self.sizes.shape[1], int(self.sizes[:, -1].max(initial=0))

        def holds(bound: int) -> bool:
            if bound < 0 or bound >= largest:
                return bound >= 0
            above = [width - int(np.searchsorted(row, bound, "right")) for row in self.sizes]
            return half_of(np.minimum((np.array(above) + more) / (2 * width), 1.0)) <= failure * (1 - SAFETY)

        least = np.full(len(self.sizes), min(more / (2 * width), 1.0))
        return smallest_integer(holds) if half_of(least) <= failure * (1 - SAFETY) else None


def half_of(probabilities: Floats) -> float:
    """Return the probability that at least half of independent rows err, each with its own."""
    hits = np.zeros(len(probabilities) + 1)
    hits[0] = 1.0
    for p in probabilities:
        hits[1:] = hits[1:] * (1 - p) + hits[:-1] * p
        hits[0] *= 1 - p
    return float(hits[(len(probabilities) + 1) // 2 :].sum())


def measured_bounds(plan: Envelope, max_events: int, cells: Counts) -> tuple[int, ...]:
    """Return what the rows say: the margin of the threshold, a wary one, and a bound for each of STEPS.

    Of a sketch without cells, which only rehearses a release, all are 0.
    """
    if not len(cells):
        return (0,) * (STEPS + 2)
    rows, failure = NoisyRows.of(cells), plan.beta / max_events
    asked = [(failure, OWN), (failure, WARY), *((2.0**-step, OWN) for step in range(1, STEPS + 1))]
    return tuple(
        farthest(plan, max_events, each) if (found := rows.bound(each, more)) is None else found
        for each, more in asked
    )


def farthest(plan: Envelope, max_events: int, failure: float) -> int:
    """Return a bound for failures that the rows cannot tell: all other events in one cell, and noise."""

    def holds(noise: int) -> bool:
        return at_least_half(plan.depth, float(plan.distribution.tail(np.array([noise + 1]))[0])) <= failure

    return max_events + max(smallest_integer(holds), 0)
