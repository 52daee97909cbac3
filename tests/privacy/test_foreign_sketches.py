"""Apache DataSketches and DuckDB on neighbouring streams: the numbers of docs/foreign-sketches.md."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from datasketches import frequent_items_error_type, frequent_strings_sketch
from tests import reference

from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.privacy import Budget

CAPACITY = {3: 6, 5: 24, 10: 768, 12: 3072}  # keys in a sketch of 2^b slots


def frequent_items(slots_log: int, stream: list[str]) -> tuple[dict[str, tuple[int, int]], int]:
    """(lower, upper bound) of every key in a sketch of DataSketches, and its stated error."""
    sketch = frequent_strings_sketch(slots_log)
    for key in stream:
        sketch.update(key)
    rows = sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES, 0)
    return {key: (lower, upper) for key, _, lower, upper in rows}, sketch.get_upper_bound("absent")


@pytest.mark.parametrize("slots_log", CAPACITY)
def test_one_event_empties_a_sketch_of_datasketches(slots_log):
    keys = [f"k{index}" for index in range(CAPACITY[slots_log])]
    shorter = keys * 100
    assert frequent_items(slots_log, [*shorter, "new"]) == ({}, 100)
    assert frequent_items(slots_log, shorter) == (dict.fromkeys(keys, (100, 100)), 0)


@pytest.mark.parametrize("times", [1, 7, 5000])
def test_a_purge_subtracts_any_count_of_the_data(times):
    keys = [f"k{index}" for index in range(6)]
    assert frequent_items(3, [*keys * times, "new"]) == ({}, times)
    assert frequent_items(3, keys * times) == (dict.fromkeys(keys, (times, times)), 0)


@pytest.mark.parametrize("slots_log", CAPACITY)
def test_one_event_changes_every_count_of_datasketches_by_100(slots_log):
    keys = [f"k{index}" for index in range(CAPACITY[slots_log])]
    longer = frequent_items(slots_log, [*keys * 100, "new", *keys * 50])
    shorter = frequent_items(slots_log, [*keys * 100, *keys * 50])
    assert longer == (dict.fromkeys(keys, (50, 150)), 100)
    assert shorter == (dict.fromkeys(keys, (150, 150)), 0)


def test_the_counters_of_hushcount_change_by_one_on_the_same_streams():
    """The same number of counters: one key enters at the smallest count plus 1, the others stay."""
    keys = [f"k{index}" for index in range(24)]
    longer, floor, _ = reference.space_saving([*keys * 100, "new"], 24)
    shorter, other, _ = reference.space_saving(keys * 100, 24)
    common = longer.keys() & shorter.keys()
    assert (len(common), len(longer), len(shorter), floor, other) == (23, 24, 24, 100, 100)
    assert all(longer[key] == shorter[key] == 100 for key in common)
    assert longer["new"] == 101


def test_the_noise_of_the_default_mechanism_does_not_hide_an_emptied_sketch():
    """768 keys at 100 above a floor of 0 are all published, except with probability 1e-16."""
    release = FloorRelease(Budget(1.0, 1e-6))
    assert release.threshold == 17
    # A key is missing only if the floor rises by 38 or its count falls by 47, as 100 - 46 - 37 = 17.
    missed = float(release.noise.tail(38)) + 768 * float(release.noise.tail(100 - 17 - 36))
    assert 1e-17 < missed < 1e-16


HEAVY, OTHERS, TRACKED = 101, 29, 30  # approx_top_k tracks 30 keys for a list of 10
FILTER = 256  # cells


@pytest.fixture(scope="module")
def one_thread():
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def streams(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[str], list[str], list[str]]:
    """The two neighbours, their heavy keys and their light ones, which all share the filter cell of "w0"."""
    words = [f"w{index}" for index in range(20_000)]
    hashes = connection.execute("SELECT hash(w) FROM (SELECT unnest(?) AS w)", [words]).fetchall()
    cells = {word: code % FILTER for word, (code,) in zip(words, hashes, strict=True)}
    light = [word for word in words[1:] if cells[word] == cells["w0"]][:TRACKED]
    alone = {cell: word for word, cell in reversed(cells.items()) if cell != cells["w0"]}
    apart = sorted(alone.values(), key=words.index)[: OTHERS + 1]
    heavy, last = apart[:OTHERS], apart[OTHERS]
    end = [last] * (HEAVY - 1) + [word for word in light for _ in range(3)]
    longer, shorter = (heavy * HEAVY + ["w0"] * times + end for times in (HEAVY, HEAVY - 1))
    return longer, shorter, [*heavy, "w0"], light


def approx_top(connection: duckdb.DuckDBPyConnection, stream: list[str]) -> list[str]:
    events = pa.table({"w": stream})
    ((found,),) = connection.from_arrow(events).aggregate("approx_top_k(w, 10)").fetchall()
    return list(found)


def test_one_event_replaces_the_whole_list_of_approx_top_k(one_thread):
    longer, shorter, heavy, light = streams(one_thread)
    assert (len(longer), len(shorter), len(light)) == (3220, 3219, 30)
    assert [longer.count(word) for word in heavy] == [101] * 30
    assert {shorter.count(word) for word in light} == {3}
    first, second = approx_top(one_thread, longer), approx_top(one_thread, shorter)
    assert first == heavy[:10]
    assert second == light[:10]
    assert set(first) & set(second) == set()
