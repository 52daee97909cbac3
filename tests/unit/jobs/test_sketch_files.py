"""`hushcount sketch`, `release` and `inspect`."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import ParameterError

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = ["tea"] * 900 + ["milk"] * 600 + [f"secret{i}" for i in range(50)]
    parquet.write_table(pa.table({"item": keys, "shop": ["a"] * 1550, "day": [1] * 1550}), "a.parquet")

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def keys_of(out):
    return [row["key"] for row in json.loads(out)["rows"]]


@pytest.mark.parametrize("kind", ["space-saving", "misra-gries", "exact"])
def test_there_and_back(run, kind):
    code, out, err = run("sketch", "a.parquet", "-c", "item", "-o", "a.hc", "--kind", kind)
    assert (code, out) == (0, "")
    assert err == "a.hc is raw data, not a release: do not publish it.\n"
    assert os.stat("a.hc").st_mode & 0o777 == 0o600
    code, out, err = run("release", "a.hc", *BUDGET, "--json")
    assert (code, err) == (0, "Protects one event, not one person.\n")
    assert keys_of(out) == ["tea", "milk"]


def test_columns_and_unit_survive(run):
    run("sketch", "a.parquet", "-c", "item", "-c", "day", "-o", "a.hc")
    rows = json.loads(run("release", "a.hc", *BUDGET, "--json")[1])["rows"]
    assert [(row["item"], row["day"]) for row in rows] == [("tea", 1), ("milk", 1)]
    run("sketch", "--sql", "FROM 'a.parquet'", "-c", "item", "-o", "s.hc")
    assert run("release", "s.hc", *BUDGET)[2].startswith(
        "Protects one row of the SQL result, not one person.\n"
    )


def test_release_as_top(run):
    run("sketch", "a.parquet", "-c", "item", "-o", "a.hc")
    code, out, err = run(
        "release", "a.hc", *BUDGET, "--limit", "1", "--output", "top.csv", "--mechanism", "pmg"
    )
    assert code == 0
    assert out.splitlines()[1].startswith("tea\t")
    assert "Null keys are dropped." in err
    assert Path("top.csv").read_text().count("\n") == 2


def test_release_refuses(run):
    run("sketch", "a.parquet", "-c", "item", "-o", "a.hc")
    code, _, err = run("release", "a.hc", *BUDGET, "--max-events", "1000")
    assert code == 1
    assert err == (
        "The sketch holds more than --max-events = 1000 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee.\n"
    )
    code, _, err = run("release", "a.hc", *BUDGET, "--mechanism", "laplace-threshold")
    assert code == 2
    assert err.startswith(
        "laplace-threshold is proved for exact counts, not for a single SpaceSaving or MisraGries stream; "
    )


def test_inspect(run):
    run("sketch", "a.parquet", "-c", "item", "-o", "a.hc", "--counters", "100")
    code, out, err = run("inspect", "a.hc")
    assert code == 0
    assert err == "Raw data, not a release: publish neither the file nor these lines.\n"
    facts = dict(line.split("\t") for line in out.splitlines())
    assert facts["kind"] == "SpaceSaving"
    assert (facts["counters"], facts["events"], facts["finished"]) == ("100", "1550", "yes")
    assert (facts["columns"], facts["key type"]) == ("item", "string")
    assert not any(word in out for word in ("tea", "milk", "secret"))
    values = json.loads(run("inspect", "a.hc", "--json")[1])
    assert (values["hushcount"], values["kind"], values["sketch"]["events"]) == (1, "sketch", 1550)


def test_a_sketch_from_the_library(run):
    import hushcount as hc

    sketch = hc.SpaceSaving(counters=100)
    sketch.update(["tea"] * 900 + ["milk"] * 600)
    sketch.save("lib.hc")
    assert keys_of(run("release", "lib.hc", *BUDGET, "--json")[1]) == ["tea", "milk"]
    assert run("inspect", "lib.hc")[0] == 0


@pytest.mark.parametrize("kind", ["CountMin", "CountSketch"])
@pytest.mark.parametrize("partial", [True, False])
def test_inspect_of_linear_sketches(run, kind, partial):
    """A part of a stream has no estimates, so no bound of their errors."""
    import hushcount as hc

    sketch = getattr(hc, kind)(depth=3, width=64, partial=partial)
    sketch.update(["tea", "tea", "milk"], weights=[1, 2, -1] if partial else [1, 2, 1])
    sketch.save("part.hc")
    code, out, _ = run("inspect", "part.hc")
    facts = dict(line.split("\t") for line in out.splitlines())
    assert (code, facts["kind"], facts["events"]) == (0, kind, "2" if partial else "4")
    assert facts["error bound"] == ("none" if partial else "0")


def test_trees_and_oracles_can_be_inspected(run):
    sketch = hc.HierarchySketch("path/2", counters=8)
    sketch.update(["/a/b"] * 50)
    sketch.save("tree.hc")
    code, out, _ = run("inspect", "tree.hc")
    assert code == 0
    assert "kind\tHierarchySketch\n" in out
    assert "counters\t8\n" in out
    hc.oracle(["a"] * 100, epsilon=1.0, delta=1e-6, width=1024, output="o.hc")
    code, out, err = run("inspect", "o.hc")
    assert (code, err) == (0, "")
    assert "kind\toracle of count-sketch\n" in out
    assert "width\t1024\n" in out


def test_a_tree_sketch_can_be_released(run):
    sketch = hc.HierarchySketch("path/2", counters=64)
    sketch.update(["/shop/tea"] * 900 + ["/about/us"] * 700)
    tree = hc.tree(sketch, hierarchy="path/2", threshold=400, epsilon=1.0, delta=1e-9)
    assert tree.nodes.to_pylist() == ["/shop/tea", "/about/us"]
    assert hc.release(sketch, epsilon=1.0, delta=1e-9).hierarchy == "path/2"
    with pytest.raises(ParameterError) as refused:
        hc.tree(sketch, hierarchy="path/3", threshold=400, epsilon=1.0, delta=1e-9)
    assert str(refused.value) == "hierarchy must be that of the sketch, path/2, got path/3."
