"""Thresholds of the counter mechanisms, every tail summed on the integers.

Throughout, z0, z1, ... are independent draws of DLap(epsilon), P(z) proportional to a^|z| with
a = exp(-epsilon), and S(m) = P[z >= m]. A value is published if it is at least the threshold t, so every tail
is P[... >= t]. Derivations: docs/proofs/counters/floor.md, "Calibration".
"""

from __future__ import annotations

import math

from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.tails import largest_difference, log_floor_tail, one_of, smallest

LARGEST_THRESHOLD = 1 << 53  # that a caller may ask for: counts that far are still whole as floats


def floor_threshold(epsilon: float, delta: float) -> int:
    """Return the smallest G >= 1 with P[max(1 + z1 - z0, z2 - z0) >= G] <= delta.

    >>> floor_threshold(1.0, 1e-6), floor_threshold(0.1, 1e-6), floor_threshold(2.0, 1e-6)
    (17, 161, 9)
    """
    return smallest(lambda threshold: log_floor_tail(epsilon, threshold), delta, start=1)


def pmg_threshold(epsilon: float, delta: float) -> int:
    """Return the smallest t >= 1 with P[max(1 + z0 + z1, z0 + z2) >= t] <= delta.

    It is the threshold of the floor release, because z0 is symmetric.
    """
    return floor_threshold(epsilon, delta)


def pmg_paper_threshold(epsilon: float, delta: float) -> int:
    """Return the published threshold for geometric noise (Lebeda and Tětek 2023, Section 5.2)."""
    log_odds = math.log(6) - math.log1p(math.exp(-epsilon)) - math.log(delta)
    return 1 + 2 * math.ceil(log_odds / epsilon)


def standard_threshold(epsilon: float, delta: float, candidates: int) -> int:
    """Return the smallest t >= 2 with P[max over j <= candidates of (1 + z0 + zj) >= t] <= delta."""
    # Lebeda and Tětek 2023, Section 5.1
    return 1 + largest_difference(epsilon, delta, candidates)


def chan_threshold(epsilon: float, delta: float, candidates: int) -> int:
    """Return the smallest t >= 2 with 1 - (1 - P[1 + z >= t])^k <= delta.

    Here z ~ DLap(epsilon / k) and k = candidates.
    """
    return 1 + _smallest_tail(
        DiscreteLaplace.shared(epsilon, candidates, "counters"), one_of(candidates, delta)
    )


def dpss_margin(epsilon: float, delta: float) -> int:
    """Return the smallest m >= 1 with 1 - (1 - S(m))(1 - S(m+1)) <= delta."""
    noise = DiscreteLaplace(epsilon)

    def log_tail(margin: int) -> float:
        below, above = float(noise.log_tail(margin)), float(noise.log_tail(margin + 1))
        return below + math.log1p(math.exp(above - below) - math.exp(above))

    return smallest(log_tail, delta, start=1)


def laplace_threshold(epsilon: float, delta: float, weight: int = 1) -> int:
    """Return the smallest t > weight with P[weight + z >= t] <= delta, where z ~ DLap(epsilon / weight)."""
    return weight + _smallest_tail(weighed_laplace(epsilon, weight), delta)


def weighed_laplace(epsilon: float, weight: int) -> DiscreteLaplace:
    """Return noise for a count that one event changes by up to `weight`."""
    if weight == 1:
        return DiscreteLaplace(epsilon)
    return DiscreteLaplace.shared(epsilon, weight, "units of weight of one event")


def shard_margin(epsilon: float, delta: float) -> int:
    """Return the smallest A >= 1 with S(A) <= delta and S(A + 1) <= delta / 2."""
    noise = DiscreteLaplace(epsilon)
    return max(_smallest_tail(noise, delta), _smallest_tail(noise, delta / 2) - 1)


def _smallest_tail(noise: DiscreteLaplace, probability: float) -> int:
    """Return the smallest m >= 1 with P[z >= m] <= probability."""
    return smallest(lambda m: float(noise.log_tail(m)), probability, start=1)
