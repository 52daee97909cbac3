"""One row decides nothing about the others, whatever kinds of values the data hold.

For data in memory of every library and of mixed kinds: the key of a row is the one that the row has alone.
So removing a row removes its key and changes nothing else, or the data with that row are refused.
"""

import datetime as dt
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.sources.open import open_source

SEEDED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=120,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30)), dt.timezone(-dt.timedelta(hours=8))]
FIRST, LAST = dt.datetime(1990, 1, 1), dt.datetime(2100, 1, 1)
NANOSECONDS = st.integers(0, 4000).map(lambda ticks: pd.Timestamp(ticks, unit="ns"))
KINDS = [
    st.text("aé\ud800", max_size=2),
    st.binary(max_size=2),
    st.integers(-2, 2),
    st.integers(2**63 - 2, 2**63 + 1),
    st.integers(0, 255).map(np.uint8),
    st.booleans(),
    st.sampled_from([0.5, 1.0, float("nan")]),
    st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 3)),
    st.datetimes(FIRST, LAST),
    st.datetimes(FIRST, LAST, timezones=st.sampled_from(ZONES)),
    st.times(),
    st.times(timezones=st.sampled_from(ZONES)),
    st.datetimes(FIRST, LAST).map(np.datetime64),
    st.sampled_from(["D", "h", "s", "ns", "ps"]).map(lambda unit: np.datetime64(1, unit)),
    NANOSECONDS,
    st.uuids().map(lambda value: uuid.UUID(int=value.int % 3)),
    st.decimals(allow_nan=False, allow_infinity=False, places=1, min_value=0, max_value=1),
    st.just(("a", 1)),
]


@st.composite
def values(draw, least=1):
    """Values of one kind, or of two of which one is rare; and nulls."""
    common, rare = draw(st.sampled_from(KINDS)), draw(st.sampled_from(KINDS))
    found = draw(st.lists(st.one_of(common, common, common, st.none()), min_size=least, max_size=12))
    if draw(st.booleans()):
        found.insert(draw(st.integers(0, len(found))), draw(rare))
    return found


def column(found):
    array = np.empty(len(found), object)
    array[:] = found
    return array


def frame(first, second=None):
    return pd.DataFrame({"a": column(first), "b": column(second or first)}, dtype=object)


def categories(found):
    """Return values of which pandas stores each once, as the objects that they are."""
    return pd.Categorical(column(found), pd.Index(column(list(dict.fromkeys(found))), dtype=object))


WRAPS = {
    "list": (list, {}),
    "iterator": (iter, {}),
    "object array": (column, {}),
    "series": (lambda found: pd.Series(column(found), dtype=object), {}),
    "index": (lambda found: pd.Index(column(found), dtype=object), {}),
    "frame": (frame, {"column": "a"}),
    "two columns": (frame, {"column": ["a", "b"]}),
    "user": (frame, {"column": "a", "user": "b"}),
    "polars objects": (lambda found: pl.Series("a", found, dtype=pl.Object), {}),
}


def keys_of(data, **asked):
    """The keys in their order with their types, or None if the data are refused."""
    try:
        source = open_source(data, **asked)
        batches = list(source.batches())
    except HushcountError as error:
        return says_nothing(error)
    kinds = ", ".join(map(str, source.columns.types))
    return [(f"{batch.keys.type}: {kinds}", key) for batch in batches for key in batch.keys.to_pylist()]


def together(alone):
    """The keys of rows, given those of each alone: refused if one row is, or if rows have different types.

    So a refusal is a function of the rows that are refused, and of the types of the others.
    """
    if None in alone or len({kind for each in alone for kind, _ in each}) > 1:
        return None
    return [key for each in alone for key in each]


def says_nothing(error):
    """Return None, after a look at what comes with an error: another one would quote a value."""
    assert (error.__cause__, error.__context__) == (None, None)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("hushcount.keys.memory.BATCH_ROWS", 5)
    monkeypatch.setattr("hushcount.keys.memory.OBJECT_ROWS", 5)


