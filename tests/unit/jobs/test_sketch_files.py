"""`hushcount sketch`, `merge`, `release` and `inspect`."""

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


def test_the_sketch_of_a_tree_is_released_as_a_tree(run):
    sketch = hc.HierarchySketch("path/2", counters=100)
    sketch.update(["/shop/tea"] * 900 + ["/about/us"] * 700)
    sketch.save("tree.hc")
    code, out, err = run(
        "release", "tree.hc", *BUDGET, "--json", "--output", "tree.csv", "--plot", "tree.svg"
    )
    assert (code, err) == (0, "Protects one event, not one person.\n")
    assert [row["node"] for row in json.loads(out)["rows"]] == ["/shop/tea", "/about/us"]
    assert Path("tree.csv").read_text().count("\n") == 3
    assert Path("tree.svg").read_text().startswith("<svg")
    assert run("release", "tree.hc", *BUDGET, "--limit", "3") == (
        2,
        "",
        "--limit cannot be combined with the sketch of a tree.\n",
    )
    code, out, err = run("release", "tree.hc", *BUDGET, "--dry-run")
    assert (code, "floor release of every level" in out, err) == (0, True, "")


def write_users(name, first, last):
    """Two pages of each of some users, once more, and rows without a user or a page."""
    users = [user for user in range(first, last) for _ in range(3)] + [None, first]
    pages = [page for user in range(first, last) for page in ("home", "home", f"page {user % 2}")]
    parquet.write_table(pa.table({"user": users, "page": [*pages, "home", None]}), name)


@pytest.fixture
def users(run):
    write_users("a.parquet", 0, 900)
    write_users("b.parquet", 900, 2000)

    def sketch(name, kind, keys=2, *more):
        asked = ("--user", "user", "--max-keys", str(keys), "--kind", kind, "--counters", "64", *more)
        return run("sketch", f"{name}.parquet", "-c", "page", *asked, "-o", f"{name}.hc")

    return sketch


ASSUMED = "Assumes  No user is in two of the 2 merged sketches; you state it."
PAGES = {"home": 2000, "page 0": 1000, "page 1": 1000}


