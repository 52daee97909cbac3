"""Users through the group route, from their rows to the output law: enumerated, with twins that must fail."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy.test_neighbours import streams_up_to_renaming
from tests.privacy.test_space_saving import law_of, moves, summary

from hushcount.audit import laws as hs
from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.groups import row_budget
from hushcount.privacy import Budget
from hushcount.sources.duckdb import bounding
from hushcount.sources.open import open_source

BUDGET = Budget(1.5, 0.02)


def without_windows(stream: tuple[int, ...], rows: int) -> set[tuple[int, ...]]:
    """The stream without up to `rows` rows next to each other: a user, in the order of bounding."""
    spans = ((start, size) for size in range(1, rows + 1) for start in range(len(stream) - size + 1))
    return {stream[:start] + stream[start + size :] for start, size in spans}


def worst(mechanism: FloorRelease, rows: int, counters: int) -> float:
    law = law_of(mechanism)
    asked = hs.NoisyThreshold(law.law, law.threshold, BUDGET.epsilon, BUDGET.delta)
    found, seen = [0.0], set()
    for stream in streams_up_to_renaming(5, keys=4):
        for shorter in without_windows(stream, rows):
            more, less = summary(stream, counters), summary(shorter, counters)
            shape = (more.floor, less.floor, moves(more, less))
            if shape not in seen:
                seen.add(shape)
                found += [hs.floor_release(asked, *pair)[1] for pair in ((more, less), (less, more))]
    return max(found)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("counters", [2, 3])
def test_users_of_several_rows_keep_the_budget(rows: int, counters: int) -> None:
    assert worst(FloorRelease(row_budget(BUDGET, rows)), rows, counters) <= BUDGET.delta


@pytest.mark.parametrize("rows", [2, 3])
def test_noise_for_one_row_is_refuted(rows: int) -> None:
    assert worst(FloorRelease(BUDGET), rows, 3) > BUDGET.delta


def bounded(rows: list[tuple[int, int]], bound: bounding.Bound) -> list[tuple[int, int]]:
    users, keys = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"user": pa.array(users, pa.int64()), "key": pa.array(keys, pa.int64())})
    kept = bounding.bounded_users(open_source(table, column="key", user="user"), bound)
    return [pair for users, keys in kept for pair in zip(users.to_pylist(), keys.to_pylist(), strict=True)]


@pytest.mark.parametrize("bound", [bounding.DistinctPairs(2), bounding.AllRows(2)])
def test_a_user_is_a_window_of_the_bounded_stream(
    monkeypatch: pytest.MonkeyPatch, bound: bounding.Bound
) -> None:
    monkeypatch.setattr(bounding, "fresh_key", lambda: bytes(16))
    generator = np.random.default_rng(5)
    for _ in range(5):
        rows = [(int(u), int(x)) for u, x in generator.integers(0, 4, (12, 2))]
        stream = bounded(rows, bound)
        for gone in range(4):
            left = bounded([row for row in rows if row[0] != gone], bound)
            windows = [stream[:i] + stream[i + n :] for n in range(3) for i in range(len(stream) + 1 - n)]
            assert left in windows


def test_a_cut_by_arrival_is_refuted() -> None:
    """The first rows of all users together depend on who else is there: more than one window changes."""
    rows = list(itertools.product(range(4), range(3)))
    whole = rows[:8]
    left = [row for row in rows if row[0] != 0][:8]
    windows = [whole[:i] + whole[i + n :] for n in range(4) for i in range(len(whole) + 1 - n)]
    assert left not in windows
