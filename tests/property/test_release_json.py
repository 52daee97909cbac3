"""A release that is written and read is the same release: its bytes, and what each of its methods says."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.made import MAKERS, made
from tests.releases import FixedError, release_of

import hushcount as hc
from hushcount.errors import HushcountError
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.releases.views.page import Screen, page_of

SCREEN = Screen("table", False, 100)


def again(release):
    return hc.read_release(release.to_json().encode())


def test_every_mechanism_is_here():
    assert set(EVERY_MECHANISM) <= set(MAKERS)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_written_and_read_is_written_again_as_the_same_bytes(name):
    release = made(name)
    assert again(release).to_json() == release.to_json()


def answers(release):
    """Return what each method says, or the error that it raises."""
    calls = {
        "table": lambda: release.table,
        "wide": lambda: release.at_confidence(0.99).table,
        "accuracy": lambda: release.accuracy(0.9),
        "guarantee": lambda: release.guarantee,
        "notes": lambda: release.notes,
        "cut": lambda: release.limit(2).at_least(5).table,
        "reliable": lambda: [release.smallest_reliable(p) for p in (0.6, 0.95, 0.999)],
        "sum": lambda: release.sum(None),
        "squares": lambda: release.sum(g=lambda w: w**2, estimator="biased-down"),
        "quantiles": lambda: release.order.quantiles([0.1, 0.5]),
        "order": lambda: [release.order.kendall_tau()],
        "rank": lambda: release.order.rank(release.keys.column(0)[0].as_py()),
        "added": lambda: hc.add_releases([release, release.with_notes("again")]).table,
        "page": lambda: page_of(release, SCREEN).groups,
        "levels": lambda: (release.levels, release.parents, release.residuals, release.totals),
        "estimates": lambda: release.estimate(["key 1", "key 39", "unseen"]),
        "interval": lambda: release.interval(0.9),
        "ids": lambda: release.ids,
        "bytes": lambda: bytes(release.to_bytes()),
    }
    said = {}
    for name, call in calls.items():
        try:
            said[name] = call()
        except (HushcountError, AttributeError, TypeError, KeyError) as error:  # not a method of this kind
            said[name] = str(error)
    return said


@pytest.mark.parametrize("name", MAKERS)
def test_every_method_says_the_same(name):
    release = made(name)
    before, after = answers(release), answers(again(release))
    assert [each for each in before if before[each] != after[each]] == []


KINDS = [
    (pa.string(), st.text()),
    (pa.large_string(), st.text()),
    (pa.binary(), st.binary()),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.float64(), st.floats()),
    (pa.decimal128(20, 2), st.integers(-(10**17), 10**17).map(lambda n: Decimal(n).scaleb(-2))),
]
TIMES = [
    (pa.timestamp("us", "Europe/Berlin"), pa.int64()),
    (pa.timestamp("ns"), pa.int64()),
    (pa.timestamp("s", "GMT+05:30"), pa.int64()),
    (pa.date32(), pa.int32()),
    (pa.time64("us"), pa.int64()),
]


def keys(kind, values):
    for time, ticks in TIMES:
        if kind == time:
            return pa.array(values, ticks).view(kind)
    return pa.array(values, kind)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_keys_of_every_type_come_back(data):
    times = [(kind, st.integers(-(2**31), 2**31 - 1)) for kind, _ in TIMES]
    size = data.draw(st.integers(0, 5))
    columns = {}
    for number in range(data.draw(st.integers(1, 3))):
        kind, value = data.draw(st.sampled_from(KINDS + times))
        values = data.draw(st.lists(value | st.none(), min_size=size, max_size=size))
        columns[f"column {number}"] = keys(kind, values)
    release = release_of([(row, 100 - row) for row in range(size)]).with_keys(pa.table(columns))
    read = again(release)
    assert read.keys.schema == release.keys.schema
    assert read.to_json() == release.to_json()
    for name, column in columns.items():
        assert read.keys[name].combine_chunks().equals(column) or "nan" in str(column)


def test_an_error_model_of_somebody_else_is_known_at_its_own_confidence():
    release = release_of([("a", 10), ("b", 5)], FixedError()).with_notes("A note.")
    read = again(release)
    assert read.table == release.table
    assert read.accuracy() == release.accuracy()
    assert read.limit(1).table == release.limit(1).table
    assert read.to_json() == release.to_json()
    with pytest.raises(HushcountError) as refused:
        read.at_confidence(0.5).table  # noqa: B018
    assert str(refused.value) == (
        "This release was read from a file that states its error at confidence 0.95 only, got 0.5."
    )


def test_whole_numbers_beyond_2_to_the_53_are_texts():
    release = release_of([(2**64 - 1, 9)], kind=pa.uint64())
    values = json.loads(release.to_json())
    assert values["rows"][0]["key"] == values["keys"][0]["values"][0] == "18446744073709551615"
    assert again(release).keys == release.keys
