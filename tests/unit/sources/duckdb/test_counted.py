"""Keys counted and kept out of core: the right counts in order, and nothing left behind or told.

Of sets of keys, removing one user takes away that user's weights and nothing else.
"""

import os
import signal
import stat
import tempfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hushcount.errors import DataError
from hushcount.hierarchies.base import good_leaves
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.mechanisms.keys.calibration import UNIT, weights
from hushcount.sketches.leaves import count_leaves, leaf_batches
from hushcount.sources.duckdb import counted as leaf_counts
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import NOT_KEPT, KeptSets, counted_leaves
from hushcount.sources.open import open_source
from hushcount.sources.wrapped import BoundedSource

ADDRESSES = parse_hierarchy("ipv4/8")


def counted(keys, leaves=lambda keys: keys, kind=None, **options):
    source = open_source(keys)
    return counted_leaves(source, leaves, kind or source.columns.types[0], **options)


def rows_of(counted):
    return [
        row for leaves, counts in counted for row in zip(leaves.to_pylist(), counts.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([3, 2**64 - 1, 3, 0, 2**63], pa.uint64()),
        pa.array([b"b", b"", b"\xff", b"a\0", b"a", b"\xff"], pa.binary()),
        pa.array([b"\x80" * 16, b"\0" * 16, b"\x7f" * 16, b"\0" * 16], pa.binary(16)),
    ],
    ids=lambda keys: str(keys.type),
)
def test_leaves_come_sorted_with_their_counts(keys):
    assert rows_of(counted(keys)) == sorted(Counter(keys.to_pylist()).items())
    batches = list(counted(keys))
    assert {leaves.type for leaves, _ in batches} == {keys.type}
    assert {counts.dtype for _, counts in batches} == {np.dtype(np.int64)}


@pytest.mark.parametrize("name", ["ipv4/8", "ipv6/16", "path/3", "date"])
def test_the_same_as_in_memory(name):
    """More rows than one batch holds, and more leaves than one batch of the result."""
    hierarchy = parse_hierarchy(name)
    generator = np.random.default_rng(4)
    numbers = generator.integers(0, 100_000, 300_000)
    texts = {
        "ipv4/8": pa.array(numbers * 40_000),
        "ipv6/16": pa.array([b"%016d" % number for number in numbers.tolist()], pa.binary(16)),
        "path/3": pa.array([f"/{n % 7}/{n % 311}/{n}" for n in numbers.tolist()]),
        "date": pa.array(numbers * 3600, pa.timestamp("s")),
    }
    keys = texts[name]
    rows = counted(keys, lambda keys: good_leaves(hierarchy, keys), hierarchy.leaf_type)
    found = list(leaf_batches(hierarchy, rows))
    (expected,) = count_leaves(hierarchy, keys).batches()
    assert len(found) > 1
    assert pa.concat_arrays([batch.leaves for batch in found]).equals(expected.leaves)
    assert np.concatenate([batch.counts for batch in found]).tolist() == expected.counts.tolist()
    assert np.concatenate([batch.shared for batch in found]).tolist() == expected.shared.tolist()


def test_no_rows():
    assert rows_of(counted(pa.array([], pa.uint64()))) == []
    assert rows_of(counted(["x", "y"], lambda keys: good_leaves(ADDRESSES, keys), pa.uint64())) == []


def long_leaves(keys):
    """Whole numbers as leaves of 60 bytes."""
    digits = pc.utf8_lpad(keys.cast(pa.string()), 20, "0")
    return pc.binary_join_element_wise(digits, "x" * 40, "").cast(pa.binary())


def test_more_data_than_memory(monkeypatch, tmp_path):
    """About 150 MB of different leaves, and as much about them, in 128 MB: they spill to a private folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spilled = []

    def look(batch=None):
        for folder in tmp_path.iterdir():
            spilled.append((stat.S_IMODE(os.stat(folder).st_mode), len(list(folder.iterdir()))))

    keys = np.random.default_rng(5).permutation(2_500_000)
    rows, last = 0, b""
    for leaves, counts in counted(keys, long_leaves, pa.binary(), tell=look, memory="128MB"):
        look()
        rows += int(counts.sum())
        assert last < leaves[0].as_py()
        last = leaves[-1].as_py()
    assert rows == len(keys)
    assert {mode for mode, _ in spilled} == {0o700}
    assert max(files for _, files in spilled) >= 1
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_said_without_a_key(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    keys = pa.array([f"secret{number:040d}" for number in range(300_000)]).cast(pa.binary())
    with pytest.raises(DataError) as refused:
        rows_of(counted(keys, memory="4MB"))
    assert str(refused.value) == "Counting the keys needs more memory or disk space than there is."
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    batches = counted(np.arange(1000))
    next(batches)
    assert len(list(tmp_path.iterdir())) == 1
    batches.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [0, 200_000])
def test_a_malformed_key_that_stops_the_run_is_not_quoted(monkeypatch, tmp_path, place):
    """Whether it is in the first batch or in a later one, which DuckDB asks for."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    keys = ["10.0.0.1"] * 250_000
    keys[place] = "secret"
    with pytest.raises(DataError) as refused:
        rows_of(counted(keys, lambda keys: good_leaves(ADDRESSES, keys, "fail"), pa.uint64()))
    assert str(refused.value) == (
        'The data have a key that is malformed for hierarchy ipv4/8 (on_bad="fail").'
        " An address is written alone: cut off a port (host:port), brackets and a zone first."
    )
    assert list(tmp_path.iterdir()) == []


