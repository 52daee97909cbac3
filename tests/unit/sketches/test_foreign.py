"""Misra-Gries tables of other programs: what is taken, by which mechanism, and why that is proved."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.shapes.standard import StandardCounters

PAGE = Path(__file__).parents[3] / "docs" / "foreign-sketches.md"
FEW = "counters must be at least the number of keys with a positive counter."
TWICE = "keys must be different, got one twice: tables of parts cannot be put together."
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def textbook(stream, counters):
    """Misra-Gries as in a textbook: a key leaves when its counter is 0."""
    table = {}
    for key in stream:
        if key in table or len(table) < counters:
            table[key] = table.get(key, 0) + 1
        else:
            table = {other: count - 1 for other, count in table.items() if count > 1}
    return table


@pytest.mark.parametrize("counters", [2, 3])
def test_neighbouring_tables_differ_as_the_shape_says(counters):
    for stream in product("abcd", repeat=6):
        for place in range(6):
            one, other = textbook(stream, counters), textbook(stream[:place] + stream[place + 1 :], counters)
            keys = sorted({*one, *other})
            moved = {key: one.get(key, 0) - other.get(key, 0) for key in keys}
            changed = [change for change in moved.values() if change]
            assert changed in ([], [1], [-1]) or set(moved.values()) in ({1}, {-1})
            assert all(
                one.get(key, 0) + other.get(key, 0) == 1 for key in keys if (key in one) != (key in other)
            )


def test_a_table_is_released_by_pmg_standard():
    table = hc.MisraGries.from_counters(["tea", "milk", "none"], np.array([5000, 300, 0]), counters=64)
    release = hc.release(table, **BUDGET, bits=SeededBits(1))
    assert release.table["key"].to_pylist() == ["tea", "milk"]
    assert release.guarantee.parameters == {"threshold": 21, "candidates": 64}
    assert release.guarantee.assumptions[-1] == "the table is that of one Misra-Gries sketch of 64 counters"
    assert isinstance(table.shape(), StandardCounters)
    assert table.public() == hc.MisraGries.from_counters([], [], counters=64).public()
    assert hc.verify(hc.release(table, **BUDGET).to_json().encode()).holds


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"pmg-standard"}))
def test_every_other_mechanism_refuses(name):
    table = hc.MisraGries.from_counters(["tea"], [5000], counters=64)
    with pytest.raises(NotProvedError, match='another program; use mechanism="pmg-standard"'):
        hc.release(table, **BUDGET, mechanism=name, max_events=10_000)


def test_a_table_is_saved_and_read(tmp_path):
    table = hc.MisraGries.from_counters([7, 8], [50, 3], counters=4)
    table.save(tmp_path / "theirs.hc")
    again = hc.load(tmp_path / "theirs.hc")
    assert (again.id, again.counters, again.total, again.key_type) == (table.id, 4, 53, table.key_type)
    assert again.estimate([7, 8, 9]).tolist() == [50, 3, 0]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ((["a"], [1, 2], 4), "counts must be one for each key, got 2 for 1 keys."),
        ((["a"], ["1"], 4), "keys and counts must have no nulls, and counts must be whole numbers."),
        ((["a", None], [1, 2], 4), "keys and counts must have no nulls, and counts must be whole numbers."),
        ((["a"], [-1], 4), "counts must be at least 0, got a negative one: a counter is never below 0."),
        (
            (["a", "b", "c"], [1, 1, 1], 2),
            FEW,
        ),
        (
            (["a", "a"], [1, 2], 4),
            TWICE,
        ),
        ((["a"], [1], 1), "counters must be at least 2, got 1."),
    ],
)
def test_bad_tables(given, sentence):
    keys, counts, counters = given
    with pytest.raises(ParameterError) as error:
        hc.MisraGries.from_counters(keys, counts, counters=counters)
    assert str(error.value) == sentence


def test_what_a_table_cannot_do():
    table = hc.MisraGries.from_counters(["a"], [1], counters=4)
    with pytest.raises(NotProvedError, match="counts no more keys; count them with"):
        table.update(["a"])
    with pytest.raises(NotProvedError, match="does not say what its counters lack"):
        _ = table.error_bound
    with pytest.raises(NotProvedError, match="release it alone"):
        hc.release([table, hc.MisraGries.from_counters(["b"], [1], counters=4)], **BUDGET)


def test_the_example_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(example, PAGE.name, "exec"), {})
    assert hc.load("theirs.hc").counters == 64
