"""Twins of the releases of counts, cells and users."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from tests import reference
from tests.privacy.twins import Distribution, Twin, above, joint, listed, noisy

from hushcount.mechanisms.histograms.laplace import LaplaceManyKeys, LaplaceThreshold
from hushcount.mechanisms.histograms.reduced import ReducedRelease
from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, stationary_masses, values_grid
from hushcount.mechanisms.sampling.schemes import Ppswor
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public

LAW = DiscreteLaplace(1.0)
BUDGET = Budget(1.0, float(LAW.tail(8)) * (1 + 1e-9))  # the threshold 9 spends all of it
PWS = Budget(1.0, 1e-6)
KEYS_GRID, SEEDED = keys_grid(PWS), Ppswor(0.01)


def lower_threshold(counts) -> Distribution:
    return above(LAW, counts.get("x"), LaplaceThreshold(BUDGET).threshold - 1)


def no_threshold(counts) -> Distribution:
    """Every key of the data is published with a noisy count."""
    return noisy(LAW, counts["x"]) if counts else {None: Fraction(1)}


def many_keys_lower(counts) -> Distribution:
    """Two counts that change together, published one below their threshold."""
    law = LaplaceManyKeys(MANY, Public(moved=2))
    return joint(*(above(law.noise, counts.get(key), law.threshold - 1, 30) for key in ("k0", "k1")))


MANY_LAW = DiscreteLaplace(Fraction(1, 2))
MANY = Budget(1.0, (1 - (1 - float(MANY_LAW.tail(9))) ** 2) * (1 + 1e-9))


def continuous_sigma(counts) -> Distribution:
    """The sigma of continuous Gaussian noise for (1, 1e-6), on the integers."""
    return noisy(DiscreteGaussian(4.2247), counts["x"], 60)


def one_row_too_few(counts) -> Distribution:
    """Count-Min with two rows and the noise for one."""
    return joint(*(noisy(LAW, count) for count in counts.values()))


def root_forgotten(counts) -> Distribution:
    """A tree of three levels over known nodes, with the noise for two."""
    law = DiscreteLaplace(Fraction(1, 2))
    return joint(*(noisy(law, count) for count in counts.values()))


def one_row_of_a_user(counts) -> Distribution:
    """Noise for one row, where a user may have three."""
    return noisy(LAW, counts["x"])


def other_order(counts) -> Distribution:
    """Without one user the others come in another order: a count of user-level Misra-Gries changes by 5."""
    return noisy(LAW, counts["a"])


def user_counts(stream) -> dict[str, int]:
    return {"a": reference.user_misra_gries(stream, 2)[0].get("a", 0)}


USERS = ["a"] * 6 + ["bc", "de", "fg"] * 2


def offset_of_the_paper(counts) -> Distribution:
    """Whole-number noise on c - gamma, gamma a multiple of 1 / (k + 1): the fraction is that of gamma."""
    return {Fraction(sum(counts.values()), 3) % 1: Fraction(1)}


def summed_before_the_reduction(counts) -> Distribution:
    """Two sketches of two counters: raw counters are summed and then reduced, with the noise of `pure`."""
    heights: dict[str, int] = {}
    for (_, key), height in counts.items():
        heights[key] = heights.get(key, 0) + height
    sums, law = reference.reduced(heights, 2), DiscreteLaplace(Fraction(1, 3))
    return joint(*(cut(law, sums.get(key, 0)) for key in ("a", "d")))


def not_rounded(counts) -> Distribution:
    """Sums of reduced counts of eight candidates, with noise and threshold of `reduced` but not rounded."""
    own = ReducedRelease(BUDGET, Public(candidates=8))
    hidden = 1 - Fraction(float(own.noise.tail(own.least_noisy - 1)))
    none = hidden ** len(counts)  # every sum is 1, and this is whether any key is published
    return {None: none, "some": 1 - none}


def cut(law: DiscreteLaplace, count: int) -> Distribution:
    """A count with noise, cut to -9..9."""
    tails = [1.0, *map(float, law.tail(np.arange(-8, 10) - count)), 0.0]
    return listed({value: one - other for value, (one, other) in enumerate(pairwise(tails), -9)}, rest=0)


def rounded_to_32_bits(counts) -> Distribution:
    """The truncated geometric with probabilities to the nearest multiple of 2^-32."""
    grid = values_grid(PWS)
    unit = 1 << (grid.width - 32)
    masses = [round(Fraction(high - low, unit)) for low, high in pairwise(stationary_masses(grid))]
    total = sum(masses)
    return {counts["x"] - value: Fraction(mass, total) for value, mass in enumerate(masses)}


def noise_for_one_event(counts) -> Distribution:
    """The truncated geometric for events of weight 1, where one event has a weight of 2."""
    grid = values_grid(PWS)
    found: Distribution = {}
    for value, (low, high) in enumerate(pairwise(stationary_masses(grid))):
        left = max(counts.get("x", 0) - value, 0)
        found[left] = found.get(left, Fraction(0)) + Fraction(high - low, 1 << grid.width)
    return found


def known_seed(counts) -> Distribution:
    """Private sampling whose seed u is public: a count i is sampled from u < q_i on, for all to see."""
    count, whole = counts.get("x", 0), KEYS_GRID.whole
    sampled = [SEEDED.integer_probability(i, KEYS_GRID.width) for i in (count - 1, count, count + 1)]
    published = SampleRows(KEYS_GRID, SEEDED).reporting(count, count)[0]
    kept = Fraction(published, sampled[1]) if sampled[1] else Fraction(0)
    found: Distribution = {}
    cuts = sorted({0, whole, *(SEEDED.integer_probability(i, KEYS_GRID.width) for i in range(42))})
    for low, high in pairwise(cuts):
        width = Fraction(high - low, whole)
        found[low, "published"] = width * kept if high <= sampled[1] else Fraction(0)
        found[low, "not"] = width - found[low, "published"]
    return found


BESIDE = {(1, "a"): 2, (1, "d"): 2}  # reduced to (0, 0) or, without b and c, to (2, 2)
TWINS = {
    "Laplace threshold, one lower": Twin(
        (BUDGET.epsilon, BUDGET.delta), 2.7 * BUDGET.delta, None, lower_threshold
    ),
    "Laplace noise without a threshold": Twin((1.0, 1e-6), 0.99, None, no_threshold),
    "Laplace for two keys, threshold one lower": Twin(
        (MANY.epsilon, MANY.delta), 1.5 * MANY.delta, ({"k0": 1, "k1": 1}, {}), many_keys_lower
    ),
    "continuous Gaussian calibration on the integers": Twin(
        (1.0, 1e-6), 1.018e-6, ({"x": 100}, {"x": 99}), continuous_sigma
    ),
    "noisy cells, one row too few": Twin((1.0, 1e-6), 0.1, ({0: 7, 1: 7}, {0: 6, 1: 6}), one_row_too_few),
    "a known tree, the root forgotten": Twin(
        (1.0, 0.0), 0.04, ({"*": 7, "a": 7, "a1": 7}, {"*": 6, "a": 6, "a1": 6}), root_forgotten
    ),
    "noise for one row of a user": Twin((1.0, 1e-6), 0.3, ({"x": 8}, {"x": 5}), one_row_of_a_user),
    "users in another order": Twin(
        (1.0, 1e-6), 0.7, (user_counts(USERS), user_counts(USERS[:-1][::-1])), other_order
    ),
    "whole-number noise above the offset of the paper": Twin(
        (1.0, 0.0), 1.0, ({"a": 2, "b": 1}, {"a": 2}), offset_of_the_paper
    ),
    "pure shards, summed before they are reduced": Twin(
        (1.0, 0.0),
        0.09,
        ({(0, "b"): 1, (0, "c"): 1, **BESIDE}, BESIDE),
        summed_before_the_reduction,
    ),
    "reduced sums, not rounded": Twin(
        (BUDGET.epsilon, BUDGET.delta),
        2.8 * BUDGET.delta,
        ({f"k{number}": 1 for number in range(8)}, {}),
        not_rounded,
    ),
    "probabilities rounded to 32 bits": Twin(
        (1.0, 1e-6), 1.0001e-6, ({"x": 90}, {"x": 89}), rounded_to_32_bits
    ),
    "noise for an event of weight 1, of weight 2": Twin(
        (1.0, 1e-6), 3.7e-6, ({"x": 2}, {}), noise_for_one_event
    ),
    "private sampling with a known seed": Twin(
        (1.0, 1e-6), 1.4e-3, [({"x": i}, {"x": i - 1}) for i in range(2, 41)], known_seed
    ),
}
