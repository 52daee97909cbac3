"""Bottom-k samples of events."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.sketches.samples.bottom_k import BottomK


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
