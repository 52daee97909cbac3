"""Sketches in several threads: each shard is the stream of its keys in order, whenever which thread runs."""

from __future__ import annotations

import copy

import numpy as np
import pyarrow as pa
import pytest
from tests.fuzz.forging import MISFIT, put_together, refusal, taken_apart

import hushcount as hc
from hushcount.errors import DataError, KeyTypeError, NotProvedError, ParameterError
from hushcount.shapes import KeyShards
from hushcount.sketches.dealt import key_shards
from hushcount.sketches.dealt.key_shards import KeyShardSketch
from hushcount.sketches.kinds import load
from hushcount.sketches.table import LARGEST_TOTAL

WORDS = np.random.default_rng(4).zipf(1.2, 60_000) % 5_000


def text(keys):
    return pa.array([f"key {key}" * (1 + key % 3) for key in keys.tolist()])


def filled(threads=3, counters=96, keys=WORDS):
    sketch = KeyShardSketch(counters, threads)
    sketch.update(keys)
    return sketch


def shard_of(sketch, keys):
    """The shard of each key, found by a sketch of the same hash that counts this key alone."""
    found = {}
    for key in dict.fromkeys(keys.tolist()):
        alone = load(KeyShardSketch(sketch.counters, sketch.threads).to_bytes())
        alone._deal_by(sketch._secret)
        alone.update(pa.array([key]))
        found[key] = [shard.total for shard in alone.shards].index(1)
    return np.array([found[key] for key in keys.tolist()])


@pytest.fixture(params=["words", "text"])
def keys(request, monkeypatch):
    monkeypatch.setattr(key_shards, "PIECE", 1000)  # several blocks, of several pieces
    monkeypatch.setattr(key_shards, "ALONE", 100)
    few = WORDS[:20_000] % 700
    return pa.array(few) if request.param == "words" else text(few)


@pytest.mark.parametrize("threads", [2, 3])
def test_each_shard_is_the_stream_of_its_keys(keys, threads):
    sketch = filled(threads, 40 * threads, keys)
    numpy_keys = keys.to_numpy(zero_copy_only=False)
    dealt = shard_of(sketch, numpy_keys)
    assert len(set(dealt.tolist())) == threads
    for index, shard in enumerate(sketch.shards):
        alone = hc.SpaceSaving(40)
        alone.update(keys.filter(pa.array(dealt == index)))
        one, other = shard.shape(), alone.shape()
        assert (one.keys, one.floor) == (other.keys, other.floor)
        assert one.counts.tolist() == other.counts.tolist()
    assert sketch.total == len(keys)
    assert sketch.error_bound == max(shard.error_bound for shard in sketch.shards) > 0


def test_batches_decide_nothing(keys):
    one = filled(2, 80, keys)
    other = KeyShardSketch(80, 2)
    other._deal_by(one._secret)
    for start in range(0, len(keys), 777):
        other.update(keys.slice(start, 777))
    for left, right in zip(one.shape().parts, other.shape().parts, strict=True):
        assert (left.keys, left.floor) == (right.keys, right.floor)
        assert left.counts.tolist() == right.counts.tolist()


def test_one_row_changes_one_shard_as_one_stream_does(keys):
    """What the proof says: one shard's stream is shorter by this row, and the others are the same."""
    whole = filled(3, 60, keys)
    for row in (0, 7, 4321, len(keys) - 1):
        less = KeyShardSketch(60, 3)
        less._deal_by(whole._secret)
        less.update(pa.concat_arrays([keys.slice(0, row), keys.slice(row + 1)]))
        pairs = list(zip(whole.shape().parts, less.shape().parts, strict=True))
        changed = [one for one, other in pairs if not same(one, other)]
        totals = [one.total - other.total for one, other in zip(whole.shards, less.shards, strict=True)]
        assert sorted(totals) == [0, 0, 1]
        assert len(changed) <= 1
        for one, other in pairs:
            counts, fewer = (
                dict(zip(p.keys.to_pylist(), p.counts.tolist(), strict=True)) for p in (one, other)
            )
            common = sum(abs(counts[key] - fewer[key]) for key in counts.keys() & fewer.keys())
            assert common + abs(one.floor - other.floor) <= 1
            assert max(len(counts.keys() - fewer.keys()), len(fewer.keys() - counts.keys())) <= 2


