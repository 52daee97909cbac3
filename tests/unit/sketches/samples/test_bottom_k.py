"""Bottom-k samples of events."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import HushcountError, NotProvedError
from hushcount.sketches.kinds import load
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


@pytest.mark.parametrize("power", [0.5, 1.5, 2.0])
def test_any_other_power_keeps_all_counts_and_estimates_their_total(power):
    estimates = []
    for seed in range(20):
        stream = events(seed)
        truth = Counter(stream.tolist())
        halves = [BottomK(200, power, seed=seed) for _ in range(2)]
        for half, part in zip(halves, np.array_split(stream, 2), strict=True):
            half.update(part)
        whole = BottomK(200, power, seed=seed)
        whole.update(stream)
        sketch = halves[0].merge(halves[1])
        assert sketch.keys == whole.keys
        assert [truth[key] for key in sketch.keys] == sketch.counts.tolist()
        estimates.append(sketch.sum())
    spread = np.sqrt(np.mean([estimate.variance for estimate in estimates]) / 20)
    assert abs(np.mean([estimate.value for estimate in estimates]) - 20_000) < 6 * spread


@pytest.mark.parametrize("power", [0, 1, 1.5])
def test_a_file_keeps_everything(tmp_path, power):
    sketch = BottomK(50, power, seed=3)
    sketch.update(events(2))
    sketch.save(tmp_path / "k.hc")
    again = hc.load(tmp_path / "k.hc")
    assert isinstance(again, BottomK)
    assert (again.keys, again.counts.tolist()) == (sketch.keys, sketch.counts.tolist())
    assert (again.threshold, again.total, again.id) == (sketch.threshold, 20_000, sketch.id)
    assert load(BottomK(5).to_bytes()).keys == []


def test_nothing_releases_it():
    sketch = hc.BottomK(10)
    sketch.update(["a", "b", "a"])
    reason = (
        "their threshold depends on the data, so that one event changes what is said of all keys; draw a"
        " sample with hc.sample, whose rate is public."
    )
    with pytest.raises(NotProvedError) as error:
        hc.release(sketch, epsilon=1.0, delta=1e-6)
    assert str(error.value) == f"No mechanism is the default for bottom-k samples; {reason}"
    with pytest.raises(NotProvedError) as error:
        hc.sample(sketch, rate=0.1, epsilon=1.0, delta=1e-6)
    assert str(error.value) == f"sample is proved for exact counts, not for bottom-k samples; {reason}"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: BottomK(10, 2.5), "power must lie between 0 and 2, got 2.5."),
        (lambda: BottomK(0, 1), "size must be at least 1, got 0."),
        (
            lambda: BottomK(10, 1).merge(BottomK(11, 1)),
            "bottom-k sketches must have the same size, power and seed to be merged.",
        ),
        (
            lambda: BottomK(10).merge(hc.Exact()),
            "bottom-k samples merge with each other only, got Exact.",
        ),
        (
            lambda: _full().sum(),
            "counts must be given for power 1, which keeps lower bounds: the true ones of the keys.",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, text):
    with pytest.raises(HushcountError) as error:
        call()
    assert str(error.value) == text


def _full():
    sketch = BottomK(2, 1)
    sketch.update(["a", "b", "c", "d"])
    return sketch
