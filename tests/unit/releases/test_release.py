import json
import os

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.releases import FixedError, release_of
from tests.unit.releases.tree_example import tree

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import Outputs
from hushcount.releases.accuracy import Counted
from hushcount.releases.views.plots import plot_of, prepare_plot
from hushcount.releases.views.tables import tsv

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
        "sentences": (
            "True with confidence 0.5.",
            "With confidence 0.5 no key that is missing has more than 33 events.",
            "A key of at least 28 events is published with probability 0.95 or more.",
        ),
        "full_from": None,
        "published_from": None,
        "unpublished_at_most": 33,
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
    assert values["hushcount"] == 2
    assert values["kind"] == "release"
    assert values["rows"][0] == {"key": "c", "count": 300, "lower": 295, "upper": 302}
    assert values["notes"] == ["A note."]
    assert (values["floor"], values["floors"]) == (4, [4])
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
    assert metadata["guarantee"]["epsilon"] == "1"
    assert json.loads((tmp_path / "t.json").read_text())["rows"][1]["key"] == "c\nd"
    assert sorted(os.listdir(tmp_path)) == ["t.csv", "t.json", "t.parquet", "t.tsv"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)])
def test_write_bytes(tmp_path, kind):
    release_of([(b"\xff", 10)], kind=kind).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == '"\\xff",10,5,12'


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.timestamp("us", "GMT+05:30"), 0, "1970-01-01 05:30:00+05:30"),
        (pa.timestamp("us"), 2**63 - 1, "+294247-01-10 04:00:54.775807"),
        (pa.date32(), 2932897, "+10000-01-01"),
    ],
)
def test_any_time_is_written(tmp_path, kind, value, text):
    """Before, such a table was lost after counting, or showed another year."""
    keys = pa.array([value], pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    release = release_of([(value, 9)], kind=pa.int64()).with_keys(pa.table({"key": keys}))
    release.write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == f'"{text}",9,4,11'
    assert json.loads(release.to_json())["rows"][0]["key"] == text
    assert "".join(tsv(release)).splitlines()[1] == f"{text}\t9\t4\t11"
    assert len(release.to_pandas()) == 1


def test_files_follow_the_umask_or_the_file_they_replace(tmp_path):
    before = os.umask(0o027)
    try:
        release_of(ROWS).write(tmp_path / "new.csv")
        (tmp_path / "old.csv").touch()
        os.chmod(tmp_path / "old.csv", 0o604)
        release_of(ROWS).write(tmp_path / "old.csv")
    finally:
        os.umask(before)
    assert (tmp_path / "new.csv").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "old.csv").stat().st_mode & 0o777 == 0o604


def test_files_of_one_run_appear_together(tmp_path):
    release = release_of(ROWS)
    with Outputs() as outputs:
        release.prepare(tmp_path / "t.csv", outputs)
        prepare_plot(plot_of(tree()), tmp_path / "t.svg", outputs)
        assert not (tmp_path / "t.csv").exists()
        outputs.commit()
        assert sorted(path.name for path in tmp_path.glob("t.*")) == ["t.csv", "t.svg"]
    with Outputs() as outputs:  # left without a commit
        release.prepare(tmp_path / "u.csv", outputs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.svg"]


def test_a_release_says_what_is_counted():
    users = Counted("users", "count is the number of users who kept this key.")
    release = release_of(ROWS).counting(users)
    sentences = release.accuracy().sentences
    assert sentences[0] == users.meaning
    said = "A key of at least 28 users is published with probability 0.95 or more"
    assert sentences[-1] == f"{said}."
    assert release.limit(1).accuracy().sentences[-1] == f"{said}, before rows were cut."
    assert json.loads(release.to_json())["counted"] == users.meaning
    assert json.loads(release_of(ROWS).to_json())["counted"] == (
        "count is the number of events with this key."
    )


def test_write_refuses(tmp_path):
    release = release_of(ROWS)
    text = r"^output must end in one of \.csv, \.tsv, \.parquet, \.json, got top\.xls\.$"
    with pytest.raises(ParameterError, match=text):
        release.write("top.xls")
    with pytest.raises(DataError) as caught:
        release.write(tmp_path / "none" / "top.csv")
    assert (
        str(caught.value)
        == f"Cannot write {tmp_path}/none/top.csv: the folder {tmp_path}/none does not exist."
    )


def test_pandas():
    frame = release_of(ROWS).to_pandas()
    assert list(frame.columns) == ["key", "count", "lower", "upper"]
    assert frame["count"].tolist() == [300, 10, 10, 1]


def test_short_in_words():
    assert repr(release_of(ROWS)).splitlines()[0] == (
        "Release of 4 rows: (1, 1e-08)-differential privacy for one event, by floor release"
    )


@pytest.mark.parametrize("kind", [pa.string(), pa.int8(), pa.binary(3)])
def test_nothing_published_has_no_type(kind):
    """The type of the first key must not tell a stream of one event from one of none."""
    assert release_of([], kind=kind).table.schema.field("key").type == pa.null()
