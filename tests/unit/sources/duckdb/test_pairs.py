"""Pairs of users and keys for counting are those of ordered rows, however users are brought together."""

from collections import Counter
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.sources.duckdb.test_bounding import KEY, random_table, reference, rows_of

from hushcount.errors import DataError
from hushcount.keys.arrays import stored
from hushcount.sources.duckdb import bounding, dealt, out_of_core, pairs
from hushcount.sources.duckdb.bounding import Cut, DistinctPairs, PairHash
from hushcount.sources.duckdb.pairs import bounded_pairs, first_pairs
from hushcount.sources.open import open_source


def pairs_of(table, largest, **options):
    """The keys that are kept for counting, with their places; users do not come along."""
    source = open_source(table, column="key", user="user")
    found = []
    for keys, places in bounded_pairs(source, largest, **options):
        found += zip(keys.to_pylist(), places.tolist(), strict=True)
    return found


def same_key(monkeypatch):
    monkeypatch.setattr(bounding, "fresh_key", lambda: KEY)


@pytest.mark.parametrize("largest", [1, 3, 1000])
@pytest.mark.parametrize("rows", [2048, 1 << 16])
def test_pairs_for_counting_are_those_of_ordered_rows(largest, rows, monkeypatch):
    same_key(monkeypatch)
    monkeypatch.setattr(out_of_core, "ROWS", rows)
    table = random_table()
    ordered = Counter(key for _, key in rows_of(table, DistinctPairs(largest)))
    assert Counter(key for key, _ in pairs_of(table, largest)) == ordered


def test_places_are_nested_and_count_from_one():
    table = random_table()
    found = pairs_of(table, 7)
    by_place = Counter(place for _, place in found)
    users = reference(table, DistinctPairs(7)).values()
    assert [by_place[place] for place in range(1, 8)] == [
        sum(kept >= place for kept in users) for place in range(1, 8)
    ]


FIRST = [(1, 5, "a"), (1, 5, "a"), (1, 9, "c"), (1, 9, "b"), (1, 9, "c"), (1, 11, "d")]
ROWS = [*FIRST, (2, 9, "c"), (2, 12, "e")]


@pytest.mark.parametrize("seed", range(8))
def test_keys_whose_hashes_collide_come_in_their_own_order(seed):
    """Of the keys b and c of user 1 the first is kept, in whatever order the rows come."""
    order = np.random.default_rng(seed).permutation(len(ROWS))
    users, hashes, keys = zip(*(ROWS[place] for place in order), strict=True)
    rows = pa.record_batch({"user": users, "hash": pa.array(hashes, pa.uint64()), "key": keys})
    found, places = first_pairs(rows, 2)
    kept = sorted(zip(found.to_pylist(), places.tolist(), strict=True))
    assert kept == [("a", 1), ("b", 2), ("c", 1), ("e", 2)]


def in_few_parts(monkeypatch, largest_part):
    """Four parts, those of more than so many bytes sorted by DuckDB."""
    monkeypatch.setattr(dealt, "PARTS", 4)
    monkeypatch.setattr(pairs, "LARGEST_PART", largest_part)


@pytest.mark.parametrize("largest_part", [0, 1 << 30])
@pytest.mark.parametrize("room", [0, 1 << 30])
def test_parts_in_memory_on_disk_and_sorted_are_the_same(largest_part, room, monkeypatch):
    same_key(monkeypatch)
    in_few_parts(monkeypatch, largest_part)
    table = random_table(seed=3)
    ordered = Counter(key for _, key in rows_of(table, DistinctPairs(5)))
    assert Counter(key for key, _ in pairs_of(table, 5, room=room)) == ordered


def test_a_user_of_most_rows_is_sorted_by_duckdb_and_the_others_in_memory(monkeypatch):
    same_key(monkeypatch)
    in_few_parts(monkeypatch, 200_000)
    sorted_parts = []
    whole = pairs.sorted_pairs

    def noted(sort, source, *asked):
        sorted_parts.append(source.part.size)
        return whole(sort, source, *asked)

    monkeypatch.setattr(pairs, "sorted_pairs", noted)
    others, keys = random_table(rows=4000), pa.array([f"k{place}" for place in range(20_000)])
    table = pa.concat_tables([others, pa.table({"user": np.full(20_000, 7), "key": keys})])
    for largest in (3, 10_000):
        ordered = Counter(key for _, key in rows_of(table, DistinctPairs(largest)))
        assert Counter(key for key, _ in pairs_of(table, largest)) == ordered
    assert len(sorted_parts) == 2
    assert all(size > 200_000 for size in sorted_parts)


