"""The first rows of each group, and several key columns that stay columns wherever a table goes."""

import csv
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

import hushcount as hc
from hushcount.cli.main import main

BUDGET = {"epsilon": 4.0, "delta": 1e-6}
SIZES = {
    ("de", "tea"): 900,
    ("de", "milk"): 700,
    ("fr", "tea"): 600,
    ("fr", "salt"): 500,
    ("fr", "rice"): 400,
}
FIRST = [("de", "tea"), ("fr", "tea")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [pair for pair, size in SIZES.items() for _ in range(size)]
    Path("a.csv").write_text("country,item\n" + "".join(f"{country},{item}\n" for country, item in rows))


def shown(table):
    return list(zip(table["country"], table["item"], strict=True))


def test_the_first_of_each_group_everywhere(capfd):
    asked = ["top", "a.csv", "--column", "country", "--column", "item", "--per", "country", "--limit", "1"]
    outputs = ["t.csv", "t.parquet", "t.json", "t.duckdb#places"]
    for output in outputs:
        spent = ["--epsilon", "4", "--delta", "1e-6", "--output", output, "--report", "t.html"]
        assert main([*asked, *spent]) == 0
        lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
        assert lines[0][:3] == ["country", "item", "count"]
        assert [tuple(line[:2]) for line in lines[1:]] == FIRST
    with open("t.csv") as stream:
        assert shown(pa.Table.from_pylist(list(csv.DictReader(stream))).to_pydict()) == FIRST
    assert shown(parquet.read_table("t.parquet").to_pydict()) == FIRST
    assert shown(hc.read_release("t.json").table.to_pydict()) == FIRST
    with duckdb.connect("t.duckdb") as connection:
        assert connection.execute("SELECT country, item FROM places").fetchall() == FIRST
        (stated,) = connection.execute("SELECT epsilon FROM hushcount_guarantees").fetchall()
    assert stated == (4.0,)
    page = Path("t.html").read_text()
    assert all(word in page for word in ("country", "item", "fr", "tea"))
    assert "salt" not in page
    assert main([*asked, "--epsilon", "4", "--delta", "1e-6", "--json"]) == 0
    assert "country" in json.dumps(json.loads(capfd.readouterr().out))


def test_groups_in_python_cost_nothing():
    release = hc.top("a.csv", column=["country", "item"], **BUDGET)
    assert shown(release.limit(1, per="country").table.to_pydict()) == FIRST
    assert len(release.limit(2, per="country").table) == 4
    assert release.limit(1, per="country").guarantee == release.guarantee
