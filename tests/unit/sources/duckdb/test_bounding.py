"""Bounding: what is kept of a user is a function of that user's rows, whatever the others do."""

import os
import stat
import tempfile
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.sources.duckdb import bounding
from hushcount.sources.duckdb.bounding import AllRows, Cut, DistinctPairs, bounded_users
from hushcount.sources.open import open_source

KEY = b"0123456789abcdef"


def rows_of(table, bound, user="user", column="key", **options):
    source = open_source(table, column=column, user=user)
    users, keys = [], []
    for some_users, some_keys in bounded_users(source, bound, **options):
        users += some_users.to_pylist()
        keys += some_keys.to_pylist()
    return list(zip(users, keys, strict=True))


def random_table(rows=5000, users=300, keys=40, seed=1):
    generator = np.random.default_rng(seed)
    names = pa.array([f"k{i}" for i in generator.integers(0, keys, rows)])
    return pa.table({"user": generator.integers(0, users, rows), "key": names})


def reference(table, bound):
    """How many rows of each user are kept, by the definition."""
    rows = list(zip(table["user"].to_pylist(), table["key"].to_pylist(), strict=True))
    rows = rows if isinstance(bound, AllRows) else sorted(set(rows))
    return {user: min(count, bound.largest) for user, count in Counter(user for user, _ in rows).items()}


@pytest.mark.parametrize(
    "bound", [DistinctPairs(1), DistinctPairs(5), DistinctPairs(1000), AllRows(3), AllRows(99)]
)
def test_each_user_keeps_as_many_rows_as_the_bound_allows(bound):
    table = random_table()
    kept = rows_of(table, bound)
    assert Counter(user for user, _ in kept) == reference(table, bound)
    everything = Counter(zip(table["user"].to_pylist(), table["key"].to_pylist(), strict=True))
    assert all(count <= everything[row] for row, count in Counter(kept).items())
    if isinstance(bound, DistinctPairs):
        assert len(set(kept)) == len(kept)


def test_users_come_together():
    kept = rows_of(random_table(), DistinctPairs(5))
    users = [user for user, _ in kept]
    changes = sum(one != other for one, other in pairwise(users))
    assert changes + 1 == len(set(users))
    assert users != sorted(users)


@pytest.mark.parametrize("bound", [DistinctPairs(3), AllRows(3)])
def test_without_one_user_all_others_stay_as_they_are(bound, monkeypatch):
    monkeypatch.setattr(bounding, "fresh_key", lambda: KEY)
    table = random_table()
    whole = rows_of(table, bound)
    for user in range(0, 300, 37):
        mask = pa.array(table["user"].to_numpy() != user)
        assert rows_of(table.filter(mask), bound) == [row for row in whole if row[0] != user]


def test_the_order_of_arrival_does_not_matter(monkeypatch):
    monkeypatch.setattr(bounding, "fresh_key", lambda: KEY)
    table = random_table()
    shuffled = table.take(np.random.default_rng(2).permutation(len(table)))
    assert rows_of(table, DistinctPairs(3)) == rows_of(shuffled, DistinctPairs(3))


def test_another_key_picks_others():
    table = random_table()
    assert set(rows_of(table, DistinctPairs(3))) != set(rows_of(table, DistinctPairs(3)))


def test_no_key_is_preferred():
    """Each of 40 keys is kept for one in eight of 2000 users; seven standard deviations either way."""
    users = np.repeat(np.arange(2000), 40)
    table = pa.table({"user": users, "key": np.tile(np.arange(40), 2000)})
    kept = Counter(key for _, key in rows_of(table, DistinctPairs(5)))
    spread = 7 * (2000 * (1 / 8) * (7 / 8)) ** 0.5
    assert all(abs(kept[key] - 250) < spread for key in range(40))


def test_cuts_across_batches_of_any_size():
    table = random_table(rows=400, users=20).sort_by([("user", "ascending"), ("key", "ascending")])
    for bound in (DistinctPairs(4), AllRows(4)):
        whole = Cut(bound).kept(table["user"].combine_chunks(), table["key"].combine_chunks())
        for size in (1, 2, 7, 399):
            cut, pieces = Cut(bound), defaultdict(list)
            for start in range(0, 400, size):
                part = table.slice(start, size).combine_chunks()
                users, keys = cut.kept(part["user"].chunk(0), part["key"].chunk(0))
                pieces["user"] += users.to_pylist()
                pieces["key"] += keys.to_pylist()
            assert (pieces["user"], pieces["key"]) == (whole[0].to_pylist(), whole[1].to_pylist())


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([1, 2, 3], pa.int8()),
        pa.array(["a", "é", "a\0b"]),
        pa.array(["a", "b", "c"], pa.large_string()),
        pa.array([b"a", b"\xff", b"\0"], pa.binary()),
        pa.array([b"ab", b"cd", b"ef"], pa.binary(2)),
        pa.array([1, 2, 3], pa.date32()),
        pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        pa.array([1, 2, 3], pa.timestamp("s")),
        pa.array([1, 2, 3], pa.time32("s")),
        pa.array([1, 2, 3], pa.time64("ns")),
        pa.array([True, False, True]),
        pa.array(["x", "y", "z"]).dictionary_encode(),
    ],
    ids=lambda keys: str(keys.type),
)
def test_keys_keep_their_type(keys):
    table = pa.table({"user": pa.array(["u", "v", "w"]), "key": keys})
    source = open_source(table, column="key", user="user")
    found = [kept for _, kept in bounded_users(source, DistinctPairs(2))]
    assert found[0].type == source.columns.types[0]
    assert sorted(map(str, found[0].to_pylist())) == sorted(map(str, keys.to_pylist()))


