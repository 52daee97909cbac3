"""The pure release of several sketches: all short streams of two sketches, its laws, and its twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests import reference
from tests.privacy.test_merged import distance, frozen, misra_gries, neighbours, space_saving, streams
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.audit.moved import two_largest_of
from hushcount.jobs.release import release
from hushcount.keys.domains import KnownKeys
from hushcount.mechanisms.histograms.pure_shards import PureShards
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import FloorCounters, Public, Shards
from hushcount.sketches.merged import shards_of

CASES = [(1, "abc", 5), (2, "abcd", 5), (3, "abcde", 4)]
DOMAIN = KnownKeys.of(["a", "b", "c"])


def added(one, other):
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def each_reduced(one, other, counters):
    """What is released: each sketch is reduced, then they are summed."""
    return added(reference.reduced(one, counters), reference.reduced(other, counters))


def sum_reduced(one, other, counters):
    """A twin: the raw counters are summed, and the sum is reduced."""
    return reference.reduced(added(one, other), counters)


def merged_reduced(one, other, counters):
    """A twin: the merged sketch is reduced."""
    return reference.reduced(reference.merged(one, other, counters), counters)


def worst(combined, sketch, counters, alphabet, longest):
    """The largest change of what is released, over all short streams of both sketches."""
    pairs = neighbours(sketch, alphabet, longest, counters)
    others = {frozen(sketch(stream, counters)) for stream in streams(alphabet, longest)}
    found = 0
    for (more, less), other in product(pairs, others):
        sides = (combined(dict(side), dict(other), counters) for side in (more, less))
        found = max(found, distance(*sides))
    return found


@pytest.mark.parametrize("sketch", [misra_gries, space_saving])
@pytest.mark.parametrize(("counters", "alphabet", "longest"), CASES)
def test_the_sum_has_the_sensitivity_of_one_sketch(sketch, counters, alphabet, longest):
    assert worst(each_reduced, sketch, counters, alphabet, longest) == 2 * counters - 1


@pytest.mark.parametrize(("counters", "alphabet", "longest"), CASES[1:])
def test_raw_counters_summed_before_the_reduction_change_by_more(counters, alphabet, longest):
    """k = 2: by 4 where the noise is for 3, so a third more than epsilon is spent."""
    assert worst(sum_reduced, misra_gries, counters, alphabet, longest) == 2 * counters


def test_a_merged_sketch_that_is_reduced_changes_by_more():
    """k = 3: one event lowers two of three merged counts; by 6 where the noise is for 5."""
    stream, other = tuple("aaaaabbbbbg"), misra_gries(tuple("cccccd"), 3)
    less, more = (misra_gries(one, 3) for one in (stream, (*stream, "h")))
    merged = [reference.merged(side, other, 3) for side in (less, more)]
    assert merged == [{"a": 4, "b": 4, "c": 4}, {"a": 3, "b": 3, "c": 4}]
    assert distance(*(merged_reduced(side, other, 3) for side in (less, more))) == 6
    assert distance(*(each_reduced(side, other, 3) for side in (less, more))) <= 5


def sketch_of(keys, counters, kind=hc.MisraGries):
    sketch = kind(counters=counters)
    sketch.update(list(keys))
    return sketch


def mechanism(epsilon, counters, **public):
    return PureShards(Budget.pure(epsilon), Public(candidates=counters, domain=DOMAIN, **public))


def vector(shape, own):
    keys, sums = own.lower_estimates(shape)
    found = dict(zip(keys.to_pylist(), sums.tolist(), strict=True))
    return tuple(found.get(key, 0) for key in "abc")


def test_neighbouring_laws_are_within_exp_epsilon_and_reach_it():
    """Two sketches of two counters over three keys: what is published, for every pair of short streams."""
    own = mechanism(3.0, 2)
    typed = {one: shards_of([sketch_of("a", 2), sketch_of(one, 2)]).parts[1] for one in streams("abc", 4)}
    others = [typed[stream] for stream in [(), ("a",), ("b", "b"), ("c", "c", "a")]]
    pairs = set()
    for stream, other in product(typed, others):
        for place in range(len(stream)):
            both = stream, stream[:place] + stream[place + 1 :]
            pairs.add(tuple(vector(Shards((typed[side], other)), own) for side in both))
    pairs = {pair for pair in pairs if pair[0] != pair[1]}
    assert len(pairs) > 30
    laws = {y: two_largest_of(y, own.noise) for pair in pairs for y in pair}
    spent = []
    for one, other in pairs:
        p, q = laws[one], laws[other]
        seen = (p > 1e-14) & (q > 1e-14)
        spent.append(np.abs(np.log(p[seen] / q[seen])).max())
    assert 3.0 * (1 - 1e-6) <= max(spent) <= 3.0 * (1 + 1e-6)


@pytest.mark.parametrize("kind", [hc.MisraGries, hc.SpaceSaving])
def test_the_sums_equal_the_oracle(kind):
    generator = np.random.default_rng(4)
    for counters in (2, 3, 5):
        own = mechanism(1.0, counters)
        parts = [(generator.zipf(1.5, 60) % 9).tolist() for _ in range(3)]
        size = counters + (kind is hc.SpaceSaving)
        keys, sums = own.lower_estimates(shards_of([sketch_of(part, size, kind) for part in parts]))
        expected = {}
        for part in parts:
            heights = (misra_gries if kind is hc.MisraGries else space_saving)(part, counters)
            expected = added(expected, reference.reduced(heights, counters))
        found = dict(zip(keys.to_pylist(), sums.tolist(), strict=True))
        assert {key: y for key, y in found.items() if y} == {key: y for key, y in expected.items() if y}


def test_the_noise_is_that_of_one_sketch():
    assert mechanism(1.75, 4).noise.exact_epsilon == Fraction(7, 4) / 7


def test_what_is_published_has_the_law_of_that_noise():
    """200 keys with the same sum: all are published, each with noise of its own."""
    size, height, runs = 200, 100 * 201, 100
    domain = KnownKeys.of([f"k{number:03}" for number in range(size)])
    heights = np.full(size, height)
    part = FloorCounters(domain.keys(np.arange(size, dtype=np.uint64)), heights, 0, size, size + 1)
    own = PureShards(Budget.pure(1.0), Public(candidates=size, domain=domain))
    bits, counts = SeededBits(6), []
    for _ in range(runs):
        counts += own.release(Shards((part, part)), bits).counts.to_pylist()
    assert len(counts) == runs * size
    values = np.arange(190, 211)

    def accepts(scale: float) -> bool:
        law = DiscreteLaplace(1.0 / (2 * size - 1) / scale)
        least = (size + 1) * values - (size + 1) // 2 - 2 * height  # noise that is rounded to at least this
        tails = np.asarray(law.tail(least))
        law_of = [1 - tails[0], *(-np.diff(tails)), tails[-1]]
        seen = np.bincount(np.searchsorted(values, counts, side="right"), minlength=len(law_of))
        return stats.chisquare(seen, np.array(law_of) * len(counts)).pvalue > 1e-9

    assert accepts(1.0)
    assert not accepts(0.9)
    assert not accepts(1.1)


def test_intervals_hold_for_sums():
    """The lower ends for every key of the domain; with max_events the upper ones too."""
    generator = np.random.default_rng(5)
    parts = [generator.zipf(1.3, 20_000) % 300 for _ in range(3)]
    sketches = [sketch_of(part.tolist(), 33, hc.SpaceSaving) for part in parts]
    made = release(sketches, epsilon=1.0, delta=0, domain="0..9999", max_events=60_000)
    below, above = made.error.bounds(1e-9, 10_000)
    true = np.bincount(np.concatenate(parts), minlength=10_000)
    assert above < 60_000 // 33 + 3 * below
    for key, count in zip(made.keys["key"].to_pylist(), made.counts.to_pylist(), strict=True):
        assert count - below <= true[key] <= count + above
    assert made.keys["key"].to_pylist()[:2] == [1, 2]


def test_keys_outside_the_domain_are_dropped_without_a_word():
    parts = [sketch_of(["a"] * 300 + ["secret"] * 300, 4), sketch_of(["a"] * 300, 4)]
    made = release(parts, epsilon=1.0, delta=0, domain=["a", "b"])
    assert made.keys["key"].to_pylist()[0] == "a"
    assert "secret" not in made.to_json()
    assert made.guarantee.parameters["shards"] == 2
    empty = release([hc.MisraGries(counters=4), *parts[1:]], epsilon=1.0, delta=0, domain=["a"])
    assert empty.keys["key"].type == pa.string()
