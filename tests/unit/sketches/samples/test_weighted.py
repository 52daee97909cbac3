"""Threshold samples of counts: estimates, merging, files, and what of them can be sanitised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import DataError, HushcountError, NotProvedError, ParameterError
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import USER
from hushcount.shapes import Histogram
from hushcount.sketches.kinds import load
from hushcount.sketches.samples.weighted import WeightedSample, coordinated_sample, fresh_sample


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
    assert str(error.value) == "samples must have the same scheme, seed and unit to be merged."


def weighted(**given):
    return WeightedSample(**{"keys": ["a", "b"], "counts": [50, 3], "scheme": Pps(0.1)} | given)


@pytest.mark.parametrize("scheme", [Pps(0.1), Ppswor(0.3, 1.5), SamplingTable([0.1, 0.2])])
def test_a_file_keeps_everything(tmp_path, scheme):
    sample = weighted(scheme=scheme, unit=replace(USER, rows=3))
    sample.save(tmp_path / "s.hc")
    again = load(tmp_path / "s.hc")
    assert isinstance(again, WeightedSample)
    assert (again.keys, again.counts.tolist(), again.scheme) == (sample.keys, [50, 3], scheme)
    assert (again.id, again.seed, again.unit, again.unit.rows) == (sample.id, None, USER, 3)
    assert again.public() == sample.public()
    empty = load(weighted(keys=[], counts=[]).to_bytes())
    assert (len(empty), empty.total) == (0, 0)


def test_a_sample_is_taken_once_also_from_its_file():
    sample = weighted()
    sample.shape().take()
    for used in (sample, load(sample.to_bytes())):
        with pytest.raises(NotProvedError) as error:
            used.shape()
        assert str(error.value) == (
            "This sample was sanitised before, and a second time is not proved: both would rest on the same"
            " draw; draw another sample, or keep the first release."
        )


def test_a_dry_run_takes_nothing():
    sample = weighted(keys=["a", "b"], counts=[5000, 3000])
    hc.release(sample, epsilon=1.0, delta=1e-6, dry_run=True)
    assert len(hc.release(sample, epsilon=1.0, delta=1e-6)) == 2


def test_a_known_seed_is_refused():
    with pytest.raises(NotProvedError) as error:
        hc.release(weighted(seed=3), epsilon=1.0, delta=1e-6)
    assert str(error.value) == (
        "A coordinated sample has a known seed, which reveals counts; draw a fresh sample of the exact"
        ' counts, or release them with mechanism="truncated-geometric" and sample that.'
    )


REAL = (
    "counts must be whole numbers of events, at least 1: real weights are not counts, and what one event"
    " changes of them is not bounded by 1."
)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"counts": [1.5, 2.0]}, REAL),
        ({"counts": [0, 1]}, REAL),
        ({"counts": [True, True]}, REAL),
        ({"counts": [5]}, "keys and counts must have the same length."),
        (
            {"keys": ["a", "a"]},
            "A key stands twice in the sample; a sample has each key once, with its whole count.",
        ),
        (
            {"scheme": "pps"},
            "scheme must be a sampling scheme: hc.Pps, hc.Ppswor or hc.SamplingTable, got str.",
        ),
        ({"scheme": SamplingTable([0, 0, 0])}, "The sample holds a count that its scheme never samples."),
    ],
)
def test_bad_samples_are_refused_in_one_sentence(given, text):
    with pytest.raises(HushcountError) as error:
        weighted(**given)
    assert str(error.value) == text


def test_other_refusals():
    with pytest.raises(ParameterError) as error:
        weighted().update(["c"])
    assert str(error.value) == "A sample takes no more keys; count all data, and sample the counts."
    with pytest.raises(ParameterError) as error:
        WeightedSample.of(hc.SpaceSaving(counters=8), Pps(0.1))
    assert str(error.value) == "A sample is drawn from exact counts, got SpaceSaving."
    with pytest.raises(NotProvedError) as error:
        weighted().merge(hc.Exact())
    assert str(error.value) == "samples merge with samples only, got Exact."
