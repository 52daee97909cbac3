"""Exact counts of users on the real engine, in so little memory that it spills: what one user can change.

Random data with repeated keys, rows without a user or a key, and users with thousands of keys. The secret of
the hash is fixed, so that data with and without a user can be compared.
"""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from threading import get_ident

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hushcount.sources.duckdb import bounding, counted, dealt, out_of_core, pairs
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import counted_by_bound, counted_keys
from hushcount.sources.duckdb.pairs import bounded_pairs
from hushcount.sources.open import open_source
from hushcount.sources.source import Batch
from hushcount.sources.wrapped import BoundedSource

SORTING, COUNTING, ROOM, LARGEST_PART = "80MB", "32MB", 1 << 20, 8 << 20
HUNGRY, MOST, FEW = 7, 5000, 3  # users: of most rows, of thousands of keys, of three keys
BOUNDS = (1, 4, 64, 4096)
NAME = "long names of keys take room, " * 2


def table(seed: int) -> pa.Table:
    """1,050,000 rows: a user of 750,000 of them, one of 5,000 keys, and many of few keys."""
    generator = np.random.default_rng(seed)
    users = generator.integers(6000, 80_000, 1_050_000)
    users[:750_000] = HUNGRY
    keys = generator.integers(0, 400_000, len(users))
    users[-MOST:], keys[-MOST:] = MOST, np.arange(MOST)
    repeated = generator.random(len(users)) < 0.3
    keys[repeated] = users[repeated] % 40
    users, keys = np.append(users, [FEW] * 9), np.append(keys, [1, 2, 3] * 3)
    order = generator.permutation(len(users))
    names = pc.binary_join_element_wise(NAME, pa.array(keys[order]).cast(pa.string()), "")
    whose = pa.array(users[order], mask=generator.random(len(users)) < 0.01)
    names = pc.if_else(pa.array(generator.random(len(users)) < 0.01), pa.scalar(None, pa.string()), names)
    return pa.table({"user": whose, "key": names})


def without(data: pa.Table, user: int) -> pa.Table:
    return data.filter(pc.fill_null(pc.not_equal(data["user"], user), True))


def keys_of(data: pa.Table, user: int) -> set[str]:
    """The different keys of a user, by the definition."""
    rows = data.filter(pc.fill_null(pc.equal(data["user"], user), False))
    return set(rows["key"].drop_null().to_pylist())


@dataclass(frozen=True, slots=True)
class InLittleMemory(BoundedSource):
    """Pairs of users with their places, brought together in a few megabytes."""

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        for keys, places in bounded_pairs(self.source, self.bound.largest, memory=SORTING, room=ROOM):
            yield Batch(pa.StructArray.from_arrays([keys, places], ["key", "place"]), len(keys), 0)


@dataclass(frozen=True, slots=True)
class KeysAlone(InLittleMemory):
    """The same keys without their places."""

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        for batch in InLittleMemory.batches(self):
            yield Batch(batch.keys.field("key"), batch.rows, 0)


@dataclass
class Spilled:
    """How much went to disk: files of DuckDB by kind of query, and bytes of dealt rows."""

    sorting: int = 0
    counting: int = 0
    dealt: int = 0


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> Spilled:
    found, folders = Spilled(), dict[int, str]()  # of the thread of each query
    connect, batches, parts = out_of_core.connect, out_of_core.record_batches, dealt.DealtRows.parts

    def noted(folder: str, memory: str):
        folders[get_ident()] = folder
        return connect(folder, memory)

    def watched(relation, rows):
        sorting, folder = "user" in relation.columns, folders[get_ident()]
        for batch in batches(relation, rows):
            files = len(os.listdir(folder))
            found.sorting += files * sorting
            found.counting += files * (not sorting)
            yield batch

    def measured(self):
        found.dealt += self.on_disk
        return parts(self)

    monkeypatch.setattr(out_of_core, "connect", noted)
    monkeypatch.setattr(out_of_core, "record_batches", watched)
    monkeypatch.setattr(dealt.DealtRows, "parts", measured)
    monkeypatch.setattr(bounding, "fresh_key", lambda: b"k" * 16)
    monkeypatch.setattr(pairs, "LARGEST_PART", LARGEST_PART)
    monkeypatch.setattr(dealt, "PARTS", 16)
    monkeypatch.setattr(counted, "KEYS_MEMORY", COUNTING)
    return found


def source(kind: type[BoundedSource], data: pa.Table, largest: int) -> BoundedSource:
    return kind(open_source(data, column="key", user="user", ordered=False), DistinctPairs(largest))