def same(one, other):
    return (
        one.keys == other.keys and one.floor == other.floor and one.counts.tolist() == other.counts.tolist()
    )


def test_public_numbers_are_the_same_before_and_after_counting():
    assert filled().public() == KeyShardSketch(96, 3).public() == filled().shape().public()
    assert filled().public().shape is KeyShards
    assert filled().counters == 96
    assert KeyShardSketch(100, 3).counters == 99


def test_estimates_and_single_keys():
    sketch = KeyShardSketch(8, 2)
    assert sketch.estimate(["a"]).tolist() == [0]
    for key in ["a", "b", "a", None]:
        sketch.add(key)
    assert sketch.estimate(["a", "b", "c"]).tolist() == [2, 1, 0]
    assert (sketch.total, sketch.error_bound, sketch.key_type) == (3, 0, pa.string())


@pytest.mark.parametrize("keys", [WORDS, text(WORDS[:3000]), [], ["alone"]])
def test_a_file_goes_on_where_it_stopped(keys):
    sketch = filled(keys=keys)
    again = load(sketch.to_bytes())
    assert again.to_bytes() == sketch.to_bytes()
    for each in (sketch, again, copy.deepcopy(sketch)):
        each.update(keys)
    assert again.to_bytes() == sketch.to_bytes()


def test_it_is_released_by_its_shards():
    release = hc.release(filled(), epsilon=1.0, delta=1e-6)
    assert release.guarantee.mechanism == "floor release of key shards"
    assert len(release.error.floors) == release.guarantee.parameters["shards"] == 3
    true = np.bincount(WORDS)
    table = release.at_confidence(1 - 1e-9).table.to_pylist()
    assert table
    assert all(row["lower"] <= true[row["key"]] <= row["upper"] for row in table)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ((96, 0), "threads must be at least 1, got 0."),
        ((96, 257), "threads must be at most 256, got 257."),
        ((5, 3), "counters must be at least 2 for each of 3 threads, got 5."),
    ],
)
def test_bad_sizes(asked, sentence):
    with pytest.raises(ParameterError) as caught:
        KeyShardSketch(*asked)
    assert str(caught.value) == sentence


def test_refusals():
    sketch = filled()
    with pytest.raises(NotProvedError):
        hc.SpaceSaving(4).merge(sketch)
    with pytest.raises(KeyTypeError):
        sketch.update(["text"])
    sketch._total = LARGEST_TOTAL
    with pytest.raises(DataError):
        sketch.update([1])


def forged(**fields):
    header, arrays = taken_apart(filled().to_bytes())
    return put_together({**header, "fields": {**header["fields"], **fields}}, arrays)


@pytest.mark.parametrize(
    "fields",
    [
        {"secret": "00"},
        {"secret": "00" * 16},
        {"threads": 2},
        {"total": 4},
        {"key_type": None},
        {"shards": []},
    ],
)
def test_files_that_describe_no_sketch(fields):
    assert refusal(forged(**fields)) == MISFIT


@pytest.mark.parametrize("counters", [30, 3000])
def test_rows_that_share_their_text_are_counted_as_the_rows_that_they_are(counters):
    sketch = KeyShardSketch(counters, 3)
    alone = load(sketch.to_bytes())
    draws = np.random.default_rng(8)
    for _ in range(5):
        names = text(draws.permutation(300))
        page = pa.DictionaryArray.from_arrays(pa.array(draws.zipf(1.3, 2000) % 300, pa.int32()), names)
        sketch.update(page)
        alone.update(page.dictionary_decode())
        for one, other in zip(sketch.shards, alone.shards, strict=True):
            entries, others = one.entries(), other.entries()
            assert one.key_array(entries).equals(other.key_array(others))
            assert entries.counts.tolist() == others.counts.tolist()
    assert sketch.total == alone.total == 10_000
    few = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["a", "b"]))
    sketch.update(few)
    assert sketch.total == 10_001
