import json

import pyarrow as pa
import pytest
from pyarrow import csv
from tests.releases import release_of
from tests.unit.releases.tree_example import tree

from hushcount.errors import ParameterError

DANGEROUS = ["=1+1", "+1", "-1", "@sum", " =1", "\t=1", "\uff1d1", "\n=1"]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_no_key_becomes_a_formula(tmp_path, ending):
    rows = [(key, 100 - place) for place, key in enumerate([*DANGEROUS, "a=1", "5"])]
    release = release_of(rows).with_keys(pa.table({"=key": [key for key, _ in rows]}))
    release.write(tmp_path / f"t.{ending}", excel=True)
    options = csv.ParseOptions(delimiter="," if ending == "csv" else "\t", newlines_in_values=True)
    read = csv.read_csv(tmp_path / f"t.{ending}", parse_options=options)
    assert read.column_names == ["'=key", "count", "lower", "upper"]
    assert read["'=key"].to_pylist() == [*(f"'{key}" for key in DANGEROUS), "a=1", "5"]
    assert read["count"].to_pylist() == release.counts.to_pylist()


def test_without_it_keys_stay_as_they_are(tmp_path):
    release_of([("=1+1", 9)]).write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().splitlines()[1] == '"=1+1",9,4,11'


@pytest.mark.parametrize("release", [release_of([("a", 9)]), tree()], ids=["table", "tree"])
def test_the_guarantee_stands_beside_a_table(tmp_path, release):
    release.write(tmp_path / "t.csv", sidecar=True)
    values = json.loads((tmp_path / "t.csv.json").read_text())
    assert values["guarantee"] == release.to_dict()["guarantee"]
    assert values["accuracy"] == release.to_dict()["accuracy"]
    assert values["rows"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv", "t.csv.json"]


def test_forms_that_a_format_does_not_have_are_refused(tmp_path):
    release = release_of([("a", 9)])
    with pytest.raises(ParameterError, match=r"^sign needs an output that ends in \.json, got .*t\.csv\.$"):
        release.write(tmp_path / "t.csv", sign=tmp_path / "key.pem")
    with pytest.raises(ParameterError, match=r"^excel needs an output that ends in \.csv or \.tsv, got "):
        release.write(tmp_path / "t.json", excel=True)
    assert list(tmp_path.iterdir()) == []
