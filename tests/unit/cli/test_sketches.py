"""`hushcount add` and `release` of several sketches: what is said, written and refused (whole texts)."""

import json
from pathlib import Path

import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.releases.added import KEYS, ORACLES, TREES

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hc.top(["tea"] * 900 + ["milk"] * 600, **BUDGET).write("a.json")
    hc.top(["tea"] * 500 + ["rice"] * 300, **BUDGET).write("b.json")

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def counts(name):
    release = hc.read_release(name)
    return dict(zip(release.keys["key"].to_pylist(), release.counts.to_pylist(), strict=True))


def test_tables_are_added_written_and_verified(run):
    code, out, err = run("add", "a.json", "b.json", "--output", "sum.json")
    first, second = counts("a.json"), counts("b.json")
    expected = {"tea": first["tea"] + second["tea"], "milk": first["milk"], "rice": second["rice"]}
    assert (code, counts("sum.json")) == (0, expected)
    assert [line.split("\t")[:2] for line in out.splitlines()[1:]] == [
        [key, str(count)] for key, count in expected.items()
    ]
    assert "each event is in the data of one party only" in " ".join(err.split())
    code, out, _ = run("verify", "sum.json", "--json")
    assert (code, json.loads(out)["holds"]) == (0, True)


def test_a_cut_sum_is_verified_too_and_not_added_again(run):
    code, out, _ = run("add", "a.json", "b.json", "--limit", "1", "--output", "cut.json")
    assert (code, out.splitlines()[1].split("\t")[0], len(out.splitlines())) == (0, "tea", 2)
    assert run("verify", "cut.json")[0] == 0
    hc.top(["salt"] * 400, **BUDGET).write("c.json")
    code, _, err = run("add", "c.json", "cut.json")
    assert (code, err) == (2, "releases must be whole to be added, got one cut by --limit or --min-count.\n")


def test_a_forged_row_of_a_cut_sum_is_found(run):
    run("add", "a.json", "b.json", "--limit", "2", "--output", "cut.json")
    whole = hc.read_release("cut.json")
    forged = whole.with_keys(whole.keys.set_column(0, "key", [["tea", "salt"]]))
    forged.write("forged.json")
    code, out, _ = run("verify", "forged.json")
    assert code == 1
    assert "sum: DOES NOT FOLLOW\tNot those of its parties: counts." in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a.json"], "add needs at least two releases.\n"),
        (["a.json", "a.json"], "releases must be of disjoint data, got the same release twice.\n"),
        (["a.json", "c.json"], "c.json does not exist.\n"),
        (
            ["a.json", "b.json", "--output", "a.json"],
            "a.json is read by this run, so it cannot be written; name another file.\n",
        ),
        (["a.json", "b.json", "--limit", "0"], "--limit must be at least 1, got 0.\n"),
        (["a.json", "b.json", "--min-count", "-1"], "--min-count must be at least 0, got -1.\n"),
        (["a.json", "b.json", "--report", "x.txt"], "--report must end in .html or .htm, got x.txt.\n"),
        (["a.json", "tree.json"], f"{TREES}\n"),
        (["a.json", "oracle.json"], f"{ORACLES}\n"),
        (["a.json", "keys.json"], f"{KEYS}\n"),
    ],
)
def test_what_cannot_be_added_is_refused(run, tmp_path, arguments, expected):
    flat = {"hierarchy": "path/1", "threshold": 100}
    hc.tree(["a/b"] * 900, **flat, **BUDGET).write("tree.json")
    (tmp_path / "oracle.json").write_text(hc.oracle(["tea"] * 900, **BUDGET).to_json())
    hc.keys(["tea"] * 900, **BUDGET).write("keys.json")
    code, out, err = run("add", *arguments)
    assert (code, out, err) == (1 if "c.json" in arguments else 2, "", expected)
    assert counts("a.json").keys() == {"tea", "milk"}


def test_sketches_are_released_together_over_a_domain(run):
    for name, counters in (("a", 9), ("b", 9), ("other", 17)):
        sketch = hc.SpaceSaving(counters=counters)
        sketch.update([3] * 4000 + [7] * 2000)
        sketch.save(f"{name}.hc")
    pure = ("--epsilon", "1", "--delta", "0", "--domain", "0..999")
    code, out, err = run("release", "a.hc", "b.hc", *pure, "--output", "both.json")
    assert (code, [line.split("\t")[0] for line in out.splitlines()[1:3]]) == (0, ["3", "7"])
    assert "by pure release of shards over a public domain" in " ".join(err.split())
    assert run("verify", "both.json")[0] == 0
    code, out, err = run("release", "a.hc", "other.hc", *pure)
    assert (code, out, err) == (
        2,
        "",
        "pure-shards is proved for sketches with the same number of counters; count every part with as many"
        " counters.\n",
    )
    code, out, err = run("release", "a.hc", "b.hc", *pure, "--mechanism", "floor")
    assert (code, out, err) == (
        2,
        "",
        "--mechanism must be pure-shards with a domain and several sketches, got floor.\n",
    )


VERBS = (["sketch"], ["merge"], ["release"], ["add"], ["oracle"], ["oracle", "merge"])


@pytest.mark.parametrize("command", VERBS, ids=" ".join)
def test_the_help_tells_the_ways_to_put_parts_together_apart(command, capsys):
    assert main([*command, "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "How to put parts together: `merge` adds up raw sketches into one sketch; `release A B` publishes raw"
        " sketches of disjoint data together, as shards; `add` adds up published tables; `oracle merge` adds"
        " up published oracles."
    ) in said


@pytest.mark.parametrize("function", [hc.release, hc.add_releases])
def test_the_functions_name_the_other_ways_to_put_parts_together(function):
    assert "Other ways to put parts together: `merge`" in " ".join(function.__doc__.split())


def test_the_sketch_of_a_hierarchy_is_released_at_a_threshold(run):
    Path("visits.txt").write_text("/shop/tea\n" * 900 + "/about\n" * 700)
    tree = ("--kind", "hierarchy", "--hierarchy", "path/2")
    assert run("sketch", "visits.txt", *tree, "-o", "visits.hc")[0] == 0
    budget = ("--epsilon", "1", "--delta", "1e-8")
    code, out, _ = run("release", "visits.hc", "--threshold", "800", *budget, "--output", "tree.json")
    assert (code, [line.split("\t")[0] for line in out.splitlines()[1:]][:1]) == (0, ["/shop/tea"])
    assert json.loads(Path("tree.json").read_text())["made"]["options"]["threshold"] == 800
    assert "about" not in out
    assert run("verify", "tree.json")[0] == 0
    code, out, _ = run("release", "visits.hc", "--threshold", "800", *budget, "--dry-run")
    assert code == 0
    code, _, err = run("release", "visits.hc", "--threshold", "3", *budget)
    assert (code, err.startswith("--threshold must be at least ")) == (2, True)
    run("sketch", "visits.txt", "-o", "flat.hc")
    assert run("release", "flat.hc", "--threshold", "800", *budget) == (
        2,
        "",
        "--threshold is for the sketch of a hierarchy; other releases choose their own.\n",
    )
