"""Non-private samplers: threshold samples of counts, bottom-k of events."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import DataError, ParameterError
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.shapes import Histogram
from hushcount.sketches.samples import BottomK, coordinated_sample, fresh_sample


def histogram(counts: dict[str, int]) -> Histogram:
    return Histogram(pa.array(list(counts), pa.string()), np.array(list(counts.values()), dtype=np.int64))


def zipf(keys: int, seed: int = 0) -> dict[str, int]:
    generator = np.random.default_rng(seed)
    return {f"k{i}": int(1 + generator.integers(0, 5) + 5000 / (i + 1)) for i in range(keys)}


def test_one_seed_picks_alike_in_different_data():
    counts = zipf(2000)
    more = {key: count + 1 for key, count in counts.items()}
    one = coordinated_sample(histogram(counts), Pps(0.01), seed=1)
    two = coordinated_sample(histogram(more), Pps(0.01), seed=1)
    other = coordinated_sample(histogram(counts), Pps(0.01), seed=2)
    picked = [set(sample.keys.to_pylist()) for sample in (one, two, other)]
    assert picked[0] <= picked[1]
    assert picked[0] != picked[2]
    assert len(one) == len(picked[0])


@pytest.mark.parametrize("scheme", [Pps(0.01), Ppswor(0.01), Pps(0.05, 0.5), Ppswor(0.2, 0)])
def test_sums_are_estimated_without_bias(scheme):
    counts = zipf(3000)
    total = sum(counts.values())
    shape = histogram(counts)
    draws = [fresh_sample(shape, scheme, SeededBits(seed)).sum() for seed in range(30)]
    values = np.array([draw.value for draw in draws])
    spread = np.sqrt(np.mean([draw.variance for draw in draws]))
    assert abs(values.mean() - total) < 6 * spread / np.sqrt(30)
    assert 0.5 * spread < values.std() < 2 * spread


def test_a_predicate_and_a_function_of_the_count():
    counts = {"a": 100, "b": 100, "c": 3}
    sample = coordinated_sample(histogram(counts), Pps(1.0), seed=1)
    assert sample.sum().value == 203
    assert sample.sum(lambda key: key != "a").value == 103
    assert sample.sum(g=lambda w: w**2).value == 20009
    assert sample.sum().variance == 0


def test_parts_without_common_keys_merge():
    counts = zipf(500)
    names = list(counts)
    parts = [histogram({key: counts[key] for key in names[a:b]}) for a, b in ((0, 200), (200, 500))]
    merged = coordinated_sample(parts[0], Pps(0.02), 3).merge(coordinated_sample(parts[1], Pps(0.02), 3))
    whole = coordinated_sample(histogram(counts), Pps(0.02), 3)
    assert sorted(merged.keys.to_pylist()) == sorted(whole.keys.to_pylist())
    with pytest.raises(DataError) as error:
        whole.merge(whole)
    assert str(error.value) == "samples must share no key to be merged; use BottomK, which merges events."
    with pytest.raises(ParameterError) as error:
        whole.merge(coordinated_sample(parts[0], Pps(0.02), 4))
    assert str(error.value) == "samples must have the same scheme and seed to be merged."


def events(seed: int, size: int = 20_000) -> np.ndarray:
    return np.minimum(np.random.default_rng(seed).zipf(1.3, size), 5000)


def test_bottom_k_of_distinct_keys_has_exact_counts_however_it_is_fed():
    stream = events(1)
    sketch, halves = BottomK(100, 0), [BottomK(100, 0), BottomK(100, 0)]
    for batch in np.array_split(stream, 7):
        sketch.update(batch)
    for half, part in zip(halves, (stream[:6000], stream[6000:]), strict=True):
        half.update(part)
    truth = Counter(stream.tolist())
    assert [truth[key] for key in sketch.keys] == sketch.counts.tolist()
    merged = halves[0].merge(halves[1])
    assert merged.keys == sketch.keys
    assert merged.counts.tolist() == sketch.counts.tolist()
    assert 100 / sketch.threshold == pytest.approx(len(truth), rel=0.5)


def test_bottom_k_by_count_estimates_the_total():
    estimates = []
    for seed in range(20):
        stream = events(seed)
        truth = Counter(stream.tolist())
        halves = [BottomK(200, 1, bits=SeededBits(seed)), BottomK(200, 1, bits=SeededBits(1000 + seed))]
        for half, part in zip(halves, np.array_split(stream, 2), strict=True):
            for batch in np.array_split(part, 3):
                half.update(batch)
        sketch = halves[0].merge(halves[1])
        assert all(seen <= truth[key] for key, seen in zip(sketch.keys, sketch.counts.tolist(), strict=True))
        estimates.append(sketch.sum([truth[key] for key in sketch.keys]))
    spread = np.sqrt(np.mean([estimate.variance for estimate in estimates]) / 20)
    assert abs(np.mean([estimate.value for estimate in estimates]) - 20_000) < 6 * spread
    assert spread < 1000


def test_a_small_stream_is_kept_whole():
    sketch = BottomK(10, 1)
    sketch.update(["a", "b", "a"])
    assert sorted(zip(sketch.keys, sketch.counts.tolist(), strict=True)) == [("a", 2), ("b", 1)]
    assert sketch.threshold == np.inf
    assert sketch.sum(sketch.counts).value == 3


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ParameterError) as error:
        BottomK(10, 2)
    assert str(error.value) == "power must be 0 or 1 to sample raw events, got 2; aggregate first."
    with pytest.raises(ParameterError) as error:
        BottomK(0, 1)
    assert str(error.value) == "size must be at least 1, got 0."
    with pytest.raises(ParameterError) as error:
        BottomK(10, 1).merge(BottomK(11, 1))
    assert str(error.value) == "bottom-k sketches must have the same size, power and seed to be merged."
