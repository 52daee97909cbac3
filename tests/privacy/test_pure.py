"""The pure releases: their laws over a small domain enumerated, and the sketch's part in them.

That neighbouring y differ by at most 2k - 1 (or 1) in l1 is checked over all short streams in test_merged.py.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests import reference
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.audit.moved import largest_of
from hushcount.errors import ParameterError
from hushcount.jobs.release import release
from hushcount.keys.domains import IntegerRange, KnownKeys
from hushcount.mechanisms.histograms.pure import BoundedPureRelease, PureRelease, largest, reduced
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public


def test_the_reduction_equals_the_oracle():
    generator = np.random.default_rng(2)
    for counters in (2, 3, 5):
        for _ in range(30):
            stream = (generator.zipf(1.5, 60) % 9).tolist()
            sketch = hc.MisraGries(counters=counters)
            sketch.update(stream)
            shape = sketch.shape()
            heights = dict(zip(shape.keys.to_pylist(), (shape.counts - shape.floor).tolist(), strict=True))
            found = dict(zip(shape.keys.to_pylist(), reduced(shape).tolist(), strict=True))
            assert {key: y for key, y in found.items() if y} == reference.reduced(heights, counters)


def test_the_noise_is_scaled_to_the_sensitivity():
    public = Public(candidates=5, parts=6, max_events=100, domain=IntegerRange(0, 9))
    assert float(PureRelease(Budget.pure(1.8), public).noise.epsilon) == pytest.approx(1.8 / 9)
    assert BoundedPureRelease(Budget.pure(1.8), public).noise.epsilon == 1.8


@pytest.mark.parametrize("y", [(0, 0, 0), (2, 0, 0), (3, 2, 1)])
def test_what_is_published_has_the_law_of_noise_on_every_key(y):
    """The largest of a domain of three, against the sum over all noise."""
    epsilon = 1.0
    domain, bits = KnownKeys.of(["a", "b", "c"]), SeededBits(sum(y))
    counted = pa.array(["a", "b", "c"]), np.array(y)
    size, observed = 4000, {}
    for _ in range(size):
        places, noisy = largest(domain, counted, DiscreteLaplace(epsilon).exact_epsilon, 1, bits)
        case = int(places[0]), int(noisy[0])
        observed[case] = observed.get(case, 0) + 1

    def accepts(law: dict[tuple[int, int], float]) -> bool:
        cells = [case for case, p in law.items() if p * size >= 10]
        counts = [observed.get(case, 0) for case in cells]
        means = [law[case] * size for case in cells]
        rest = size - sum(means)
        return stats.chisquare([*counts, size - sum(counts)], [*means, rest]).pvalue > 1e-9

    assert accepts(largest_of(y, DiscreteLaplace(epsilon)))
    assert not accepts(largest_of(y, DiscreteLaplace(0.8)))
    assert not accepts(largest_of(y, DiscreteLaplace(1.25)))


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_neighbouring_laws_are_within_exp_epsilon(epsilon):
    """k = 1: y of (a) is 1, of (a, a) is 2, of nothing 0; sensitivity 2k - 1 = 1."""
    laws = [largest_of((y, 0, 0), DiscreteLaplace(epsilon)) for y in (0, 1, 2)]
    for one, other in ((0, 1), (1, 0), (1, 2), (2, 1)):
        for case, p in laws[one].items():
            if p > 1e-14:
                assert p <= math.exp(epsilon) * laws[other][case] * (1 + 1e-9)
    worst = max(laws[1][case] / laws[0][case] for case in laws[0] if laws[0][case] > 1e-14)
    assert worst > math.exp(0.9 * epsilon)
    doubled = largest_of((2, 0, 0), DiscreteLaplace(epsilon))
    assert max(doubled[case] / laws[0][case] for case in laws[0] if laws[0][case] > 1e-14) > math.exp(
        1.5 * epsilon
    )


def test_ties_go_to_any_key_of_the_level_seen_or_not():
    """A noise that is almost always 0: of 40 keys with y = 1 or 0, three of four places tie at 0."""
    domain, bits = IntegerRange(1, 40), SeededBits(9)
    counted = pa.array([5]), np.array([1])
    chosen = np.zeros(41, int)
    for _ in range(1500):
        places, _ = largest(domain, counted, DiscreteLaplace(18.0).exact_epsilon, 4, bits)
        chosen[places.astype(int) + 1] += 1
    assert chosen[5] == 1500
    rest = np.delete(chosen, [0, 5])
    assert stats.chisquare(rest).pvalue > 1e-9


def test_ties_in_a_domain_too_large_to_list():
    """2^64 keys, noise almost always 0: three rows are any keys, all different."""
    domain, bits = IntegerRange(0, (1 << 64) - 1), SeededBits(10)
    counted = pa.array([5]), np.array([1])
    heads = np.zeros(8, int)
    for _ in range(400):
        places, noisy = largest(domain, counted, DiscreteLaplace(45.0).exact_epsilon, 4, bits)
        assert len(set(places.tolist())) == 4
        rest = places[places != 5]
        heads += np.bincount((rest >> np.uint64(61)).astype(int), minlength=8)
        assert noisy.min() >= 0
    assert stats.chisquare(heads).pvalue > 1e-9


def sketch_of(keys, counters=8):
    sketch = hc.SpaceSaving(counters=counters)
    sketch.update(keys)
    return sketch


def test_keys_outside_the_domain_are_dropped_without_a_word():
    sketch = sketch_of([1] * 500 + [2] * 400 + [77] * 900)
    result = release(sketch, epsilon=1.0, delta=0, domain="0..9")
    assert set(result.keys["key"].to_pylist()) <= set(range(10))
    assert 1 in result.keys["key"].to_pylist()
    text = sketch_of(["a"] * 300 + ["secret"] * 300)
    named = release(text, epsilon=1.0, delta=0, domain=["a", "b"])
    assert named.keys["key"].to_pylist()[0] == "a"
    assert "secret" not in named.to_json()


def test_the_heavy_keys_of_a_domain_of_2_to_the_64():
    keys = np.random.default_rng(3).zipf(1.3, 50_000) % 1000
    result = release(sketch_of(keys, 65), epsilon=1.0, delta=0, domain="0..18446744073709551615")
    assert result.keys.schema.field("key").type == pa.uint64()
    assert result.keys["key"].to_pylist()[:3] == [1, 2, 3]
    assert len(result) == 64
    true = np.bincount(keys)
    below = result.accuracy(1 - 1e-6).simultaneous_below
    for key, count in zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True):
        assert count - below <= (true[key] if key < len(true) else 0)
    assert result.accuracy().above is None


def test_a_public_length_halves_the_noise_and_closes_the_interval():
    keys = np.repeat(np.arange(6), 2000)
    options = {"epsilon": 1.0, "delta": 0, "domain": range(100)}
    bounded = release(sketch_of(keys), max_events=16_000, **options)
    plain = release(sketch_of(keys), max_events=16_000, mechanism="pure", **options)
    assert bounded.guarantee.parameters["max_events"] == 16_000
    assert bounded.accuracy().below < plain.accuracy().below
    for result in (bounded, plain):
        below, above = result.error.interval(1 - 1e-9)
        head = dict(zip(result.keys["key"].to_pylist(), result.counts.to_pylist(), strict=True))
        for key in range(6):
            assert head.get(key, 0) - below <= 2000 <= head.get(key, 0) + above


def test_an_empty_sketch_publishes_noise_only():
    result = release(hc.SpaceSaving(counters=8), epsilon=1.0, delta=0, domain="0..999999")
    assert result.counts.to_pylist() == sorted(result.counts.to_pylist(), reverse=True)
    assert len(result) == 7


def refused(**options):
    with pytest.raises(ParameterError) as error:
        release(sketch_of([1]), epsilon=1.0, **options)
    return str(error.value)


def test_a_domain_goes_with_delta_0_and_delta_0_with_a_domain():
    assert refused(delta=0) == "delta must be strictly between 0 and 1, got 0; or give a public domain."
    assert refused(delta=1e-6, domain="0..9") == "delta must be 0 with a public domain, got 1e-06."
    assert refused(delta=2, domain="0..9") == "delta must be strictly between 0 and 1, got 2."
    assert refused(delta=1e-6, mechanism="pure") == "pure needs domain, a public list of keys, got None."
    assert refused(delta=0, domain="0..9", mechanism="floor") == (
        "mechanism must be one of pure, pure-bounded with a domain, got floor."
    )
    assert refused(delta=0, domain="0..9", mechanism="pure-bounded") == (
        "pure-bounded needs max_events, a public bound, got None."
    )
    with pytest.raises(ParameterError, match=r"^pure needs domain, a public list of keys, got None\.$"):
        PureRelease(Budget.pure(1.0), Public(candidates=5))
