"""The release of reduced counts: all short streams, exact divergences, and the law of what is drawn."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests import reference
from tests.privacy.test_merged import misra_gries, neighbours, space_saving
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.audit.exact import both_ways, growth
from hushcount.mechanisms.histograms.reduced import ReducedRelease, first_of, nearest
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, unwarned
from hushcount.shapes import FloorCounters, Public, Shards

CASES = [(1, "abc", 6), (2, "abcd", 5), (3, "abcde", 5)]
SKETCHES = [misra_gries, space_saving]


def pairs(sketch, counters, alphabet, longest):
    """Reduced counts of all neighbouring short streams."""
    for sides in neighbours(sketch, alphabet, longest, counters):
        more, less = (reference.reduced(dict(side), counters) for side in sides)
        keys = sorted({*more, *less})
        yield [more.get(key, 0) for key in keys], [less.get(key, 0) for key in keys]


@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize(("counters", "alphabet", "longest"), CASES)
def test_reduced_counts_rise_or_fall_by_at_most_k_in_all(sketch, counters, alphabet, longest):
    """Lemma 1: in either direction by k, in both together by 2k - 1; all three are reached."""
    steps = [np.subtract(*pair) for pair in pairs(sketch, counters, alphabet, longest)]
    assert max(step[step > 0].sum() for step in steps) == counters
    assert max(-step[step < 0].sum() for step in steps) == counters
    assert max(abs(step).sum() for step in steps) == 2 * counters - 1


def law_of(own, y):
    """What is published of one key, by the definition of the mechanism; the last values are one output."""
    share, raised, first = Fraction(min(y, own.level), own.level), max(y, own.level), own.least_noisy
    last = first + 40
    masses = {v: Fraction(float(own.noise.pmf(v - raised))) * share for v in range(first, last)}
    masses["more"] = Fraction(float(own.noise.tail(last - raised))) * share
    return masses | {None: 1 - sum(masses.values())}


def together(own, sums):
    """The law of all keys: outputs whose sums do not differ need not be told apart."""
    found = {(): Fraction(1)}
    for law in (law_of(own, y) for y in sums):
        found = {(*before, out): p * q for before, p in found.items() for out, q in law.items()}
    return found


@pytest.mark.parametrize("sketch", SKETCHES)
@pytest.mark.parametrize("budget", [(1.0, 0.02), (3.0, 0.001), (0.05, 0.2)], ids=str)
@pytest.mark.parametrize("beside", [0, 1, 5])
def test_no_pair_of_short_streams_spends_more(sketch, budget, beside):
    """One of two sketches of two counters changes; the other adds something to the first key."""
    epsilon, delta = budget
    own = ReducedRelease(unwarned(epsilon, delta), Public(candidates=2))
    ratio = growth(Fraction(epsilon) * (1 + Fraction(1, 10**9)))
    worst, seen = Fraction(0), set()
    for more, less in pairs(sketch, 2, "abcd", 5):
        sides = [[y + beside * (not place) for place, y in enumerate(side)] for side in (more, less)]
        kept = tuple(sorted((a, b) for a, b in zip(*sides, strict=True) if a != b))
        if kept and kept not in seen and len(kept) <= 2:
            seen.add(kept)
            p, q = (together(own, [pair[side] for pair in kept]) for side in (0, 1))
            worst = max(worst, both_ways(p, q, ratio))
    assert len(seen) >= 5
    assert worst <= delta * (1 + 1e-9)
    single = float(own.noise.tail(own.least_noisy - own.level))
    if not beside:
        assert worst >= single * (1 - 1e-9)  # a key that occurs once


def test_a_key_that_occurs_once_is_published_with_at_most_delta():
    for candidates, epsilon, delta in product((1, 2, 64, 10_000), (0.1, 1.0, 4.0), (1e-3, 1e-6, 1e-10)):
        own = ReducedRelease(Budget(epsilon, delta), Public(candidates=candidates))
        shown = float(own.noise.tail(own.least_noisy - candidates))
        assert shown <= delta
        one_lower = first_of(own.threshold - 1, own.units)
        assert float(own.noise.tail(one_lower - candidates)) > delta


def test_the_threshold_is_below_that_of_the_paper():
    """4 + 2 ln(1/delta) / epsilon is 31.6."""
    assert [ReducedRelease(Budget(1.0, 1e-6), Public(candidates=k)).threshold for k in (2, 64, 4096)] == [
        15,
        28,
        28,
    ]


def test_rounding_to_counts():
    values = np.arange(0, 400)
    for units in (2, 5, 8):
        counts = nearest(values, units)
        assert abs(counts * units - values).max() <= units / 2
        firsts = [values[counts == count][0] for count in range(1, 20)]
        assert firsts == [first_of(count, units) for count in range(1, 20)]


def accepts(drawn, law, values):
    """Whether what was drawn has this noise above each level."""
    tails = np.asarray(law.tail(values))
    expected = np.array([1 - tails[0], *(-np.diff(tails)), tails[-1]])
    seen = np.bincount(np.searchsorted(values, drawn, side="right"), minlength=len(expected))
    return stats.chisquare(seen, expected * len(drawn)).pvalue > 1e-9


def test_what_is_drawn_has_the_law_of_rounding_and_noise():
    own = ReducedRelease(Budget(1.0, 1e-6), Public(candidates=9))
    size = 40_000
    rounded = own.rounded(np.repeat([0, 2, 8, 9, 30], size), SeededBits(1)).reshape(5, size)
    for row, share in zip(rounded[:3], (0.0, 2 / 9, 8 / 9), strict=True):
        assert set(row.tolist()) <= {0, 9}
        assert stats.binomtest(int((row == 9).sum()), size, share).pvalue > 1e-9
    assert rounded[3:].tolist() == [[9] * size, [30] * size]
    heights = np.full(200, 1000)  # y = 1000 (k + 1) - 200,000
    part = FloorCounters(pa.array(np.arange(200)), heights, 0, 10_000, 10_001)
    wide = ReducedRelease(Budget(1.0, 1e-6), Public(candidates=10_000))
    bits, y = SeededBits(2), 1000 * 10_001 - 200_000
    counts = np.concatenate([wide.release(part, bits).counts.to_numpy() for _ in range(100)])
    values = np.arange(972, 990)
    least = np.array([first_of(int(value), 10_001) - y for value in values])
    scale = {one: DiscreteLaplace(1.0 / 19_999 / one) for one in (0.9, 1.0, 1.1)}
    found = np.array([first_of(int(count), 10_001) - y for count in counts])
    assert [accepts(found, law, least) for law in scale.values()] == [False, True, False]


@pytest.mark.parametrize("kind", [hc.MisraGries, hc.SpaceSaving])
def test_the_sums_equal_the_oracle(kind):
    generator = np.random.default_rng(4)
    for counters in (2, 3, 5):
        own = ReducedRelease(Budget(1.0, 1e-6), Public(candidates=counters))
        parts, expected = [], {}
        for _ in range(3):
            stream = (generator.zipf(1.5, 60) % 9).tolist()
            sketch = kind(counters=counters + (kind is hc.SpaceSaving))
            sketch.update(stream)
            parts.append(sketch.shape())
            heights = (misra_gries if kind is hc.MisraGries else space_saving)(stream, counters)
            for key, y in reference.reduced(heights, counters).items():
                expected[key] = expected.get(key, 0) + y
        keys, sums = own.sums(Shards(tuple(parts)).parts)
        found = dict(zip(keys.to_pylist(), sums.tolist(), strict=True))
        assert {key: y for key, y in found.items() if y} == {key: y for key, y in expected.items() if y}
