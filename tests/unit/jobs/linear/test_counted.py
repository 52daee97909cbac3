"""Oracles of sketches that were counted before: from the command line, merged, charged to a ledger."""

import json
import os

import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.jobs import checkpoints

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
FAR = 250  # noise is further off with a probability below 1e-9


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for part, times in (("a", 900), ("b", 500)):
        (tmp_path / f"{part}.csv").write_text("key\n" + "tea\n" * times + "milk\n" * 300)

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_parts_are_counted_apart_merged_and_published(run, kind):
    assert run("sketch", "a.csv", "-c", "key", "--kind", kind, "-o", "a.hc")[0] == 0
    assert run("sketch", "b.csv", "-c", "key", "--kind", kind, "--like", "a.hc", "-o", "b.hc")[0] == 0
    assert os.stat("a.hc").st_mode & 0o777 == 0o600
    assert run("merge", "a.hc", "b.hc", "-o", "both.hc")[0] == 0
    code, _, err = run("oracle", "both.hc", *BUDGET, "-o", "oracle.hc")
    assert (code, "No event is in two of the 2 merged sketches; you state it." in err) == (0, True)
    answers = hc.Oracle.load("oracle.hc").estimate(["tea", "milk"])
    for count, truth in zip(answers["count"].to_pylist(), (1400, 600), strict=True):
        assert abs(count - truth) < FAR


def test_a_sketch_file_is_charged_once_and_recognised(run):
    run("sketch", "a.csv", "-c", "key", "--kind", "count-min", "-o", "a.hc")
    run("ledger", "init", "l.db", "--dataset", "d", "--epsilon", "3", "--delta", "1e-6")
    spending = ("oracle", "a.hc", "--epsilon", "1", "--ledger", "l.db", "--dataset", "d")
    assert run(*spending, "-o", "one.hc")[0] == 0
    assert run(*spending, "-o", "again.hc")[0] == 0  # the stored answer
    keys = ["tea", "milk", "salt"]
    assert hc.Oracle.load("one.hc").estimate(keys) == hc.Oracle.load("again.hc").estimate(keys)
    shown = json.loads(run("ledger", "show", "l.db", "--json")[1])
    assert float(shown["datasets"][0]["spent"]["basic_epsilon"]) == 1


def test_a_dry_run_draws_nothing(run):
    run("sketch", "a.csv", "-c", "key", "--kind", "count-min", "-o", "a.hc")
    code, out, _ = run("oracle", "a.hc", "--epsilon", "1", "-o", "o.hc", "--dry-run")
    assert (code, os.path.exists("o.hc")) == (0, False)
    assert "No noise was drawn, and nothing was spent." in out


