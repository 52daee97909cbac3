import json
import os

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.releases import FixedError, release_of

from hushcount.errors import DataError, ParameterError

ROWS = [("b", 10), ("a", 10), ("c", 300), ("d", 1)]


def test_order_and_intervals():
    table = release_of(ROWS).table
    assert table.to_pydict() == {
        "key": ["c", "a", "b", "d"],
        "count": [300, 10, 10, 1],
        "lower": [295, 5, 5, 0],
        "upper": [302, 12, 12, 3],
    }


def test_order_does_not_depend_on_the_stream():
    assert release_of(ROWS).table == release_of(ROWS[::-1]).table


def test_no_upper_bound():
    table = release_of(ROWS, FixedError(above=None, together=None)).table
    assert table["upper"].null_count == 4
    assert table.schema.field("upper").type == pa.int64()
    accuracy = release_of(ROWS, FixedError(above=None, together=None)).accuracy()
    assert (accuracy.above, accuracy.simultaneous_below, accuracy.simultaneous_above) == (None, None, None)


def test_negative_counts_are_clipped_in_intervals_only():
    table = release_of([("a", -7)]).table
    assert table.to_pydict() == {"key": ["a"], "count": [-7], "lower": [0], "upper": [0]}


def test_confidence():
    release = release_of(ROWS)
    assert release.at_confidence(0.5).table["lower"].to_pylist() == [297, 7, 7, 0]
    assert release.accuracy(0.5).to_dict() == {
        "confidence": 0.5,
        "below": 3,
        "above": 2,
        "simultaneous_below": 9,
        "simultaneous_above": 8,
        "sentences": ("True with confidence 0.5.",),
    }
    with pytest.raises(ParameterError, match=r"^confidence must be strictly between 0 and 1, got 1\.$"):
        release.accuracy(1)


def test_cuts():
    release = release_of(ROWS)
    assert release.limit(2).table["key"].to_pylist() == ["c", "a"]
    assert release.at_least(10).table["key"].to_pylist() == ["c", "a", "b"]
    assert len(release.limit(99)) == 4
    with pytest.raises(ParameterError, match=r"^limit must be at least 1, got 0\.$"):
        release.limit(0)
    with pytest.raises(ParameterError, match=r"^min_count must be at least 0, got -1\.$"):
        release.at_least(-1)


def test_key_types_are_kept():
    for kind in (pa.uint64(), pa.int8(), pa.date32(), pa.binary()):
        values = {pa.uint64(): 2**64 - 1, pa.int8(): 3, pa.date32(): None, pa.binary(): b"\xff"}
        assert release_of([(values[kind], 1)], kind=kind).table.schema.field("key").type == kind


def test_empty():
    release = release_of([], kind=pa.string())
    assert len(release) == 0
    assert release.table.num_rows == 0
    assert json.loads(release.to_json())["rows"] == []


def test_json():
    values = json.loads(release_of(ROWS).with_notes("A note.").to_json())
    assert values["hushcount"] == 1
    assert values["kind"] == "release"
    assert values["rows"][0] == {"key": "c", "count": 300, "lower": 295, "upper": 302}
    assert values["notes"] == ["A note."]
    assert values["floor"] == 4
    assert values["guarantee"]["protects"] == "one event, not one person"
    assert values["accuracy"]["simultaneous_below"] == 9


def test_write(tmp_path):
    release = release_of([('a,"b', 10), ("c\nd", 5)])
    for name in ("t.csv", "t.tsv", "t.parquet", "t.json"):
        release.write(tmp_path / name)
    assert csv.read_csv(tmp_path / "t.csv").to_pydict()["key"][0] == 'a,"b'
    assert (
        parquet.read_table(tmp_path / "t.parquet").drop_columns([]).to_pydict() == release.table.to_pydict()
    )
    metadata = json.loads(parquet.read_schema(tmp_path / "t.parquet").metadata[b"hushcount"])
    assert metadata["guarantee"]["epsilon"] == 1.0
    assert json.loads((tmp_path / "t.json").read_text())["rows"][1]["key"] == "c\nd"
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "t.json", "t.parquet", "t.tsv"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)])
def test_write_bytes(tmp_path, kind):
    release_of([(b"\xff", 10)], kind=kind).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == '"\\xff",10,5,12'


def test_write_refuses(tmp_path):
    release = release_of(ROWS)
    text = r"^output must end in one of \.csv, \.tsv, \.parquet, \.json, got top\.xls\.$"
    with pytest.raises(ParameterError, match=text):
        release.write("top.xls")
    with pytest.raises(DataError) as caught:
        release.write(tmp_path / "none" / "top.csv")
    assert str(caught.value) == f"Cannot write {tmp_path}/none/top.csv: no such file or directory."


def test_pandas():
    frame = release_of(ROWS).to_pandas()
    assert list(frame.columns) == ["key", "count", "lower", "upper"]
    assert frame["count"].tolist() == [300, 10, 10, 1]


def test_short_in_words():
    assert repr(release_of(ROWS)) == "<Release of 4 rows: (1, 1e-08)-DP for one event, by floor release>"


@pytest.mark.parametrize("kind", [pa.string(), pa.int8(), pa.binary(3)])
def test_nothing_published_has_no_type(kind):
    """The type of the first key must not tell a stream of one event from one of none."""
    assert release_of([], kind=kind).table.schema.field("key").type == pa.null()
