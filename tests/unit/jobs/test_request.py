"""Users in every job: what cannot be used is refused in one sentence, and one user changes no other row."""

import os
from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.jobs.request import Request
from hushcount.sources.duckdb import out_of_core
from hushcount.sources.duckdb.bounding import DistinctPairs

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "column": "key", "user": "user"}
JOBS = {
    "tree": lambda data, **more: hc.tree(data, hierarchy="ipv4/8", threshold=1000, **BUDGET | more),
    "sample": lambda data, **more: hc.sample(data, rate=0.1, **BUDGET | more),
    "oracle": lambda data, **more: hc.oracle(data, width=64, **BUDGET | more),
}
ROWS = pa.table({"user": ["a", "b"], "key": ["10.0.0.1", "10.0.0.2"]})
NEEDED = "max_keys must be given with user to count users; it has no default."
MIXED = "The data mixes types, or holds none that can be keys; make them all text or whole numbers."


@pytest.mark.parametrize("name", JOBS)
@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, NEEDED),
        ({"max_keys": 0}, "max_keys must be at least 1, got 0."),
        ({"max_keys": -3}, "max_keys must be at least 1, got -3."),
        ({"max_keys": True}, "max_keys must be a whole number, got True."),
        (
            {"max_keys": "auto"},
            "max_keys = auto is for a table of exact counts of users; give a number here.",
        ),
        ({"max_keys": 2, "user": "key"}, "user must be another column than the keys, got key."),
        (
            {"max_keys": 2, "user": None},
            "max_keys limits what each user contributes, so it needs user, a column.",
        ),
    ],
)
def test_users_that_cannot_be_used(name, more, text):
    with pytest.raises(HushcountError) as caught:
        JOBS[name](ROWS, **more)
    assert str(caught.value) == text


@pytest.mark.parametrize("name", JOBS)
def test_a_user_column_of_mixed_kinds_is_refused(name):
    mixed = pd.DataFrame({"user": [1, "a", 2.5], "key": ["10.0.0.1"] * 3})
    with pytest.raises(HushcountError) as caught:
        JOBS[name](mixed, max_keys=2)
    assert str(caught.value) == MIXED


@pytest.mark.parametrize("name", JOBS)
def test_rows_without_a_user_are_dropped_and_a_note_says_so(name):
    nobody = pa.table({"user": pa.array([None, "a"], pa.string()), "key": ["10.0.0.1", None]})
    made = JOBS[name](nobody, max_keys=2)
    assert "Rows without a user or a key are dropped." in made.notes
    assert made.guarantee.unit.name == "user"


def rows_of(data, max_keys):
    """The rows that are kept of each user, in their order, as the engine gives them."""
    bound = DistinctPairs(max_keys)
    request = Request(data, column="key", user="user", bound=bound, with_users=True)
    kept = [batch.keys for batch in request.open().batches()]
    users = [user for keys in kept for user in keys.field("user").to_pylist()]
    return list(zip(users, [key for keys in kept for key in keys.field("key").to_pylist()], strict=True))


def test_one_user_changes_no_other_row_while_the_engine_spills(monkeypatch):
    """Few megabytes of memory for many rows: repeated keys, nulls, and users with thousands of keys."""
    seen, connect, batches = [], out_of_core.connect, out_of_core.record_batches

    def small(folder, _memory):
        seen.append(folder)
        return connect(folder, "128MB")

    def watched(*arguments):
        for batch in batches(*arguments):
            spilled.update(os.listdir(seen[-1]))
            yield batch

    spilled: set[str] = set()
    monkeypatch.setattr(out_of_core, "connect", small)
    monkeypatch.setattr(out_of_core, "record_batches", watched)
    monkeypatch.setattr("hushcount.sources.duckdb.bounding.fresh_key", lambda: b"k" * 16)
    count = 500_000
    users = [None if row % 97 == 0 else 7 if row % 5 == 0 else row % 60_000 for row in range(count)]
    keys = [None if row % 89 == 0 else f"{row % 4999:05d}" + "x" * 300 for row in range(count)]
    table = pa.table({"user": users, "key": keys})
    whole = rows_of(table, 50)
    assert spilled  # files beside memory
    assert max(Counter(user for user, _ in whole).values()) == 50
    assert len(set(whole)) == len(whole)
    for user in (7, 12_345):
        rest = rows_of(
            table.filter(pa.compute.fill_null(pa.compute.not_equal(table["user"], user), True)), 50
        )
        assert rest == [row for row in whole if row[0] != user]