def test_nulls_are_dropped_and_that_is_said():
    table = pa.table({"user": [1, None, 1, 2], "key": ["a", "b", None, "c"]})
    assert sorted(rows_of(table, DistinctPairs(5))) == [(1, "a"), (2, "c")]
    notes = open_source(table, column="key", user="user").notes
    assert notes == ("Rows without a user or a key are dropped.", "Keys longer than 4096 bytes are dropped.")


def test_only_nulls_are_nobody():
    table = pa.table({"user": pa.nulls(3), "key": ["a", "b", "c"]})
    assert rows_of(table, DistinctPairs(5)) == []
    assert rows_of(table.slice(0, 0), DistinctPairs(5)) == []


def test_several_columns_are_one_key():
    table = pa.table({"user": [1, 1, 2], "a": ["x", "x", "x"], "b": [1, 2, 1]})
    source = open_source(table, column=["a", "b"], user="user")
    keys = next(kept for _, kept in bounded_users(source, DistinctPairs(5)))
    decoded = source.columns.without_user().decode(keys)
    assert sorted(decoded.to_pylist(), key=str) == [
        {"a": "x", "b": 1},
        {"a": "x", "b": 1},
        {"a": "x", "b": 2},
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files(tmp_path, ending):
    import pyarrow.parquet as pq

    path = tmp_path / f"events.{ending}"
    if ending == "csv":
        path.write_text("user,key\n1,a\n1,a\n1,b\n,a\n2,\n")
    elif ending == "jsonl":
        path.write_text('{"user": "1", "key": "a"}\n' * 2 + '{"user": "1", "key": "b"}\n{"key": "a"}\n')
    else:
        pq.write_table(pa.table({"user": ["1", "1", "1", None], "key": ["a", "a", "b", "a"]}), path)
    assert sorted(rows_of(str(path), DistinctPairs(5))) == [(b"1", "a"), (b"1", "b")]


def test_more_data_than_memory(monkeypatch, tmp_path):
    """About 200 MB of rows in 64 MB: they spill to a private folder, which is gone afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spilled = []

    def tell(batch):
        for folder in tmp_path.iterdir():
            spilled.append((stat.S_IMODE(os.stat(folder).st_mode), len(list(folder.iterdir()))))

    rows = 3_000_000
    users = pa.array(np.random.default_rng(3).integers(0, 1 << 40, rows)).cast(pa.string())
    table = pa.table({"user": users, "key": pa.array(np.arange(rows) % 1000)})
    source = open_source(table, column="key", user="user")
    kept = bounded_users(source, DistinctPairs(2), tell, memory="64MB")
    assert sum(len(keys) for _, keys in kept) == rows
    assert {mode for mode, _ in spilled} == {0o700}
    assert max(files for _, files in spilled) >= 1
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_stops_early_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    batches = bounded_users(open_source(random_table(), column="key", user="user"), AllRows(3))
    next(batches)
    batches.close()
    assert list(tmp_path.iterdir()) == []


def test_a_failure_of_the_source_is_told_in_its_own_words():
    good, bad = pa.array(["1"] * 200_000), pa.array(["secret"])
    table = pa.table({"user": np.arange(200_001), "key": pa.chunked_array([good, bad])})
    source = open_source(table, column="key", user="user", key_type="int")
    with pytest.raises(DataError) as refused:
        list(bounded_users(source, DistinctPairs(2)))
    assert str(refused.value) == "Column 'key' has values that are not whole numbers (type int)."


def test_an_interruption_stays_one(monkeypatch, tmp_path):
    """Whether it comes while rows are read or while they are sorted."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = random_table(rows=200_000)

    def tell(batch):
        if batch.rows < 131072:
            raise KeyboardInterrupt

    source = open_source(table, column="key", user="user")
    with pytest.raises(KeyboardInterrupt):
        list(bounded_users(source, DistinctPairs(2), tell))
    monkeypatch.setattr(bounding, "ORDER_QUERY", "SELECT error('INTERRUPT Error')")
    with pytest.raises(KeyboardInterrupt):
        list(bounded_users(source, DistinctPairs(2)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", [DistinctPairs, AllRows])
@pytest.mark.parametrize("largest", [0, -1, True, 1.5, None, float("nan")])
def test_bounds_are_whole_numbers(bound, largest):
    with pytest.raises(ParameterError, match=r"^max_(keys|events_per_user) must be "):
        bound(largest)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"user": "who"}, "Column 'who' is not in the table; it has: user, key."),
        ({"user": "key"}, "user must be another column than the keys, got key."),
        ({"user": 3}, "user must be the name of a column, got int."),
        ({"user": "user", "column": None}, "column must be named with user, got None."),
    ],
)
def test_bad_users(options, sentence):
    with pytest.raises(ParameterError) as refused:
        open_source(random_table(), **{"column": "key", **options})
    assert str(refused.value) == sentence


def test_keys_alone_have_no_users(tmp_path):
    for data in (["a", "b"], np.arange(3)):
        with pytest.raises(ParameterError, match=r"^user must name a column, but the data are one column"):
            open_source(data, column="key", user="user")
    with pytest.raises(DataError, match=r"^Column 'user' holds floating point numbers"):
        open_source(pa.table({"user": [1.5], "key": ["a"]}), column="key", user="user")