@pytest.mark.parametrize("name", WRAPS)
@SEEDED
@given(found=values(), data=st.data())
def test_python_values(name, found, data):
    wrap, asked = WRAPS[name]
    whole = keys_of(wrap(found), **asked)
    gone = data.draw(st.integers(0, len(found) - 1))
    without = keys_of(wrap(found[:gone] + found[gone + 1 :]), **asked)
    alone = [keys_of(wrap([value]), **asked) for value in found]
    assert whole == together(alone)
    assert without == together(alone[:gone] + alone[gone + 1 :])


@SEEDED
@given(users=values(), data=st.data())
def test_users_of_any_kind(users, data):
    """The user column too: a user is told from others by their own value alone."""
    keys = ["k"] * len(users)
    asked = {"column": "a", "user": "b"}
    whole = keys_of(frame(keys, users), **asked)
    if whole is None:
        return
    alone = [keys_of(frame(["k"], [user]), **asked) for user in users]
    assert whole == [key for each in alone for key in each]


@SEEDED
@given(found=values(), users=values(), data=st.data())
def test_user_sketches_convert_like_sources(found, users, data):
    rows = min(len(found), len(users))
    found, users = found[:rows], ["u" if user is None else user for user in users[:rows]]

    def counted(keys, owners):
        sketch = hc.UserMisraGries(counters=100)
        try:
            sketch.update(keys, owners)
        except HushcountError as error:
            return says_nothing(error)
        shape = sketch.shape()
        return sorted(
            zip(
                shape.keys.to_pylist(),
                shape.counts.tolist(),
                strict=True,
            ),
            key=repr,
        )

    whole = counted(found, users)
    assert (whole is None) >= (keys_of(found) is None)
    if whole is not None:
        shown = {repr(key) for key, _ in whole}
        alone = {
            repr(key) for value, user in zip(found, users, strict=True) for key, _ in counted([value], [user])
        }
        assert shown == alone


TYPED = [
    pa.array(["a", "b", None, "a"]),
    pa.array(["a", "b", None, "a"]).dictionary_encode(),
    pa.array([1, 2, None, 2**40]),
    pa.array([1, 2, None, 2**63], pa.uint64()),
    pa.array([0, 1, None, 2], pa.timestamp("ns")),
    pa.array([0, 1, None, 2], pa.timestamp("s", "Asia/Kolkata")),
    pa.array([0, 1, None, 2], pa.date32()),
    pa.array([b"a", b"\xff", None, b""]),
]


@pytest.mark.parametrize("array", TYPED, ids=lambda array: str(array.type))
@pytest.mark.parametrize("library", ["arrow", "table", "polars", "pandas", "reader", "lazy"])
@pytest.mark.parametrize("gone", range(4))
def test_typed_data(array, library, gone, monkeypatch):
    monkeypatch.setattr("hushcount.sources.duckdb.counted.fresh_key", lambda: b"k" * 16)
    table = pa.table({"a": array})
    makers = {
        "arrow": lambda rows: rows.column("a"),
        "table": lambda rows: rows,
        "polars": pl.from_arrow,
        "pandas": lambda rows: rows.to_pandas(types_mapper=pd.ArrowDtype),
        "reader": lambda rows: rows.to_reader(),
        "lazy": lambda rows: pl.from_arrow(rows).lazy(),
    }
    make = makers[library]
    whole = keys_of(make(table))
    without = keys_of(make(pa.concat_tables([table.slice(0, gone), table.slice(gone + 1)])))
    own = keys_of(make(table.slice(gone, 1)))
    assert len(own) == (gone != 2)
    for key in own:  # of equal keys that of this row, or in the order of a hash, where they are together, any
        place = whole.index(key) if library in ("reader", "lazy") else gone - (gone > 2)
        assert whole.pop(place) == key
    assert whole == without


@pytest.mark.parametrize("name", ["list", "series", "frame", "two columns"])
@SEEDED
@given(data=st.data())
def test_the_type_of_an_empty_result_tells_nothing(name, data):
    wrap, asked = WRAPS[name]
    kind = data.draw(st.sampled_from([KINDS[1], KINDS[2], KINDS[7], KINDS[9]]))
    one = data.draw(kind)
    schemas = {hc.top(wrap(found), **asked, **BUDGET).table.schema for found in ([], [one], [one, one])}
    assert len(schemas) == 1