def counts(data: pa.Table, largest: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for keys, numbers in counted_keys(source(KeysAlone, data, largest), memory=COUNTING):
        assert not set(found).intersection(keys.to_pylist())  # every key once
        found.update(dict(zip(keys.to_pylist(), numbers.tolist(), strict=True)))
    return found


def test_one_user_changes_as_many_counts_by_one_as_are_kept_of_them(spilled: Spilled) -> None:
    data, largest = table(2), 8
    whole = counts(data, largest)
    assert spilled.dealt > 0
    assert spilled.sorting > 0  # a part of one user who has most rows
    assert spilled.counting > 0
    for user in (HUNGRY, MOST, FEW):
        held, rest = keys_of(data, user), counts(without(data, user), largest)
        lost = whole - rest
        assert rest - whole == Counter()  # no count is larger without the user
        assert set(lost.values()) == {1}
        assert set(lost) <= held
        assert len(lost) == min(largest, len(held))


def ranked(data: pa.Table) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for rows in counted_by_bound(source(InLittleMemory, data, BOUNDS[-1]), BOUNDS, out_of_core.untold):
        keys, *columns = (column.to_pylist() for column in rows.columns)
        found.update(zip(keys, zip(*columns, strict=True), strict=True))
    return found


def test_one_user_raises_the_counts_of_every_bound_by_one_each(spilled: Spilled) -> None:
    """What the choice of a bound assumes: for each bound as many counts as it keeps, all in one direction."""
    data = table(1)
    whole = ranked(data)
    assert spilled.dealt > 0
    assert spilled.sorting > 0
    assert spilled.counting > 0
    none = (0,) * len(BOUNDS)
    for user in (HUNGRY, MOST, FEW):
        held, rest = keys_of(data, user), ranked(without(data, user))
        assert set(rest) <= set(whole)
        changes = np.array([np.subtract(row, rest.get(key, none)) for key, row in whole.items()])
        assert set(np.unique(changes)) == {0, 1}
        assert changes.sum(axis=0).tolist() == [min(bound, len(held)) for bound in BOUNDS]
        assert (np.diff(changes, axis=1) >= 0).all()  # a larger bound keeps the same keys and more


SMALL = np.random.default_rng(5)
DAYS = [datetime.date(2026, 1, day) for day in range(1, 29)]
KINDS = {
    "text": [f"value {number}" for number in range(40)] + ["", "\u00e9", "e\u0301"],
    "bytes": [bytes([number]) * (number % 3) for number in range(40)],
    "int64": [-(1 << 63), (1 << 63) - 1, 0, *range(-20, 20)],
    "uint64": [(1 << 64) - 1, *range(40)],
    "day": [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), *DAYS],
    "time": [datetime.datetime(2026, 1, 1, microsecond=number) for number in range(40)],
    "flag": [True, False],
}
TYPES = {"uint64": pa.uint64(), "time": pa.timestamp("us", "UTC")}


def any_kind(kind: str, rows: int = 3000) -> pa.Array:
    """Values of a kind, some of them null."""
    values = [KINDS[kind][place] for place in SMALL.integers(0, len(KINDS[kind]), rows)]
    return pa.array(values, TYPES.get(kind), mask=SMALL.random(rows) < 0.05)


def rows_of(data: pa.Table, user: object) -> pa.Array:
    """Which rows are of a user."""
    return pc.fill_null(pc.equal(data["user"], pa.scalar(user, data["user"].type)), False)


@pytest.mark.parametrize("columns", [["key"], ["key", "more"]], ids=["one key column", "two key columns"])
@pytest.mark.parametrize(("users", "keys"), [*zip(KINDS, [*KINDS][1:], strict=False), ("flag", "text")])
def test_users_and_keys_of_every_kind(
    users: str, keys: str, columns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one user changes, by the definition: as many counts by one as are kept, and nothing else."""
    monkeypatch.setattr(bounding, "fresh_key", lambda: b"k" * 16)
    monkeypatch.setattr(dealt, "PARTS", 4)
    data = pa.table({"user": any_kind(users), "key": any_kind(keys), "more": any_kind("flag")})
    for largest in (1, 3):
        whole = kept_counts(data, columns, largest)
        known = data.filter(data["user"].is_valid())
        assert kept_counts(known, columns, largest) == whole  # rows without a user count for nobody
        for user in known["user"].unique().to_pylist()[:5]:
            own = data.filter(rows_of(data, user)).select(columns).drop_null()
            different = len(own.group_by(columns).aggregate([]))
            rest = kept_counts(data.filter(pc.invert(rows_of(data, user))), columns, largest)
            assert rest - whole == Counter()
            assert sorted((whole - rest).values()) == [1] * min(largest, different)


def kept_counts(data: pa.Table, columns: list[str], largest: int) -> Counter[object]:
    """Exact counts of users, at most so many keys of each."""
    opened = open_source(data, column=columns, user="user", ordered=False)
    found: Counter[object] = Counter()
    for names, numbers in counted_keys(KeysAlone(opened, DistinctPairs(largest)), memory=COUNTING):
        found.update(dict(zip(names.to_pylist(), numbers.tolist(), strict=True)))
    return found