def test_any_other_failure_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(leaf_counts, "LEAVES_QUERY", "SELECT error('secret')")
    with pytest.raises(DataError) as refused:
        rows_of(counted(np.arange(10)))
    assert str(refused.value) == "The keys could not be counted."
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_stays_one(monkeypatch, tmp_path):
    """Whether it comes while keys are read or while they are counted."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def tell(batch):
        if batch.rows < 131072:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows_of(counted(np.arange(200_000), tell=tell))
    monkeypatch.setattr(leaf_counts, "LEAVES_QUERY", "SELECT error('INTERRUPT Error')")
    with pytest.raises(KeyboardInterrupt):
        rows_of(counted(np.arange(10)))
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_while_the_folder_is_made_leaves_none(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make = tempfile.mkdtemp

    def interrupted(**options):
        folder = make(**options)
        signal.raise_signal(signal.SIGINT)
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows_of(counted(np.arange(10)))
    assert list(tmp_path.iterdir()) == []


LARGEST = 20


def sums(table, stay=None, memory="512MB"):
    """Sums by key of a table through bounding and DuckDB, and again with the keys that stay."""
    kept = KeptSets(memory)
    source = BoundedSource(open_source(table, column="key", user="user"), DistinctPairs(LARGEST), True)
    for batch in source.batches():
        kept.add(batch.keys.field("user"), batch.keys.field("key"))
    found = [dict(totals(kept, None))]
    return found if stay is None else [*found, dict(totals(kept, stay))]


def totals(kept, stay):
    for keys, weight in kept.sums(weights(LARGEST), stay):
        yield from zip(keys.to_pylist(), weight.tolist(), strict=True)


def rows(seed, kind):
    """Random rows with repeated keys, nulls, and one user of thousands of keys."""
    rng = np.random.default_rng(seed)
    users = [*rng.integers(0, 60, 400).tolist(), *([7] * 3000), None]
    keys = [*rng.integers(0, 80, 400).tolist(), *range(3000), 5]
    named = [None if i % 50 == 0 else (f"k{key}" if kind == "text" else key) for i, key in enumerate(keys)]
    return pa.table({"user": pa.array(users, pa.int64()), "key": named})


@pytest.mark.parametrize("kind", ["text", "whole"])
@pytest.mark.parametrize("seed", range(3))
def test_removing_one_user_takes_away_a_short_vector(seed, kind):
    table = rows(seed, kind)
    gone = 11
    without = table.filter(pa.compute.fill_null(pa.compute.not_equal(table["user"], gone), True))
    mine = set(table.filter(pa.compute.equal(table["user"], gone))["key"].drop_null().to_pylist())
    others = table.filter(pa.compute.not_equal(table["user"], 7))  # whose keys are drawn by a fresh hash
    stay = pa.array(sorted(mine)[:5] + sorted(set(others["key"].drop_null().to_pylist()) - mine)[:9])
    more, less = (sums(each.filter(pa.compute.not_equal(each["user"], 7)), stay) for each in (table, without))
    for place, size in ((0, min(len(mine), LARGEST)), (1, 5)):
        difference = {key: more[place][key] - less[place].get(key, 0) for key in more[place]}
        changed = {key: weight for key, weight in difference.items() if weight}
        if len(mine) <= LARGEST:
            assert changed == dict.fromkeys(changed, int(weights(LARGEST)[size - 1]))
            assert set(changed) <= mine
            assert len(changed) == size
        assert sum(weight**2 for weight in changed.values()) <= UNIT**2


def test_a_user_of_thousands_of_keys_is_cut():
    (found,) = sums(pa.table({"user": [1] * 5000, "key": list(range(5000))}))
    assert set(found.values()) == {int(weights(LARGEST)[-1])}
    assert len(found) == LARGEST


def test_little_memory_gives_the_same():
    users = np.repeat(np.arange(30_000), 12)
    table = pa.table({"user": users, "key": [f"{key:030d}" for key in range(12)] * 30_000})
    assert (
        sums(table, memory="24MB")
        == sums(table)
        == [dict.fromkeys([f"{key:030d}" for key in range(12)], 30_000 * 295)]
    )


def test_nothing_gives_nothing_and_failures_are_one_sentence():
    kept = KeptSets()
    assert list(kept.sums(weights(3), None)) == []
    kept.add(pa.array([1]), pa.array(["a secret"]))
    kept._connection.close()
    with pytest.raises(DataError) as error:
        list(kept.sums(weights(3), None))
    assert str(error.value) == NOT_KEPT
    assert error.value.__cause__ is None
