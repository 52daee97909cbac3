"""`hushcount order`: places, the largest keys, quantiles, concordance; what is said, and what is refused."""

import json

import pytest

import hushcount as hc
from hushcount.cli.main import main

KEYS = ["tea"] * 5000 + ["milk"] * 3000 + ["salt"] * 2990 + ["oil"] * 400


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hc.top(KEYS, mechanism="truncated-geometric", exact=True, epsilon=1, delta=1e-6, output="r.json")
    numbers = [7] * 900 + [8] * 400
    hc.top(numbers, mechanism="truncated-geometric", exact=True, epsilon=1, delta=1e-6, output="n.json")
    hc.top(KEYS, epsilon=1, delta=1e-6, output="floor.json")
    hc.tree(["/a/b"] * 500, hierarchy="path/2", threshold=90, epsilon=1, delta=1e-6, output="tree.json")

    def call(*arguments):
        code = main(["order", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def rows(out):
    header, *lines = [line.split("\t") for line in out.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_places_of_all_keys(run):
    code, out, err = run("r.json", "--confidence", "0.999999")
    assert code == 0
    assert [row["key"] for row in rows(out)][:1] == ["tea"]
    assert rows(out)[0] == {"key": "tea", "rank": "1", "rank_lower": "1", "rank_upper": "1"}
    middle = {row["key"]: (row["rank_lower"], row["rank_upper"]) for row in rows(out)}
    assert middle["milk"] == middle["salt"] == ("2", "3")
    assert "Kendall's rank correlation of the published and the true order" in " ".join(err.split())
    assert "Privacy (1, 1e-06)-differential privacy for one event" in " ".join(err.split())


def test_the_largest_keys_for_sure_and_perhaps(run):
    code, out, _ = run("r.json", "--top", "2", "--confidence", "0.999999", "--json")
    found = json.loads(out)
    assert code == 0
    certain = {row["key"]: row["certain"] for row in found["rows"]}
    assert certain == {"tea": True, "milk": False, "salt": False}
    assert (found["kind"], found["confidence"]) == ("order", 0.999999)


def test_chosen_keys_and_their_order(run):
    code, out, err = run("r.json", "milk", "salt")
    assert (code, {row["key"] for row in rows(out)}) == (0, {"milk", "salt"})
    assert "These keys are published in their true order with a probability of about" in " ".join(err.split())
    code, out, err = run("r.json", "tea", "unheard")
    assert (code, [row["key"] for row in rows(out)]) == (0, ["tea"])
    assert "A key that was not published has no place; it may be too rare, or not sampled." in " ".join(
        err.split()
    )
    assert [row["key"] for row in rows(run("n.json", "8")[1])] == ["8"]


def test_quantiles(run):
    code, out, _ = run("r.json", "--quantile", "0.5", "--quantile", "1")
    found = rows(out)
    assert (code, [row["quantile"] for row in found]) == (0, ["0.5", "1"])
    assert int(found[1]["lower"]) <= 5000 <= int(found[1]["upper"])
    assert int(found[0]["value"]) <= int(found[1]["value"])


def test_limit_cuts_the_rows(run):
    assert len(rows(run("r.json", "--limit", "2")[1])) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["floor.json"], "sum and order statistics need a release by truncated-geometric or sample, got"),
        (["tree.json"], "tree.json is no table of keys and counts; order statistics need one."),
        (["r.json", "--top", "0"], "--top must be at least 1, got 0."),
        (["r.json", "--quantile", "1.5"], "fractions must lie between 0 and 1, got 1.5."),
        (["r.json", "--quantile", ".5", "tea"], "--quantile is of all keys, so leave out KEYS and --top."),
        (["n.json", "tea"], "keys of this release are of type int64; some of those given are not."),
        (["r.json", "--confidence", "1"], "--confidence must be strictly between 0 and 1, got 1.0."),
        (["none.json"], "none.json does not exist."),
    ],
)
def test_what_is_refused(run, arguments, sentence):
    code, out, err = run(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert " ".join(err.split()).startswith(sentence)