def test_the_type_of_an_empty_result_for_users():
    schemas = {
        hc.top(frame(keys, keys), column="a", user="b", max_keys=1, **BUDGET).table.schema
        for keys in ([], ["a"], [1], [dt.date(2020, 1, 1)])
    }
    assert len(schemas) == 1


@pytest.mark.parametrize("kind", [hc.SpaceSaving, hc.MisraGries, hc.Exact, hc.UserMisraGries])
def test_the_type_of_an_empty_release_of_a_sketch(kind):
    schemas = set()
    for keys in ([], ["a"], [1], [dt.date(2020, 1, 1)]):
        sketch = kind()
        sketch.update(keys, *([keys] if kind is hc.UserMisraGries else []))
        schemas.add(hc.release(sketch, **BUDGET).table.schema)
    assert len(schemas) == 1


def test_the_declared_type_of_an_empty_result_is_kept():
    table = pa.table({"a": pa.array([], pa.date32())})
    assert hc.top(table, **BUDGET).table.schema.field("key").type == pa.date32()
    assert hc.top(table.slice(0, 0), column=["a"], **BUDGET).table.schema.field("a").type == pa.date32()


DAYS = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=minute) for minute in range(1440)]


@pytest.mark.parametrize(
    ("others", "odd"),
    [
        (DAYS, dt.date(2020, 1, 1)),
        ([index + 0.5 for index in range(1440)], 1),
        (DAYS, dt.datetime(2020, 1, 1, tzinfo=ZONES[1])),
        ([pd.Timestamp(index, unit="ns") for index in range(1440)], dt.datetime(2020, 1, 1)),
    ],
    ids=["date before datetimes", "int before floats", "aware before naive", "nanoseconds"],
)
@pytest.mark.parametrize("place", [0, 1, 1440])
@pytest.mark.parametrize(
    "count",
    [
        lambda found: hc.top(frame(found), column=["a", "b"], **BUDGET),
        lambda found: hc.top(frame(["k"] * len(found), found), column="a", user="b", max_keys=1, **BUDGET),
        lambda found: hc.sample(frame(found), column=["a", "b"], rate=0.5, epsilon=1.0, delta=1e-9),
        lambda found: hc.tree(frame(found), hierarchy="columns:a,b", threshold=300, **BUDGET),
        lambda found: hc.UserMisraGries(8).update(found, list(range(len(found)))),
        lambda found: hc.UserMisraGries(8).update(list(range(len(found))), found),
        lambda found: hc.Exact().update(found),
        lambda found: hc.top(pd.Series(categories(found)), **BUDGET),
        lambda found: hc.top(["a"], domain=found, epsilon=1.0, delta=0),
    ],
    ids=["top", "user", "sample", "tree", "users' keys", "users", "exact", "categories", "domain"],
)
def test_one_odd_value_is_refused_and_never_decides(others, odd, place, count):
    with pytest.raises(HushcountError):
        count([*others[:place], odd, *others[place:]])


def test_one_zone_for_all():
    """20:00Z is 20:00Z, whatever zone another event has."""
    evening = dt.datetime(2020, 1, 1, 20, tzinfo=dt.UTC)
    india = dt.datetime(2020, 1, 1, 12, tzinfo=ZONES[1])
    for wrap, asked in WRAPS.values():
        first = keys_of(wrap([india] + [evening] * 3), **asked)
        last = keys_of(wrap([evening] * 3 + [india]), **asked)
        assert first[1:] == last[:-1]
        assert first == last[-1:] + last[:-1]


@pytest.mark.parametrize("value", [1, "tea", dt.date(2020, 1, 1)])
def test_notes_of_an_empty_result_do_not_tell_none_from_one(value):
    """The note on long keys was missing where the only key was a number."""
    none, one = pd.Series([], dtype=object), pd.Series([value], dtype=object)
    releases = [hc.top(data, epsilon=1.0, delta=1e-8) for data in (none, one)]
    assert releases[0].notes == releases[1].notes
