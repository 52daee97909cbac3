"""The counter table under stress: crowded buckets, the clock's end, windows, equal hashes, the arena."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests import reference
from tests.property.streams import as_bytes, check_invariants, order_in, table_of

from hushcount.compiled._kernels.hashing import hash_bytes, same_bytes
from hushcount.keys.arrays import ByteKeys
from hushcount.sketches._kernels import arrays as words
from hushcount.sketches._kernels import restore
from hushcount.sketches._kernels import table as layout
from hushcount.sketches.counters import MisraGries, SpaceSaving
from hushcount.sketches.table import CounterTable, Rule

U = np.uint64
CROWDED = 100  # with spread 1 the table has its least number of places, 256


def crowded_table(rule: Rule, of_bytes: bool) -> CounterTable:
    """A table with few places and a fixed hash, so that the same paths are taken every time."""
    table = CounterTable(CROWDED, rule, of_bytes=of_bytes, spread=1)
    table.rewind(b"sixteen bytes ok", 0)
    return table


def byte_keys(keys: list[bytes]) -> ByteKeys:
    array = pa.array(keys, pa.large_binary())
    offsets = np.frombuffer(array.buffers()[1], np.int64)[: len(keys) + 1].astype(U)
    return ByteKeys(np.frombuffer(b"".join(keys) or b"\0", np.uint8), offsets)


def counted(table: CounterTable) -> list[tuple[Any, int]]:
    """Keys with counts in order of their last updates."""
    entries = table.entries()
    if isinstance(entries.keys, ByteKeys):
        data, offsets = entries.keys.data.tobytes(), entries.keys.offsets.tolist()
        keys: list[Any] = [data[a:b] for a, b in pairwise(offsets)]
    else:
        keys = entries.keys.tolist()
    return list(zip(keys, entries.counts.tolist(), strict=True))


def next_in_line(table: CounterTable) -> Any:
    pairs = counted(table)
    least = min(count for _, count in pairs)
    return [key for key, count in pairs if count == least][-1]


@pytest.mark.parametrize("of_bytes", [False, True])
def test_crowded_buckets_leave_holes_that_are_tidied_and_nothing_is_lost(of_bytes: bool) -> None:
    rng = np.random.default_rng(3)
    stream = np.where(rng.random(24000) < 0.4, rng.zipf(1.2, 24000) % 60, rng.integers(0, 5000, 24000))
    keys = as_bytes(stream) if of_bytes else stream.tolist()
    table = crowded_table(Rule.SPACE_SAVING, of_bytes)
    limit = table._arrays.rows.size >> 5
    holes = []
    for start in range(0, len(keys), 400):
        part = keys[start : start + 400]
        table.count(byte_keys(part) if of_bytes else np.array(part, U))
        check_invariants(table._arrays)
        holes.append(int(table._arrays.state[words.HOLES]))
    assert max(holes) > limit, "the stream never called for tidying"
    assert any(after < before for before, after in pairwise(holes))
    assert table._arrays.passed.any()
    assert_equals_reference(table, keys)


def assert_equals_reference(table: CounterTable, keys: list[Any]) -> None:
    counts, _, next_evicted = reference.space_saving(keys, table.counters)
    assert dict(counted(table)) == counts
    assert next_in_line(table) == next_evicted


def test_crowded_misra_gries() -> None:
    rng = np.random.default_rng(4)
    stream = (rng.zipf(1.2, 12000) % 3000).tolist()
    sketch = MisraGries(CROWDED)
    sketch._new_table = lambda of_bytes: crowded_table(Rule.MISRA_GRIES, of_bytes)
    sketch.update(stream)
    check_invariants(table_of(sketch))
    heights, decrements = reference.misra_gries(stream, CROWDED, order_in(sketch))
    assert dict(counted(sketch._table)) == {key: h + decrements for key, h in heights.items()}


@pytest.mark.parametrize("of_bytes", [False, True])
@pytest.mark.parametrize("rest", [0, 1, 100, 127, 128, 129, 300])
def test_the_clock_starts_again_without_changing_the_order(rest: int, of_bytes: bool) -> None:
    rng = np.random.default_rng(rest)
    stream = np.concatenate([np.repeat(np.arange(15), 90), rng.integers(0, 60, 1200)])
    keys = as_bytes(stream) if of_bytes else stream.tolist()
    table = CounterTable(20, Rule.SPACE_SAVING, of_bytes=of_bytes, spread=6)
    for start in range(0, len(keys), 30):
        if start == 1500:
            table._arrays.state[words.CLOCK] = words.LAST_TIME - U(rest)
        part = keys[start : start + 30]
        table.count(byte_keys(part) if of_bytes else np.array(part, U))
        last = {key: index for index, key in enumerate(keys[: start + 30])}
        times = [last[key] for key, _ in counted(table)]
        assert times == sorted(times)
    assert table._arrays.state[words.CLOCK] < 5000
    assert_equals_reference(table, keys)


def test_windows_are_opened_again_and_again() -> None:
    stream = list(range(5)) * 900 + list(range(100, 107)) * 700
    for sketch in (SpaceSaving(5), MisraGries(5)):
        sketch.update(stream)
        assert sketch.error_bound > 10 * int(words.WINDOW)
        shape = sketch.shape()
        got = dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))
        if isinstance(sketch, SpaceSaving):
            counts, _, next_evicted = reference.space_saving(stream, 5)
            assert got == reference.candidates(counts, next_evicted)
        else:
            heights, decrements = reference.misra_gries(stream, 5, order_in(sketch))
            assert got == {key: height + decrements for key, height in heights.items()}


def test_counts_far_above_the_window_are_kept() -> None:
    sketch = SpaceSaving(3)
    sketch.update(np.repeat(np.array([1, 2, 3, 4, 5]), [100_000, 50_000, 1, 1, 40]))
    assert sketch.estimate([1, 2, 5]).tolist() == [100_000, 50_000, 42]


def items_of(keys: list[bytes]) -> list[tuple[Any, Any, Any]]:
    batch = byte_keys(keys)
    return [
        (batch.data, batch.offsets[index], batch.offsets[index + 1] - batch.offsets[index])
        for index in range(len(keys))
    ]


EQUAL_HASH = U(0x0123456789ABCDEF)
COLLIDING = [b"", b"a", b"b", b"same length 1", b"same length 2", b"prefix..", b"prefix...", b"x" * 20, b"\0"]


def colliding_table(rule: Rule, count: int) -> CounterTable:
    table = CounterTable(len(COLLIDING), rule, of_bytes=True, spread=5)
    for item in items_of(COLLIDING):
        restore.insert(table._arrays, EQUAL_HASH, U(count), item)
    return table


def test_keys_with_equal_hashes_stay_apart() -> None:
    table = colliding_table(Rule.SPACE_SAVING, 3)
    bucket = U(layout.bucket_of(table._arrays, EQUAL_HASH))
    places = set()
    for find in (layout.search, layout.locate):
        for item in items_of(COLLIDING):
            place, found = find(table._arrays, EQUAL_HASH, bucket, item)
            assert found
            places.add(int(place))
        for item in items_of([b"c", b"same length 3", b"prefix.", b"x" * 21, b"\0\0"]):
            assert not find(table._arrays, EQUAL_HASH, bucket, item)[1]
    assert len(places) == len(COLLIDING)
    assert [key for key, _ in counted(table)] == COLLIDING
    check_invariants(table._arrays)


def test_equal_hashes_at_zero_give_way_in_the_order_of_their_bytes() -> None:
    table = colliding_table(Rule.MISRA_GRIES, 2)
    table._arrays.state[words.FLOOR] = 2
    restore.close_restore(table._arrays)
    stack = table._arrays.stacks[2, : table._arrays.tops[2]]
    top_first = [table_key(table, place) for place in stack[::-1].tolist()]
    assert top_first == sorted(COLLIDING)


def table_key(table: CounterTable, place: int) -> bytes:
    data, offsets = layout.gather_bytes(table._arrays, np.array([place], np.uint32))
    return bytes(data.tobytes()[: int(offsets[1])])


def test_the_hash_and_the_comparison_see_every_byte_and_the_length() -> None:
    rng = np.random.default_rng(5)
    for length in range(1, 70):
        data = rng.integers(0, 256, length + 9, dtype=np.uint8)
        shifted = np.concatenate([rng.integers(0, 256, 5, dtype=np.uint8), data])
        hashed = hash_bytes(data, U(0), U(length), U(11), U(13))
        assert hash_bytes(shifted, U(5), U(length), U(11), U(13)) == hashed
        assert hash_bytes(data, U(0), U(length + 1), U(11), U(13)) != hashed
        assert same_bytes(data, U(0), shifted, U(5), U(length))
        for index in range(length):
            other = data.copy()
            other[index] ^= 1 << int(rng.integers(8))
            assert hash_bytes(other, U(0), U(length), U(11), U(13)) != hashed
            assert not same_bytes(other, U(0), data, U(0), U(length))
        other = data.copy()
        other[length:] ^= 255
        assert hash_bytes(other, U(0), U(length), U(11), U(13)) == hashed
        assert same_bytes(other, U(0), data, U(0), U(length))


@pytest.mark.parametrize("rule", [Rule.SPACE_SAVING, Rule.EXACT])
def test_the_arena_is_compacted_and_grows(rule: Rule) -> None:
    rng = np.random.default_rng(6)
    lengths = rng.choice([0, 1, 15, 16, 17, 100, 5000, 10_000], 6000)
    values = rng.zipf(1.4, 6000) % 3000
    stream = [
        int(value).to_bytes(2, "big") * (int(length) // 2 + 1)
        for value, length in zip(values, lengths, strict=True)
    ]
    counters = 30 if rule is Rule.SPACE_SAVING else 6001
    table = CounterTable(counters, rule, of_bytes=True, spread=5)
    arenas = set()
    for start in range(0, len(stream), 500):
        table.count(byte_keys(stream[start : start + 500]))
        arenas.add(table._arrays.arena.ctypes.data)
    assert len(arenas) > 2
    assert int(table._arrays.state[words.TOP]) <= table._arrays.arena.size
    if rule is Rule.SPACE_SAVING:
        assert_equals_reference(table, stream)
    else:
        assert dict(counted(table)) == reference.exact(stream)


def test_two_sketches_in_two_threads() -> None:
    rng = np.random.default_rng(8)
    streams = [rng.zipf(1.2, 300_000) % 4000 for _ in range(4)]

    def run(stream: Any) -> SpaceSaving:
        sketch = SpaceSaving(500)
        for start in range(0, len(stream), 10_000):
            sketch.update(stream[start : start + 10_000])
        return sketch

    alone = [run(stream) for stream in streams]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, streams))
    for one, other in zip(alone, together, strict=True):
        assert one.shape().keys.equals(other.shape().keys)
        assert one.shape().counts.tolist() == other.shape().counts.tolist()


FORK = """
import os
import numpy as np
from hushcount.sketches.table import CounterTable, Rule
table = CounterTable(50, Rule.SPACE_SAVING, of_bytes=False, spread=6)
table.count(np.arange(50, dtype=np.uint64))
child = os.fork()
if child == 0:
    table.count(np.arange(100, 140, dtype=np.uint64))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert table.entries().keys.tolist() == list(range(50))
"""


def test_a_fork_leaves_the_table_of_its_parent_alone() -> None:
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=120)


@pytest.mark.parametrize(("of_bytes", "bound"), [(False, 24_000_000), (True, 32_000_000)])
def test_the_default_table_takes_about_32_megabytes(of_bytes: bool, bound: int) -> None:
    table = SpaceSaving(131072)._new_table(of_bytes)
    if of_bytes:
        names = [b"example key %d" % number for number in range(131072)]
        table.count(byte_keys(names))
    assert sum(array.nbytes for array in table._arrays) < bound