@pytest.mark.parametrize("seed", range(20))
def test_users_brought_together_in_memory_are_cut_as_sorted_rows_are(seed):
    """Few hashes, so that many keys of a user collide; the rows come in any order."""
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(1, 200))
    users = generator.integers(0, 8, rows)
    hashes = generator.integers(0, 12, rows).astype(np.uint64) << np.uint64(generator.integers(0, 60))
    keys = np.where(generator.random(rows) < 0.8, hashes % 7, generator.integers(0, 3, rows))
    table = pa.table({"user": users, "key": [f"k{key}" for key in keys], "hash": hashes})
    shuffled = table.combine_chunks().to_batches()[0]
    order = [(name, "ascending") for name in ("user", "hash", "key")]
    ordered = table.sort_by(order).combine_chunks()
    for largest in (1, 2, 100):
        cut = Cut(DistinctPairs(largest))
        _, kept = cut.kept(ordered["user"].chunk(0), ordered["key"].chunk(0))
        found, places = first_pairs(shuffled, largest)
        obvious = Counter(zip(kept.to_pylist(), cut.places.tolist(), strict=True))
        assert Counter(zip(found.to_pylist(), places.tolist(), strict=True)) == obvious


@pytest.mark.parametrize("shift", [0, 3, 40])
def test_hashes_that_differ_in_their_last_bits_alone_are_told_apart(shift):
    """Bits that have no place beside the code of a user in one word."""
    generator = np.random.default_rng(shift)
    users = generator.integers(0, 1000, 5000)
    keys = generator.integers(0, 50, 5000)
    rows = {"user": users, "key": keys, "hash": keys.astype(np.uint64) << np.uint64(shift)}
    found, places = first_pairs(pa.record_batch(rows), 2)
    obvious = Counter()
    for user in set(users.tolist()):
        obvious.update(enumerate(sorted(set(keys[users == user].tolist()))[:2], start=1))
    assert Counter(zip(places.tolist(), found.to_pylist(), strict=True)) == obvious


def test_rows_are_sorted_by_key_only_if_hashes_collide(monkeypatch):
    def refused(*arguments):
        raise AssertionError

    rows = {"user": [2, 1, 1], "hash": pa.array([3, 2, 1], pa.uint64()), "key": ["a", "b", "c"]}
    monkeypatch.setattr(pairs, "_first_of_sorted", refused)
    for count in (1, 3):  # no pair comes twice
        assert len(first_pairs(pa.record_batch(rows).slice(0, count), 5)[0]) == count
    rows["hash"] = pa.array([3, 2, 2], pa.uint64())
    with pytest.raises(AssertionError):
        first_pairs(pa.record_batch(rows), 5)


USERS = [
    ["ann", "bob", "é"],
    [b"\x00", b"", b"\xff"],
    [date(1969, 1, 1), date(2030, 1, 2)],
    [True, False],
    [-1, 2**62],
]


@pytest.mark.parametrize("users", USERS, ids=str)
@pytest.mark.parametrize("keys", [["a", "é", "x" * 40], [b"", b"\x00"], [-5, 7, 2**62]], ids=str)
def test_users_and_keys_of_every_kind_are_cut_by_the_definition(users, keys, monkeypatch):
    """The first keys of each user in the order of hash and key, whatever the types and their hashes."""
    same_key(monkeypatch)
    rows = [(user, key) for user in users for key in keys] * 3
    user, key = (pa.array(column) for column in zip(*rows, strict=True))
    _, hashes = PairHash().hashes(stored(user), stored(key))
    by_pair = dict(zip(rows, hashes.tolist(), strict=True))
    assert len(set(by_pair.values())) == len(by_pair)
    kept = [sorted(keys, key=lambda each, user=user: by_pair[user, each])[:2] for user in users]
    obvious = Counter((each, place) for some in kept for place, each in enumerate(some, start=1))
    assert Counter(pairs_of(pa.table({"user": user, "key": key}), 2)) == obvious


def test_one_user_of_one_key():
    assert pairs_of(pa.table({"user": ["u"], "key": [b"x"]}), 3) == [(b"x", 1)]


def test_batches_of_nothing_but_nulls_give_no_pairs():
    nobody = pa.table({"user": pa.array([None, "a"]), "key": ["x", None]})
    assert pairs_of(nobody, 3) == []
    first = pa.table({"user": pa.nulls(1 << 17, pa.string()), "key": ["x"] * (1 << 17)})
    assert pairs_of(pa.concat_tables([first, pa.table({"user": ["a"], "key": ["y"]})]), 3) == [("y", 1)]


def test_no_rows_give_no_pairs():
    table = pa.table({"user": pa.array([], pa.int64()), "key": pa.array([], pa.string())})
    assert pairs_of(table, 3) == []


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(28, "No space left on device"), bounding.FAILURES[0]),
        (MemoryError(), bounding.FAILURES[0]),
        (ValueError("key-17"), bounding.FAILURES[1]),
    ],
)
def test_what_fails_is_said_without_the_data(error, sentence, monkeypatch):
    def fail(self):
        raise error

    monkeypatch.setattr(dealt.DealtRows, "_write", fail)
    with pytest.raises(DataError) as refused:
        pairs_of(random_table(), 3, room=0)
    assert str(refused.value) == sentence
    assert refused.value.__cause__ is None
