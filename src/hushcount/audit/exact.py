"""Divergences of distributions that can be listed, in fractions: every number here is a proved lower bound.

The hockey-stick divergence HS(P || Q) = sum max(P - exp(epsilon) Q, 0) is the largest value of
P(S) - exp(epsilon) Q(S) over all sets S of outputs, so a release is (epsilon, delta)-DP exactly when it is at
most delta for all neighbours and both ways.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import lru_cache

from hushcount.errors import ParameterError
from hushcount.noise.expansions import exp_interval

PRECISION = 256  # bits of exp(epsilon)

Distribution = Mapping[Hashable, Fraction]


def as_claimed(value: float) -> Fraction:
    """Return the larger of the number as it was typed and of the float that stands for it."""
    return max(Fraction(value), Fraction(repr(float(value))))


@lru_cache(maxsize=256)
def growth(epsilon: Fraction) -> Fraction:
    """Return a number just above exp(epsilon), by a factor of at most 1 + 2^-200 for epsilon up to 20."""
    low, _ = exp_interval(epsilon, PRECISION)
    return Fraction(1 << PRECISION, low)


def hockey_stick(one: Distribution, other: Distribution, ratio: Fraction) -> Fraction:
    """Return a lower bound of the divergence of `one` from `other` at log(ratio).

    What `other` does not list may lie anywhere, so it counts against the bound.
    """
    excess = (mass - ratio * other.get(output, 0) for output, mass in one.items())
    found = sum((term for term in excess if term > 0), Fraction(0))
    return max(found - ratio * (1 - sum(other.values())), Fraction(0))


def both_ways(one: Distribution, other: Distribution, ratio: Fraction) -> Fraction:
    """Return the larger of the two divergences."""
    return max(hockey_stick(one, other, ratio), hockey_stick(other, one, ratio))


def spent_epsilon(one: Distribution, other: Distribution, delta: Fraction) -> float:
    """Return an epsilon below which the claim fails at this delta, 0 if there is none.

    The best sets of outputs are those whose ratio of probabilities is large; of each, P(S) - delta must be at
    most exp(epsilon) Q(S).
    """
    outputs = sorted(
        one, key=lambda output: _ratio(one[output], other.get(output, Fraction(0))), reverse=True
    )
    unlisted = 1 - sum(other.values())
    mass, others, best = -delta, Fraction(unlisted), Fraction(1)
    for output in outputs:
        mass, others = mass + one[output], others + other.get(output, 0)
        if mass > 0:
            if not others:
                return math.inf
            best = max(best, mass / others)
    return math.log(best)


def _ratio(one: Fraction, other: Fraction) -> float | Fraction:
    """Return the ratio of two probabilities, infinite if only the first is positive."""
    if other:
        return one / other
    return math.inf if one else 0


def listed(found: Mapping[Hashable, float | Fraction]) -> dict[Hashable, Fraction]:
    """Return a distribution in fractions, or raise if its probabilities cannot be those of one."""
    masses = {output: Fraction(mass) for output, mass in found.items()}
    if any(mass < 0 for mass in masses.values()) or sum(masses.values()) > 1:
        raise ParameterError(
            "distribution must return probabilities, at least 0 each and at most 1 together; give fractions,"
            " which add up exactly."
        )
    return masses
