import json
import random
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from tests.releases import GUARANTEE

from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.totals import subtree_sizes
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import AllNodes, NodeEstimate, TreeRows

# label, level, row of the parent, residual, total
ROWS = [
    ("10.1.0.0/16", 2, 1, 70, 70),
    ("10.0.0.0/8", 1, 4, 60, 260),
    ("10.2.0.0/16", 2, 1, 130, 130),
    ("12.0.0.0/8", 1, 4, 300, 300),
    ("*", 0, -1, 50, 610),
    ("10.3.0.0/16", 2, 1, 70, 70),
]


@dataclass(frozen=True)
class SizeError:
    """Wider for larger subtrees and for more confidence."""

    bounded: bool = True

    def bounds(self, rows, confidence):
        width = subtree_sizes(rows.parents) * (100 if confidence > 0.9 else 1)
        return rows.totals - width, rows.totals + width if self.bounded else None

    def sentences(self, confidence):
        return (f"True with confidence {confidence:g}.",)

    def near(self, rows, confidence):
        return rows.residuals < 60

    def all_nodes(self, confidence):
        return AllNodes(7, 5, (9, 8, 8, 8, 8)) if self.bounded else None

    def unpublished(self, level, tops, confidence):
        return int(tops.totals.sum()), tops.rows, level


def rows_of(rows, kind=None):
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(5)]
    numbers = (np.array(column, dtype=np.int64) for column in columns[1:])
    return TreeRows(pa.array(columns[0], kind or pa.string()), *numbers)


def release_of(rows, **changed):
    settings = {"threshold": 50, "hierarchy": "ipv4/8", "height": 4, **changed}
    return TreeRelease(rows_of(rows), GUARANTEE, settings.pop("error", SizeError()), **settings)


def test_rows_are_in_depth_first_order():
    assert release_of(ROWS).table.drop_columns(["lower", "upper"]).to_pydict() == {
        "near_threshold": [True, False, False, False, False, False],
        "node": ["*", "12.0.0.0/8", "10.0.0.0/8", "10.2.0.0/16", "10.1.0.0/16", "10.3.0.0/16"],
        "level": [0, 1, 1, 2, 2, 2],
        "parent": [None, "*", "*", "10.0.0.0/8", "10.0.0.0/8", "10.0.0.0/8"],
        "residual": [50, 300, 60, 130, 70, 70],
        "total": [610, 300, 260, 130, 70, 70],
    }


def test_order_is_a_function_of_what_is_published():
    expected = release_of(ROWS).table
    for seed in range(20):
        order = list(range(len(ROWS)))
        random.Random(seed).shuffle(order)
        place = {old: new for new, old in enumerate(order)} | {-1: -1}
        shuffled = [(*ROWS[old][:2], place[ROWS[old][2]], *ROWS[old][3:]) for old in order]
        assert release_of(shuffled).table == expected


def test_depths_and_sizes():
    rows = release_of(ROWS).rows
    assert rows.depths == [0, 1, 1, 2, 2, 2]
    assert subtree_sizes(rows.parents).tolist() == [6, 1, 4, 1, 1, 1]


def test_several_trees_where_the_root_is_not_published():
    table = release_of([("b", 3, -1, 5, 5), ("a", 3, -1, 5, 5), ("c", 2, -1, 9, 9)]).table
    assert table["node"].to_pylist() == ["c", "a", "b"]
    assert table["parent"].to_pylist() == [None, None, None]
    assert table.schema.field("parent").type == pa.string()


def test_bounds_are_clipped_at_zero():
    table = release_of(ROWS).table
    assert table["lower"].to_pylist() == [10, 200, 0, 30, 0, 0]
    assert table["upper"].to_pylist() == [1210, 400, 660, 230, 170, 170]


def test_no_upper_bound():
    table = release_of(ROWS, error=SizeError(bounded=False)).table
    assert table["upper"].null_count == 6
    assert table.schema.field("upper").type == pa.int64()


