"""`hc.top` in the library: every kind of data, and refusals before anything is read."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.jobs.settings import kind_for, new_sketch

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
KEYS = ["tea"] * 900 + ["milk"] * 600 + [f"rare{i}" for i in range(50)]
FORBIDDEN = object()


def refusal(data=FORBIDDEN, kind=ParameterError, **options):
    with pytest.raises(kind) as caught:
        hc.top(data, **{**BUDGET, **options})
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        KEYS,
        tuple(KEYS),
        iter(KEYS),
        np.array(KEYS),
        np.array(KEYS, dtype=object),
        pd.Series(KEYS),
        pd.DataFrame({"key": KEYS}),
        pd.Series(KEYS, dtype="category"),
        pl.Series(KEYS),
        pl.DataFrame({"key": KEYS}),
        pa.array(KEYS),
        pa.chunked_array([KEYS[:1000], KEYS[1000:]]),
        pa.table({"key": KEYS}),
        pa.array(KEYS).dictionary_encode(),
    ],
    ids=lambda data: type(data).__module__.split(".")[0] + "." + type(data).__name__,
)
def test_data(data):
    assert hc.top(data, **BUDGET).table["key"].to_pylist() == ["tea", "milk"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([7, -8], pa.int8()),
        ([2**64 - 1, 3], pa.uint64()),
        ([b"\xff\x00", b"b"], pa.binary()),
        ([datetime.date(2024, 2, 29), datetime.date(1969, 1, 1)], pa.date32()),
        ([datetime.datetime(2024, 2, 29), datetime.datetime(1969, 1, 1)], pa.timestamp("us")),
        ([True, False], pa.bool_()),
    ],
)
@pytest.mark.parametrize("mechanism", ["floor", "pmg", "laplace-threshold"])
def test_key_types_are_kept(values, kind, mechanism):
    data = pa.array([values[0]] * 900 + [values[1]] * 500, kind)
    table = hc.top(data, mechanism=mechanism, **BUDGET).table
    assert table.schema.field("key").type == kind
    assert table["key"].to_pylist() == values


def test_several_columns():
    frame = pd.DataFrame({"a": ["x", "y"] * 500, "b": [1, 2] * 500, "c": [0, 1] * 500})
    table = hc.top(frame, column=["a", "b"], **BUDGET).table
    assert table.column_names == ["a", "b", "count", "lower", "upper"]
    assert sorted(zip(*table.select(["a", "b"]).to_pydict().values(), strict=True)) == [("x", 1), ("y", 2)]
    assert table.schema.field("b").type == pa.int64()


def test_no_events():
    for data in ([], pa.array([], pa.string()), pa.array([None, None], pa.int64())):
        for mechanism in ("floor", "pmg", "laplace-threshold"):
            assert hc.top(data, mechanism=mechanism, **BUDGET).table.num_rows == 0


def test_cuts_and_confidence(tmp_path):
    release = hc.top(KEYS, limit=1, confidence=0.5, output=tmp_path / "t.csv", **BUDGET)
    assert release.table["key"].to_pylist() == ["tea"]
    assert release.confidence == 0.5
    assert (tmp_path / "t.csv").read_text().count("\n") == 2
    assert hc.top(KEYS, min_count=750, **BUDGET).table["key"].to_pylist() == ["tea"]


def test_progress():
    seen = []
    hc.top(KEYS, progress=lambda done, size: seen.append((done, size)), **BUDGET)
    assert seen
    assert set(seen) == {(0, None)}


def test_guarantee_and_notes():
    release = hc.top(KEYS, **BUDGET)
    assert release.guarantee.unit.protects == "one event, not one person"
    assert release.notes == ("Null keys are dropped.", "Keys longer than 4096 bytes are dropped.")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"epsilon": math.nan}, "epsilon must be a finite number above 0, got nan."),
        ({"epsilon": 21}, "epsilon above 20 protects nobody, got 21."),
        ({"delta": 1}, "delta must be strictly between 0 and 1, got 1."),
        ({"max_events": 0}, "max_events must be at least 1, got 0."),
        ({"counters": 1}, "counters must be at least 2, got 1."),
        ({"counters": True}, "counters must be a whole number, got True."),
        ({"confidence": 1.0}, "confidence must be strictly between 0 and 1, got 1.0."),
        ({"limit": 0}, "limit must be at least 1, got 0."),
        ({"min_count": -1}, "min_count must be at least 0, got -1."),
        ({"mechanism": "dpss"}, "dpss needs max_events, a public bound, got None."),
        ({"output": "top.xls"}, "output must end in one of .csv, .tsv, .parquet, .json, got top.xls."),
        ({"key_type": "float"}, "type must be one of auto, text, int, got 'float'."),
    ],
)
def test_refused_before_reading(options, text):
    assert refusal(**options) == text


def test_unknown_mechanism():
    assert refusal(mechanism="nothing").startswith("mechanism must be one of floor, pmg, ")
    assert refusal(mechanism="nothing").endswith(", got nothing.")


def test_output_that_cannot_be_written():
    text = "Cannot write none/top.csv: the folder none does not exist."
    assert refusal(kind=DataError, output="none/top.csv") == text


def test_other_refusals():
    assert refusal(data=None).startswith("data must be a path, a frame, an array or an ordered iterable")
    assert refusal(data={"tea", "milk"}).endswith("got set.")
    assert "floating point" in refusal(data=[0.5], kind=HushcountError)
    text = (
        "checkpoint needs data that can be read again: files or a DuckDB query, not a pipe, memory or another"
        " database."
    )
    assert refusal(data=KEYS, checkpoint="never.hc") == text


def test_max_events():
    assert len(hc.top(KEYS, max_events=len(KEYS), **BUDGET)) == 2
    assert refusal(data=KEYS, kind=DataError, max_events=len(KEYS) - 1) == (
        "The data hold more than max_events = 1549 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )
    assert len(hc.top([*KEYS, None, None], max_events=len(KEYS), **BUDGET)) == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"threads": 0}, "threads must be at least 1, got 0."),
        ({"threads": True}, "threads must be a whole number, got True."),
        ({"threads": 300}, "threads must be at most 256, got 300."),
        ({"threads": 4, "counters": 7}, "counters must be at least 2 for each of 4 threads, got 7."),
        (
            {"threads": 2, "mechanism": "pmg"},
            "threads cannot be combined with mechanism pmg, which is not proved for shards of keys; leave out"
            " the mechanism, or threads.",
        ),
        ({"threads": 2, "times": "n"}, "times cannot be combined with threads."),
        (
            {"threads": 2, "exact": True},
            "threads cannot be combined with exact, which uses all cores by itself.",
        ),
        (
            {"threads": 2, "user": "u", "max_keys": 2},
            "threads cannot be combined with user, which uses all cores by itself.",
        ),
    ],
)
def test_threads_that_cannot_be(options, text):
    assert refusal(**options) == text


def test_threads_share_the_counters():
    made = hc.top(KEYS, threads=3, counters=100, **BUDGET)
    assert made.keys["key"].to_pylist() == ["tea", "milk"]
    assert dict(made.guarantee.parameters) == {"threshold": 17, "candidates": 3 * 32, "shards": 3}
    assert len(made.error.floors) == 3
    assert hc.verify(made.to_json().encode()).holds
    assert made.guarantee.mechanism == "floor release of key shards"
    assert hc.top(KEYS, threads=1, **BUDGET).guarantee.mechanism == "floor release"


def test_another_number_of_threads_is_another_question(tmp_path):
    """Both have 50 counters in each shard, so that only the number tells them apart."""
    ledger = tmp_path / "budget.db"
    hc.Ledger(ledger).init("shop", epsilon=10, delta=1e-3)
    (tmp_path / "keys.txt").write_text("\n".join(KEYS))
    asked = {**BUDGET, "ledger": ledger, "dataset": "shop"}
    two = hc.top(tmp_path / "keys.txt", threads=2, counters=100, **asked)
    four = hc.top(tmp_path / "keys.txt", threads=4, counters=200, **asked)
    assert (len(two.error.floors), len(four.error.floors)) == (2, 4)


def test_which_sketch():
    from hushcount.mechanisms.registry import MECHANISMS

    kinds = {name: kind_for(name) for name in MECHANISMS}
    assert kind_for(None) == kinds["floor"] == kinds["dpss"] == "space-saving"
    assert kinds["pmg"] == kinds["pmg-standard"] == kinds["pmg-paper"] == kinds["chan"] == "misra-gries"
    assert kinds["laplace-threshold"] == "exact"
    assert new_sketch("exact", 2).total == 0
    with pytest.raises(
        ParameterError, match=r"^kind must be one of space-saving, misra-gries, exact, got x\.$"
    ):
        new_sketch("x", 2)


def test_the_first_rows_of_each_group_in_every_form(tmp_path):
    rows = [("CH", "tea")] * 900 + [("CH", "milk")] * 600 + [("DE", "tea")] * 500 + [("DE", "salt")] * 300
    countries, items = zip(*rows, strict=True)
    data = pa.table({"country": countries, "item": items})
    page, file = tmp_path / "a.html", tmp_path / "a.json"
    asked = {"epsilon": 1.0, "delta": 1e-6, "column": ["country", "item"], "limit": 1, "per": "country"}
    shown = hc.top(data, **asked, report=page, output=file)
    assert shown.keys.to_pylist() == [{"country": "CH", "item": "tea"}, {"country": "DE", "item": "tea"}]
    assert "At most 1 rows of each country are shown." in shown.notes
    assert hc.read_release(file).table == shown.table
    assert hc.read_release(file).made.options["per"] == "country"
    assert "milk" not in page.read_text()
    # CH, milk is missing with 600 events, which is more than the 500 of the last row.
    assert shown.accuracy().unpublished_at_most is None
    assert hc.read_release(file).limit(1).accuracy().unpublished_at_most is None


@pytest.mark.parametrize("column", [None, "item", ["item", "shop"]])
def test_groups_of_no_key_column_are_refused_before_data_are_read(column):
    with pytest.raises(hc.errors.ParameterError, match="per must be one of several key columns"):
        hc.top("/nowhere.csv", epsilon=1, delta=1e-6, column=column, limit=1, per="country")
