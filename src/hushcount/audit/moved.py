"""Divergences of counts that change together.

There is a function for counts of many keys, for cells, for the tests on a path of a tree, for the largest
count of a domain, for rounds of key selection, and for counts that share a part of their noise. Each computes
the divergence of neighbouring data that can occur, so it is a lower bound on what a mechanism spends; for
many keys and for cells it is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import combinations_with_replacement, pairwise, permutations, product
from typing import NamedTuple

import numpy as np

from hushcount.audit import laws
from hushcount.audit.laws import LawPair
from hushcount.compiled.arrays import Counts, Floats
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.keys.calibration import KeyRound
from hushcount.mechanisms.sampling.rows import SampleRows
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace

SPAN = 12  # standard deviations of noise that are enumerated, of key selection and of shared noise
STILL, RAISED, ISOLATED = 0, 1, 2


def _sums(law: DiscreteGaussian, count: int) -> tuple[Floats, int]:
    """Return the distribution of the sum of `count` noises on -span..span, but for a mass below 1e-25."""
    span = law.two_sided(1e-25) + 1
    pmf = np.asarray(law.pmf(np.arange(-span, span + 1)))
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, pmf)
    return total, count * span


def gaussian_divergence(law: DiscreteGaussian, moved: int, epsilon: float) -> float:
    """Return the divergence of `moved` noisy values that all change by 1: the loss depends on their sum."""
    if moved == 0:
        return max(-math.expm1(epsilon), 0.0)
    probabilities, span = _sums(law, moved)
    loss = (2 * np.arange(-span, span + 1) + moved) / (2 * float(law.sigma) ** 2)
    return math.fsum(probabilities * -np.expm1(np.minimum(epsilon - loss, 0.0)))


def many_keys_divergence(law: DiscreteGaussian, threshold: int, epsilon: float, moved: int) -> float:
    """Return the largest divergence over all numbers of common keys, the others isolated, both ways."""
    hidden = 1 - float(law.tail(threshold - 1))
    found = []
    for common in range(moved + 1):
        suppressed = hidden ** (moved - common)
        gamma = math.log(suppressed)
        found.append(1 - suppressed + suppressed * gaussian_divergence(law, common, epsilon - gamma))
        found.append(gaussian_divergence(law, common, epsilon + gamma))
    return max(found)


def path_divergence(law: Distribution, threshold: int, tests: int, epsilon: float, weight: int = 1) -> float:
    """Return the largest divergence of two kinds of data of a hierarchy with this many tests on a path.

    One leaf with `residual` events, so that every node on its path has that residual; or a new leaf, whose
    first nodes only the larger data tests, until `residual` single events of other leaves come up to a node.
    The larger data have one event of this weight more.
    """
    residuals = np.arange(0, threshold + 20 * int(math.sqrt(law.variance) + 1))
    untested, single = (math.log1p(-law.tail(threshold - value)) for value in (weight, 1))
    fails = np.asarray(law.log_tail(1 + np.arange(len(residuals) + weight) - threshold))
    fails[0] = 0.0  # not tested
    worst = 0.0
    for alone in range(tests):
        smaller = (tests - alone) * fails[:-weight]
        larger = alone * untested + (tests - alone) * fails[weight:]
        others = residuals * (tests * single if alone else 0.0)  # single events that are not published
        all_fail = np.exp(others + smaller) - np.exp(others + epsilon + larger)
        some = np.exp(others) * (-np.expm1(larger) + math.exp(epsilon) * np.expm1(smaller))
        worst = max(worst, float(all_fail.max()), float(some.max()))
    return worst


def largest_of(y: tuple[int, ...], law: DiscreteLaplace) -> dict[tuple[int, int], float]:
    """Return P[(place, value) is the largest noisy count], ties uniform, by summing over all noise."""
    span = law.two_sided(1e-25)
    values = np.arange(-span, 2 * span)  # the same for all small y, so that outputs can be compared
    pmf = np.stack([np.asarray(law.pmf(values - one)) for one in y])
    less = np.stack([1 - np.asarray(law.tail(values - one)) for one in y])
    found: dict[tuple[int, int], float] = {}
    for place in range(len(y)):
        others = [index for index in range(len(y)) if index != place]
        total = np.zeros(len(values))
        for tied in product((False, True), repeat=len(others)):
            parts = [pmf[o] if t else less[o] for o, t in zip(others, tied, strict=True)]
            total += np.prod(parts, axis=0) / (1 + sum(tied))
        for value, probability in zip(values.tolist(), (total * pmf[place]).tolist(), strict=True):
            found[place, value] = probability
    return found


def two_largest_of(y: tuple[int, int, int], law: DiscreteLaplace) -> Floats:
    """Return P[the two largest noisy counts of three have these places and values] for all, ties uniform."""
    span = law.two_sided(1e-25)
    values = np.arange(-span, 2 * span)
    pmf = [np.asarray(law.pmf(values - one)) for one in y]
    less = [1 - np.asarray(law.tail(values - one)) for one in y]
    found = []
    for first, second in permutations(range(3), 2):
        third = 3 - first - second
        both = np.outer(pmf[first], pmf[second])
        apart = np.tril(both, -1) * (less[third] + pmf[third] / 2)
        tied = np.diagonal(both) * (less[third] / 2 + pmf[third] / 6)
        found.append((apart + np.diag(tied)).ravel())
    return np.concatenate(found)


def rounded_pair(
    law: DiscreteLaplace, level: int, least: int, sums: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Return the distributions of what is published of two sums of one key, nothing at the end.

    A sum below `level` becomes that with probability sum / level, or 0, which is never published.
    """
    values = np.arange(least, max(least, *sums) + law.two_sided(1e-25))

    def published(one: int) -> Floats:
        share, raised = min(one / level, 1.0), max(one, level)
        shown = share * np.asarray(law.pmf(values - raised))
        return np.append(shown, 1 - share * float(law.tail(least - raised)))

    return published(sums[0]), published(sums[1])