@pytest.mark.parametrize("kind", ["exact", "user-misra-gries"])
def test_sketches_of_users_are_merged_and_released(run, users, kind):
    for name in "ab":
        code, out, err = users(name, kind)
        assert (code, out) == (0, ""), err
    code, out, err = run("merge", "a.hc", "b.hc", "-o", "c.hc")
    assert (code, out) == (0, "")
    assert err.splitlines() == [ASSUMED, "c.hc is raw data, not a release: do not publish it."]
    assert os.stat("c.hc").st_mode & 0o777 == 0o600
    code, out, err = run("release", "c.hc", *BUDGET, "--output", "c.json", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["guarantee"]["unit"] == "user"
    assert {row["key"] for row in found["rows"]} == set(PAGES)
    assert all(
        abs(row["count"] - PAGES[row["key"]]) < 350 for row in found["rows"]
    )  # ten standard deviations
    assert "No user is in two of the 2 merged sketches; you state it." in found["notes"]
    kept = (
        "Of each user at most 2 different keys, each once, are kept, picked by a keyed hash of user and key."
    )
    assert kept in found["notes"]
    assert hc.verify("c.json").holds


@pytest.mark.parametrize("kind", ["space-saving", "misra-gries"])
def test_rows_of_users_are_released_together_but_not_merged(run, users, kind):
    for name in "ab":
        assert users(name, kind)[0] == 0
    code, out, err = run("merge", "a.hc", "b.hc", "-o", "c.hc")
    assert (code, out) == (2, "")
    assert err == (
        "merge is proved for one row of each user, not for 2; release these sketches together, or count with"
        " UserMisraGries (--kind user-misra-gries).\n"
    )
    assert not Path("c.hc").exists()
    code, out, err = run("release", "a.hc", "b.hc", *BUDGET, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["guarantee"]["unit"] == "user"
    assert found["guarantee"]["parameters"]["max_rows"] == 2
    assert "Assumed: no user is in two of the sketches." in found["notes"]
    alone = run("release", "a.hc", *BUDGET, "--json")
    assert json.loads(alone[1])["guarantee"]["parameters"]["max_rows"] == 2


@pytest.mark.parametrize("kind", ["space-saving", "misra-gries", "exact", "user-misra-gries"])
def test_one_key_of_each_user_merges_whatever_the_kind(run, users, kind):
    for name in "ab":
        assert users(name, kind, 1)[0] == 0
    assert run("merge", "a.hc", "b.hc", "-o", "c.hc")[0] == 0
    code, out, err = run("release", "c.hc", *BUDGET, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["guarantee"]["unit"] == "user"
    assert 1900 < sum(row["count"] for row in found["rows"]) < 2100


@pytest.mark.parametrize("kind", ["space-saving", "misra-gries", "exact"])
def test_sketches_of_events_are_merged(run, kind):
    parquet.write_table(pa.table({"item": ["tea"] * 700 + ["salt"]}), "b.parquet")
    for name in "ab":
        asked = ("--kind", kind, "--counters", "64", "-o", f"{name}.hc")
        assert run("sketch", f"{name}.parquet", "-c", "item", *asked)[0] == 0
    code, _, err = run("merge", "a.hc", "b.hc", "-o", "c.hc")
    assert code == 0
    assert err.startswith("Assumes  No event is in two of the 2 merged sketches; you state it.")
    code, out, err = run("release", "c.hc", *BUDGET, "--json")
    assert code == 0, err
    assert json.loads(out)["guarantee"]["unit"] == "event"
    assert 1500 < json.loads(out)["rows"][0]["count"] < 1700


def test_linear_sketches_are_merged(run):
    for name, keys in {"a": ["tea"], "b": ["tea", "milk"]}.items():
        sketch = hc.CountMin(depth=3, width=64, seed=1, max_weight=1)
        sketch.update(keys)
        sketch.save(f"{name}.hc")
    assert run("merge", "a.hc", "b.hc", "-o", "c.hc")[0] == 0
    assert hc.load("c.hc").estimate(["tea", "milk"]).tolist() == [2, 1]


def test_what_cannot_be_merged_is_refused(run, users):
    users("a", "exact")
    assert run("merge", "a.hc", "-o", "c.hc")[2] == "merge needs at least two sketches.\n"
    users("b", "user-misra-gries")
    code, _, err = run("merge", "a.hc", "b.hc", "-o", "c.hc")
    assert (code, err) == (2, "exact counts merge with exact counts only, got UserMisraGries.\n")
    code, _, err = run("merge", "a.hc", "a.hc", "-o", "c.hc")
    assert code == 1
    assert "are sketches of the same data" in err
    assert "c.hc" not in os.listdir()
    for name in "xy":
        hc.HierarchySketch("path/2", counters=4).save(f"{name}.hc")
    assert "is proved for one stream and cannot be merged" in run("merge", "x.hc", "y.hc", "-o", "c.hc")[2]
    code, _, err = run("merge", "a.hc", "x.hc", "-o", "c.hc")
    assert err == "x.hc has other key columns or another unit than a.hc.\n"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (("--user", "user"), "--max-keys must be given with --user to count users; it has no default."),
        (("--user", "user", "--max-keys", "0"), "--max-keys must be at least 1, got 0."),
        (("--max-keys", "2"), "--max-keys limits what each user contributes, so it needs --user, a column."),
        (("--user", "page", "--max-keys", "2"), "--user must be another column than the keys, got page."),
        (("--kind", "user-misra-gries"), "kind user-misra-gries counts users, so it needs --user, a column."),
        (
            ("--user", "user", "--max-keys", "2", "--checkpoint", "x.hc"),
            "--checkpoint cannot be combined with --user: rows are first sorted by user, and the sort cannot"
            " be resumed.",
        ),
    ],
)
def test_users_that_cannot_be_counted(run, users, more, text):
    code, out, err = run("sketch", "a.parquet", "-c", "page", *more, "-o", "s.hc")
    assert (code, out, err) == (2, "", f"{text}\n")


@pytest.mark.parametrize("command", [("merge",), ("release",), ("oracle", "merge")])
def test_help_tells_the_verbs_apart(run, command):
    code, out, _ = run(*command, "--help")
    assert code == 0
    words = " ".join(out.split())
    assert (
        "`merge` adds up raw sketches into one sketch; `release A B` publishes raw sketches of disjoint"
        in words
    )
    assert "`oracle merge` adds up published oracles." in words