def test_an_oracle_continues_from_its_checkpoint(run, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    (tmp_path / "long.csv").write_text("key\n" + "tea\nmilk\n" * 400_000)

    def stop(done, size):
        raise KeyboardInterrupt

    options = {"column": "key", "epsilon": 1.0, "kind": "count-min", "checkpoint": "run.hc"}
    with pytest.raises(KeyboardInterrupt):
        hc.oracle("long.csv", progress=stop, **options)
    stopped = hc.load("run.hc")
    assert isinstance(stopped, hc.CountMin)
    assert 0 < stopped.total < 800_000
    found = hc.oracle("long.csv", **options)
    assert not os.path.exists("run.hc")
    assert abs(found.estimate(["tea"])["count"][0].as_py() - 400_000) < FAR


def test_a_checkpoint_of_another_size_or_hash_is_refused(run):
    hc.oracle("a.csv", column="key", epsilon=1.0, kind="count-min", output="o.hc")

    def stop(done, size):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hc.oracle("a.csv", column="key", epsilon=1.0, kind="count-min", checkpoint="run.hc", progress=stop)
    words = (
        "oracle",
        "build",
        "a.csv",
        "-c",
        "key",
        "--epsilon",
        "1",
        "--checkpoint",
        "run.hc",
        "-o",
        "x.hc",
    )
    assert run(*words, "--kind", "count-min", "--depth", "7")[2] == (
        "run.hc was saved for another sketch (mechanism, hierarchy, counters or budget), so it cannot be"
        " resumed. Delete it to start again.\n"
    )
    assert run(*words, "--like", "o.hc")[2] == (
        "checkpoint was saved with other hash functions than those of like. Delete it to start again.\n"
    )


BAD = {
    "another kind": (
        ("oracle", "s.hc", *BUDGET, "-o", "o.hc"),
        "s.hc is a sketch of another kind. An oracle takes one of kind count-min or count-sketch;"
        " hushcount release publishes the others.\n",
    ),
    "a column": (
        ("oracle", "c.hc", "-c", "key", "--epsilon", "1", "-o", "o.hc"),
        "a sketch has its own kind, size, hash key and keys; give only the budget.\n",
    ),
    "itself": (
        ("oracle", "c.hc", "--epsilon", "1", "-o", "c.hc"),
        "c.hc is read by this run, so it cannot be written; name another file.\n",
    ),
    "counted again": (
        ("top", "c.hc", *BUDGET),
        "c.hc is a sketch file, not data to count; hushcount release publishes it, and hushcount inspect says"
        " what it holds.\n",
    ),
    "like nothing of the kind": (
        ("sketch", "a.csv", "-c", "key", "--kind", "count-sketch", "--like", "c.hc", "-o", "x.hc"),
        "--like must be a sketch or oracle of kind count-sketch.\n",
    ),
    "like and a size": (
        (
            "sketch",
            "a.csv",
            "-c",
            "key",
            "--kind",
            "count-min",
            "--like",
            "c.hc",
            "--depth",
            "3",
            "-o",
            "x.hc",
        ),
        "--like cannot be combined with depth and width, which it gives.\n",
    ),
    "counters of cells": (
        ("sketch", "a.csv", "-c", "key", "--kind", "count-min", "--counters", "9", "-o", "x.hc"),
        "--counters cannot be combined with kind count-min.\n",
    ),
    "depth of counters": (
        ("sketch", "a.csv", "-c", "key", "--depth", "4", "-o", "x.hc"),
        "--depth cannot be combined with kind space-saving.\n",
    ),
    "no hierarchy": (
        ("sketch", "a.csv", "-c", "key", "--kind", "hierarchy", "-o", "x.hc"),
        "kind hierarchy needs --hierarchy, such as ipv4/8.\n",
    ),
    "cells of users": (
        (
            "sketch",
            "a.csv",
            "-c",
            "key",
            "--user",
            "key",
            "--max-keys",
            "1",
            "--kind",
            "count-min",
            "-o",
            "x.hc",
        ),
        "kind count-min cannot be combined with --user: a sketch file of users is space-saving, misra-gries,"
        " exact, user-misra-gries.\n",
    ),
    "a malformed key": (
        (
            "sketch",
            "a.csv",
            "-c",
            "key",
            "--kind",
            "hierarchy",
            "-H",
            "ipv4/8",
            "--on-bad",
            "fail",
            "-o",
            "x.hc",
        ),
        "The data have a key that is malformed for hierarchy ipv4/8 (--on-bad fail)."
        " An address is written alone: cut off a port (host:port), brackets and a zone first.\n",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(run, case):
    run("sketch", "a.csv", "-c", "key", "-o", "s.hc")
    run("sketch", "a.csv", "-c", "key", "--kind", "count-min", "-o", "c.hc")
    words, sentence = BAD[case]
    code, out, err = run(*words)
    assert (code != 0, out, err) == (True, "", sentence)
    assert not os.path.exists("x.hc")


def test_a_tree_of_a_sketch_file(run, tmp_path):
    (tmp_path / "flows.csv").write_text("ip\n" + "10.1.0.1\n" * 900 + "10.2.0.7\nnone\n")
    assert run("sketch", "flows.csv", "-c", "ip", "--kind", "hierarchy", "-H", "ipv4/8", "-o", "t.hc")[0] == 0
    code, out, _ = run("release", "t.hc", *BUDGET)
    assert code == 0
    assert out.splitlines()[1].startswith("10.1.0.1\t4\t")