def _shifted(law: DiscreteGaussian, step: int, epsilon: Floats) -> Floats:
    """Return the divergence of one value with this noise that changes by `step`, at many losses."""
    sigma = float(law.sigma)
    start = np.clip(np.ceil(sigma**2 * epsilon / step - step / 2), -1e9, 1e9).astype(np.int64)
    found = np.asarray(law.tail(start)) - np.exp(epsilon) * np.asarray(law.tail(start + step))
    return np.asarray(np.clip(found, 0.0, 1.0))


def common_key(rounds: tuple[KeyRound, ...], unit: int, epsilon: float, base: int) -> float:
    """Return the larger divergence of a user of one key, whose noisy weights are the output.

    `base` is the weight that others give the key. The second round is there only if the key stays.
    """
    first = rounds[0]
    reach = math.ceil(SPAN * first.sigma)
    y = np.arange(base - reach, base + unit + reach + 1)
    sides = [np.asarray(first.noise.pmf(y - base - more)) for more in (unit, 0)]
    stays = (y < first.threshold) & (y >= (first.cut if first.cut is not None else y.min()))
    found = []
    for p, q in (sides, sides[::-1]):
        seen = (p > 0) & (q > 0)
        loss = epsilon + np.log(q[seen] / p[seen])
        each = np.maximum(-np.expm1(loss), 0.0)
        if len(rounds) > 1:
            each = np.where(stays[seen], _shifted(rounds[1].noise, unit, loss), each)
        found.append(math.fsum(p[seen] * each))
    return max(found)


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


def total_divergence(table: LawPair, noise: DiscreteLaplace, epsilon: float, moved: int) -> float:
    """Return the divergence of a table together with a noisy total that changes by `moved`."""
    span = noise.two_sided(1e-15)
    values = np.arange(-span - moved, span + moved + 1)
    total = np.asarray(noise.pmf(values - moved)), np.asarray(noise.pmf(values))
    return laws.hockey_stick(laws.together([table, laws.merged(total)]), epsilon)


def steered_divergences(
    table: Callable[[int], LawPair], noise: DiscreteLaplace, epsilon: float, totals: tuple[int, int]
) -> tuple[float, float]:
    """Return the divergences, both ways, of a noisy total of at least 1 with a table that it steers."""
    span = noise.two_sided(1e-15)
    values = np.arange(1, max(totals) + span + 1)
    sides = [np.array(noise.pmf(values - total)) for total in totals]
    for side, total in zip(sides, totals, strict=True):
        side[0] = 1 - float(noise.tail(2 - total))  # all that is below 1 too
    more, less = 0.0, 0.0
    for value, one, other in zip(values.tolist(), *sides, strict=True):
        p, q = table(value)
        more += float(np.maximum(one * p - math.exp(epsilon) * other * q, 0).sum())
        less += float(np.maximum(other * q - math.exp(epsilon) * one * p, 0).sum())
    return more, less


def row_pair(rows: SampleRows, count: int, *, keys_only: bool = False) -> LawPair:
    """Return what a sample publishes of a key of this count, and of one less."""
    if keys_only:
        shown = [mass / rows.grid.whole for mass in rows.reporting(count - 1, count)]
        return np.array([1 - shown[1], shown[1]]), np.array([1 - shown[0], shown[0]])
    found = [rows.row(each) for each in (count, count - 1)]
    outputs = sorted({*found[0], *found[1]})
    one, other = (np.array([row.get(value, 0) / rows.grid.whole for value in outputs]) for row in found)
    return one, other


def geometric_pair(law: TruncatedGeometricNoise, count: int) -> LawPair:
    """Return what is published of a key of this count, and of one less."""
    masses = np.array([float((high - low) / (1 << law.width)) for low, high in pairwise(law.masses)])
    rows = np.zeros((2, count + 1))
    for row, value in zip(rows, (count, count - 1), strict=True):
        np.add.at(row, np.maximum(value - np.arange(len(masses)), 0), masses)
    return rows[0], rows[1]
