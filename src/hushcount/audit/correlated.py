"""The outputs of a correlated sparse histogram of a few keys, enumerated on the half units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import reduce
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Counts, Floats
from hushcount.noise.gaussian import DiscreteGaussian

STILL, RAISED, ISOLATED = 0, 1, 2
SPAN = 12  # standard deviations of noise that are enumerated


class Halves(NamedTuple):
    """Noise and threshold in half units: `own` for each doubled count, `shared` for all of them."""

    own: DiscreteGaussian
    shared: DiscreteGaussian
    threshold: int


def output_law(noise: Halves, counts: tuple[int, ...], last: int) -> Floats:
    """Return the joint distribution of all keys: suppressed, threshold, threshold + 1, ..., last.

    A count of 0 stands for a key that is not stored.
    """
    span = math.ceil(SPAN * float(noise.shared.sigma))
    values = np.arange(noise.threshold, last + 1)
    total = np.zeros((len(values) + 1,) * len(counts))
    for shared in range(-span, span + 1):
        keys = [_key(noise, count, shared, values) for count in counts]
        total += float(noise.shared.pmf(shared)) * reduce(np.multiply.outer, keys)
    return total.ravel()


def _key(noise: Halves, count: int, shared: int, values: Counts) -> Floats:
    """Return what is published of one key, given the shared noise."""
    if not count:
        return np.concatenate(([1.0], np.zeros(len(values))))
    middle = 2 * count + shared
    suppressed = float(noise.own.tail(1 + middle - noise.threshold))
    return np.concatenate(([suppressed], np.asarray(noise.own.pmf(values - middle))))


def neighbours(stored: int, base: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Yield which keys stay, are raised or isolated, and the counts on the larger and the smaller side."""
    sides = {STILL: (base, base), RAISED: (base + 1, base), ISOLATED: (1, 0)}
    for kinds in combinations_with_replacement((STILL, RAISED, ISOLATED), stored):
        more, less = zip(*(sides[kind] for kind in kinds), strict=True)
        yield kinds, more, less


def divergences(noise: Halves, stored: int, epsilon: float, base: int) -> Iterator[tuple[float, str]]:
    """Yield what each pair of neighbours spends, both ways, with its words."""
    reach = SPAN * (float(noise.own.sigma) + float(noise.shared.sigma))
    for _, more, less in neighbours(stored, base):
        last = 2 * (base + 1) + math.ceil(reach)
        p, q = output_law(noise, more, last), output_law(noise, less, last)
        for one, other in ((p, q), (q, p)):
            yield math.fsum(np.maximum(one - math.exp(epsilon) * other, 0.0)), f"counts {more} and {less}"
