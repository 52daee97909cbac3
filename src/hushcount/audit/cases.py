"""What each mechanism of this package spends: the divergence of its outputs on the worst neighbouring data.

Every function takes a calibrated mechanism, so that noise and threshold are its own, and yields what it
spends on one pair of neighbours after the other. Distributions are enumerated: no chance is in a bound.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import NamedTuple

import numpy as np

from hushcount.audit import exact, laws
from hushcount.audit import moved as changes
from hushcount.audit.laws import LawPair, NoisyThreshold
from hushcount.audit.neighbours import STATES, Summaries, Summary, both_ways, isolated_rows, neighbours
from hushcount.compiled.arrays import Counts, Floats
from hushcount.ldp.wire.groups import Group
from hushcount.mechanisms.base import Thresholded
from hushcount.mechanisms.counters.floor import BoundedLengthRelease, FloorRelease
from hushcount.mechanisms.counters.key_shards import KeyShardRelease
from hushcount.mechanisms.counters.shards import ShardRelease
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.keys.calibration import UNIT, KeyRound, weights
from hushcount.mechanisms.linear.calibration import Envelope
from hushcount.mechanisms.sampling.rows import SampleRows
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.tails import any_of
from hushcount.privacy import Budget
from hushcount.shapes import FloorCounters

ROUNDING = 1e-9  # what floating point may add to epsilon
VANISHING = 1e-13  # probabilities below this are not compared


class Spent(NamedTuple):
    """A divergence that is reached, the neighbours that reach it, and the epsilon if delta is 0."""

    delta: float
    pair: str
    epsilon: float | None = None


def noisy(mechanism: FloorRelease | KeyShardRelease | Thresholded[FloorCounters]) -> NoisyThreshold:
    """Return noise and threshold of a mechanism, at its own budget."""
    budget = mechanism.budget
    return NoisyThreshold(mechanism.noise, mechanism.threshold, budget.epsilon, budget.delta)


def counter_states(threshold: int, states: Iterable[str] = STATES) -> Iterator[tuple[str, Summaries]]:
    """Yield the neighbouring states of a counter sketch, both ways, with their names."""
    for state in states:
        for more, less in both_ways(neighbours(state, threshold, 0)):
            yield f"{state}: {_words(more)} and {_words(less)}", (more, less)


def floor(release: NoisyThreshold) -> Iterator[Spent]:
    """Counts above a noisy floor, in every state of the sketch."""
    for words, sides in counter_states(release.threshold):
        yield Spent(laws.floor_release(release, *sides)[0], words)


def shared(release: NoisyThreshold, least: int, candidates: int | None = None) -> Iterator[Spent]:
    """Heights of at least `least` with one noise in common.

    A standard sketch drops zeros, so one event may empty all its `candidates`.
    """
    for words, sides in counter_states(release.threshold):
        heights = sides[0].heights(least), sides[1].heights(least)
        yield Spent(laws.shared_noise(release, heights)[0], words)
    if candidates:
        full = {f"x{index}": 1 for index in range(candidates)}
        yield Spent(laws.shared_noise(release, (full, {}))[0], f"{candidates} keys of height 1 and none")


def together(release: NoisyThreshold, moved: int) -> Iterator[Spent]:
    """Counts with independent noise, of which `moved` change: some common, the others isolated."""
    for common in range(moved + 1):
        high = release.threshold + 2
        more = {f"k{i}": high + 1 if i < common else 1 for i in range(moved)}
        less = {f"k{i}": high for i in range(common)}
        for sides in ((more, less), (less, more)):
            words = f"{common} common and {moved - common} isolated keys"
            yield Spent(laws.independent(release, sides)[0], words)


def one_key(release: NoisyThreshold) -> Iterator[Spent]:
    """One count changes by 1, around the threshold, or its key is new."""
    for count in (1, 2, release.threshold - 1, release.threshold, release.threshold + 1):
        more, less = {"x": count}, {"x": count - 1} if count > 1 else {}
        for sides in ((more, less), (less, more)):
            yield Spent(laws.independent(release, sides)[0], f"{sides[0]} and {sides[1]}")


def bounded_length(mechanism: BoundedLengthRelease) -> Iterator[Spent]:
    """Absolute counts above what the public length allows, with the floor as high as it can be."""
    release = noisy(mechanism)
    for words, (more, less) in counter_states(mechanism.threshold - mechanism.largest_floor):
        if max(more.floor, less.floor) <= mechanism.largest_floor:
            yield Spent(laws.independent(release, (more.counts, less.counts))[0], words)


def shards(mechanism: ShardRelease) -> Iterator[Spent]:
    """One of two shards changes; the other adds nothing, one or much to the keys that differ."""
    far = 2 * mechanism.noise.largest
    for words, sides in counter_states(mechanism.margin + mechanism.noise.centre):
        more, less = sides[0].counts, sides[1].counts
        keys = sorted(key for key in more.keys() | less.keys() if more.get(key) != less.get(key))
        for heights in product((0, 1, far) if len(keys) < 3 else (0, far), repeat=len(keys)):
            elsewhere = dict(zip(keys, heights, strict=True))
            yield Spent(laws.shard_release(mechanism, sides, elsewhere)[0], f"{words}; elsewhere {elsewhere}")


def many_keys(law: DiscreteGaussian, threshold: int, epsilon: float, moved: int) -> Iterator[Spent]:
    """All numbers of common and isolated keys at once."""
    spent = changes.many_keys_divergence(law, threshold, epsilon, moved)
    yield Spent(spent, f"{moved} keys, common or isolated")


def key_rounds(rounds: tuple[KeyRound, ...], largest: int, epsilon: float) -> Iterator[Spent]:
    """A user of a key that others hold, or of new keys, of which one is published in the first round."""
    last = rounds[0].threshold
    for base in (last // 4, last // 2, 3 * last // 4, last):
        spent = changes.common_key(rounds, UNIT, epsilon, base)
        yield Spent(spent, f"a key of weight {base}, and one user more who holds it alone")
    for size, weight in enumerate(weights(largest).tolist(), start=1):
        tail = float(rounds[0].noise.tail(rounds[0].threshold - weight))
        yield Spent(any_of(size, tail), f"a user of {size} new keys, and none")


def geometric(law: TruncatedGeometricNoise, budget: Budget, weight: int = 1) -> Iterator[Spent]:
    """What a truncated geometric leaves of one count, for all that it can hide, in steps of `weight`."""
    masses = [high - low for low, high in pairwise(law.masses)]
    rows = []
    for count in range(0, law.largest + 3 * weight, weight):
        row: dict[int, int] = {}
        for value, mass in enumerate(masses):
            row[max(count - value, 0)] = row.get(max(count - value, 0), 0) + mass
        rows.append(row)
    yield from _rows(rows, 1 << law.width, budget)


def many_keys_geometric(law: TruncatedGeometricNoise, epsilon: float, keys: int) -> Iterator[Spent]:
    """Keys that are new: the table alone tells them, whatever else is said about the data."""
    shown = law.masses[1] / (1 << law.width)
    yield Spent(-math.expm1(keys * math.log1p(-shown)), f"{keys} keys of one new user")


def sampled_rows(rows: SampleRows, budget: Budget, *, keys_only: bool = False) -> Iterator[Spent]:
    """Counts i and i - 1 of one key, to the count from which all are published alike."""
    last, whole = rows.warm_up + 2, rows.grid.whole
    if keys_only:
        found = [{0: whole - mass, 1: mass} for mass in rows.reporting(0, last)]
    else:
        found = [rows.row(count) for count in range(last + 1)]
    yield from _rows(found, whole, budget)


def _rows(rows: list[dict[int, int]], whole: int, budget: Budget) -> Iterator[Spent]:
    """Yield the exact divergences of consecutive rows of integers out of `whole`."""
    ratio = exact.growth(exact.as_claimed(budget.epsilon))
    listed: list[dict[Hashable, Fraction]] = [
        {value: Fraction(mass, whole) for value, mass in row.items()} for row in rows
    ]
    for count, (less, more) in enumerate(pairwise(listed), start=1):
        words = f"{{'x': {count}}} and {{'x': {count - 1}}}" if count > 1 else "{'x': 1} and {}"
        yield Spent(float(exact.both_ways(more, less, ratio)), words)


def cells(law: Distribution, depth: int, epsilon: float) -> Iterator[Spent]:
    """All cells of one event change by 1, one in each row."""
    words = f"{depth} cells that change by 1"
    if isinstance(law, DiscreteGaussian):
        yield Spent(changes.gaussian_divergence(law, depth, epsilon), words)
        return
    span = law.two_sided(VANISHING)
    values = np.arange(-span, span + 2)
    pair = np.asarray(law.pmf(values)), np.asarray(law.pmf(values - 1))
    yield pure_spent(laws.together([laws.merged(pair)] * depth), epsilon, words)


def envelope(plan: Envelope, epsilon: float, counters: int, events: int) -> Iterator[Spent]:
    """One estimate far above the threshold, and a key that only one side tracks."""
    span = plan.distribution.two_sided(VANISHING)
    values = np.arange(-span, span + 1 + plan.weight)
    rows = plan.depth if plan.kind == "count-min" else (plan.depth + 1) // 2
    pair = tuple(_estimates(plan, values - moved, rows) for moved in (0, plan.weight))
    for p, q in (pair, pair[::-1]):
        yield Spent(_divergence((p, q), epsilon), f"the estimate of a frequent key, changed by {plan.weight}")
    new = events // counters + plan.weight
    above = np.array([plan.threshold + 1 - new])
    yield Spent(float(_at_least(plan, above, rows)[0]), f"a key of {new} events that one side tracks")


def _estimates(plan: Envelope, values: Counts, rows: int) -> Floats:
    """Return P[estimate - count = value] if nothing collides."""
    return _at_least(plan, values, rows) - _at_least(plan, values + 1, rows)


def _at_least(plan: Envelope, values: Counts, rows: int) -> Floats:
    """Return P[the noise of at least `rows` of all rows reaches a value]."""
    tail = np.asarray(plan.distribution.tail(values))
    depth = plan.depth
    terms = [math.comb(depth, n) * tail**n * (1 - tail) ** (depth - n) for n in range(rows, depth + 1)]
    return np.asarray(np.sum(terms, axis=0))


def largest(law: DiscreteLaplace, units: int, epsilon: float) -> Iterator[Spent]:
    """The largest noisy count of three keys, of which one changes by `units`."""
    for y in (0, 1, 3):
        more, less = (changes.largest_of((count, 0, 1), law) for count in (y + units, y))
        p, q = (np.array([side[output] for output in more]) for side in (more, less))
        for sides in ((p, q), (q, p)):
            yield pure_spent(sides, epsilon, f"reduced counts {y + units} and {y} of three keys")


def reduced_sums(law: DiscreteLaplace, epsilon: float) -> Iterator[Spent]:
    """Two sketches of two candidates: one has heights a 3 and b 2 (a falls to 2), beside the other."""
    for other in ((0, 0, 0), (2, 0, 0), (0, 2, 2)):
        p, q = (
            changes.two_largest_of((a + other[0], b + other[1], other[2]), law) for a, b in ((4, 1), (2, 2))
        )
        for sides in ((p, q), (q, p)):
            yield pure_spent(sides, epsilon, f"reduced counts (4, 1, 0) and (2, 2, 0), beside {other}")


def user(release: NoisyThreshold, rows: int, budget: Budget) -> Iterator[Spent]:
    """All rows of one user have the same key, which is new or stands around the threshold, or all are S6."""
    asked = NoisyThreshold(release.law, release.threshold, budget.epsilon, budget.delta)
    for count in (0, release.threshold - rows, release.threshold):
        more, less = Summary(0, {"x": count + rows}), Summary(0, {"x": count} if count else {})
        for one, other in ((more, less), (less, more)):
            words = f"{dict(one.counts)} and {dict(other.counts)}"
            yield Spent(laws.floor_release(asked, one, other)[0], words)
    for one, other in both_ways([isolated_rows(rows)]):
        words = f"S6, {rows} times: {_words(one)} and {_words(other)}"
        yield Spent(laws.floor_release(asked, one, other)[0], words)


def reports(groups: tuple[Group, ...], epsilon: str) -> Iterator[Spent]:
    """The report of one client with one item, another item or none: every symbol of every group."""
    laws_of = [_report(groups, truth) for truth in (0, 1, None)]
    ratio = exact.growth(Fraction(epsilon))
    for (one, p), (other, q) in combinations(zip(("item 0", "item 1", "no item"), laws_of, strict=True), 2):
        spent = exact.spent_epsilon(p, q, Fraction(0))
        yield Spent(float(exact.both_ways(p, q, ratio)), f"{one} and {other}", spent)


def _report(groups: tuple[Group, ...], truth: int | None) -> exact.Distribution:
    """Return the distribution of the symbols of a report, if all groups ask for the same symbol."""
    found: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for group in groups:
        honest = Fraction(group.probability, 1 << 64)
        other = (1 - honest) / (group.symbols - 1)
        symbols = {
            symbol: Fraction(1, group.symbols) if truth is None else honest if symbol == truth else other
            for symbol in range(group.symbols)
        }
        found = {(*before, symbol): p * q for before, p in found.items() for symbol, q in symbols.items()}
    return {symbols: mass for symbols, mass in found.items()}  # noqa: C416


def pure_spent(pair: LawPair, epsilon: float, words: str) -> Spent:
    """Return what is spent of epsilon and, if it is exceeded, of delta."""
    p, q = pair
    common = (p > VANISHING) & (q > VANISHING)
    return Spent(_divergence(pair, epsilon), words, float(np.log(p[common] / q[common]).max()))


def _divergence(pair: LawPair, epsilon: float) -> float:
    """Return the divergence without what rounding and vanishing probabilities add to it."""
    seen = (pair[0] > VANISHING) & (pair[1] > VANISHING)
    return laws.hockey_stick((pair[0][seen], pair[1][seen]), epsilon + ROUNDING)


def _words(summary: Summary) -> str:
    """Return a summary in words."""
    return f"floor {summary.floor} {dict(summary.counts)}"