def test_confidence():
    release = release_of(ROWS)
    assert release.at_confidence(0.5).table["lower"].to_pylist() == [604, 299, 256, 129, 69, 69]
    assert release.accuracy(0.5).to_dict() == {
        "confidence": 0.5,
        "sentences": ("True with confidence 0.5.",),
        "simultaneous_below": 7,
        "simultaneous_above": 5,
        "unpublished_at_most": (9, 8, 8, 8, 8),
    }
    unknown = release_of(ROWS, error=SizeError(bounded=False)).accuracy().to_dict()
    assert [unknown[name] for name in list(unknown)[2:]] == [None, None, None]
    with pytest.raises(ParameterError, match=r"^confidence must be strictly between 0 and 1, got 0\.$"):
        release.at_confidence(0)
    with pytest.raises(ParameterError, match=r"^confidence must be strictly between 0 and 1, got nan\.$"):
        release.accuracy(float("nan"))


def test_empty():
    release = release_of([])
    assert len(release) == 0
    assert release.table.schema.types == [pa.string(), pa.int64(), pa.string(), *[pa.int64()] * 4, pa.bool_()]
    assert json.loads(release.to_json())["rows"] == []


def test_json():
    values = json.loads(release_of(ROWS).with_notes("A note.").to_json())
    assert {name: values[name] for name in ("hushcount", "kind", "threshold", "hierarchy", "height")} == {
        "hushcount": 2,
        "kind": "tree",
        "threshold": 50,
        "hierarchy": "ipv4/8",
        "height": 4,
    }
    assert values["notes"] == ["A note."]
    assert values["accuracy"]["sentences"] == ["True with confidence 0.95."]
    assert values["guarantee"]["protects"] == "one event, not one person"
    assert values["rows"][1] == {
        "near_threshold": False,
        "node": "12.0.0.0/8",
        "level": 1,
        "parent": "*",
        "residual": 300,
        "total": 300,
        "lower": 200,
        "upper": 400,
    }


def test_write(tmp_path):
    release = release_of(ROWS)
    for name in ("t.csv", "t.tsv", "t.parquet", "t.json"):
        release.write(tmp_path / name)
    assert csv.read_csv(tmp_path / "t.csv")["node"].to_pylist() == release.nodes.to_pylist()
    assert parquet.read_table(tmp_path / "t.parquet").to_pydict() == release.table.to_pydict()
    metadata = json.loads(parquet.read_schema(tmp_path / "t.parquet").metadata[b"hushcount"])
    assert (metadata["kind"], metadata["rows"]) == ("tree", None)
    assert len(json.loads((tmp_path / "t.json").read_text())["rows"]) == 6
    with pytest.raises(ParameterError, match=r"^output must end in one of .*, got t\.xls\.$"):
        release.write("t.xls")


def test_pandas_and_words():
    release = release_of(ROWS)
    assert release.to_pandas()["total"].tolist() == [610, 300, 260, 130, 70, 70]
    assert repr(release).splitlines()[0] == (
        "TreeRelease of 6 nodes: (1, 1e-08)-differential privacy for one event, by floor release"
    )


def test_any_node_has_an_estimate():
    release = release_of(ROWS)
    assert release.estimate("12.0.0.0/8") == NodeEstimate(
        "12.0.0.0/8", 1, True, 300, 200, 400, 0.95, near_threshold=False
    )
    assert release.estimate("10.9.0.0/16") == NodeEstimate("10.9.0.0/16", 2, False, 0, 0, 2, 0.95)
    without = release_of([("10.1.0.0/16", 2, -1, 70, 70), ("10.3.0.0/16", 2, -1, 7, 7)])
    assert without.estimate("10.0.0.0/8") == NodeEstimate("10.0.0.0/8", 1, False, 77, 2, 1, 0.95)
    assert without.estimate("*") == NodeEstimate("*", 0, False, 77, 2, 0, 0.95)


def test_only_nodes_of_the_hierarchy_have_an_estimate():
    with pytest.raises(ParameterError) as caught:
        release_of(ROWS).estimate("10.0/12")
    assert str(caught.value) == (
        "node must be the label of a node of hierarchy ipv4/8, such as * or 10.0.0.0/8, got '10.0/12'."
    )
