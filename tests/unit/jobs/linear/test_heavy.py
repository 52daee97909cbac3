"""Heavy hitters by any frequency oracle: what is listed, what is sure, and what is refused."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.cli.main import main

ENVELOPE = (10, -30, 0.01)


class Listed:
    """An oracle of somebody else."""

    def __init__(self, counts):
        self.counts = counts

    def estimate(self, keys):
        return np.array([self.counts.get(key, 0) for key in keys])


def test_the_cut_and_the_bounds_are_those_of_the_theorem():
    counts = {"a": 71, "b": 70, "c": 69, "d": 110, "e": 109}
    found = hc.heavy_hitters(Listed(counts), [*counts, "a", "z"], threshold=100, envelope=ENVELOPE)
    assert found.table.to_pydict() == {
        "key": ["d", "e", "a", "b"],
        "count": [110, 109, 71, 70],
        "lower": [100, 99, 61, 60],
        "upper": [140, 139, 101, 100],
        "certain": [True, False, False, False],
    }
    assert (found.threshold, found.least, found.candidates, found.confidence) == (100, 60, 6, 0.99)
    assert len(found) == 4
    assert repr(found) == "<HeavyHitters: 4 of 6 candidates for a threshold of 100>"
    assert found.sentences[0] == (
        "With probability 0.99, at once: every candidate with a true count of at least 100 is listed, and"
        " every listed key has a true count of at least 60. Rows marked certain reach 100."
    )
    assert str(found).splitlines()[:2] == ["key\tcount\tlower\tupper\tcertain", "d\t110\t100\t140\tTrue"]
    assert "<td>d</td>" in found._repr_html_()


def test_every_true_count_that_the_envelope_allows_keeps_the_statements():
    """All counts and all errors within the envelope: nothing heavy is missed, nothing light is listed."""
    for true in range(130):
        for error in range(ENVELOPE[1], ENVELOPE[0] + 1):
            found = hc.heavy_hitters(Listed({"x": true + error}), ["x"], threshold=100, envelope=ENVELOPE)
            assert len(found) == 1 or true < 100
            assert len(found) == 0 or true >= found.least
            if len(found):
                row = found.table.to_pylist()[0]
                assert row["lower"] <= true <= row["upper"]
                assert true >= 100 or not row["certain"]


def test_many_candidates_of_count_min_are_bounded_by_noise_from_below():
    oracle = hc.oracle(["tea"] * 3000, epsilon=1.0, kind="count-min", depth=4, width=1024)
    names = ["tea", *map(str, range(999))]
    found = hc.heavy_hitters(oracle, names, threshold=2000)
    assert oracle.interval(1 - 0.05 / 1000)[1] is None
    assert -found.envelope[1] == math.ceil(4 * math.log(2 * 4 / (0.05 / 2000)))
    assert found.table["key"].to_pylist() == ["tea"]


def test_a_threshold_within_the_error_says_so():
    found = hc.heavy_hitters(Listed({}), ["x"], threshold=20, envelope=ENVELOPE)
    assert "a listed key need not occur at all: the threshold is within the error" in found.sentences[0]


def test_an_oracle_of_hushcount_knows_its_envelope(tmp_path):
    oracle = hc.oracle(["tea"] * 3000 + ["milk"] * 900, epsilon=1.0, kind="count-min", width=4096)
    path = tmp_path / "oracle.hc"
    oracle.save(path)
    found = hc.heavy_hitters(path, pa.array(["tea", "milk", "tea", "salt"]), share=0.25, max_events=4000)
    high, low = oracle.interval(1 - 0.05 / 3)
    assert found.envelope == pytest.approx((high, -low, 0.05))
    assert found.threshold == 1001
    assert found.table["key"].to_pylist() == ["tea"]
    assert found.table["certain"].to_pylist() == [True]


def test_the_command(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hc.oracle(["tea"] * 3000 + ["milk"] * 900, epsilon=1.0, delta=1e-6).save("oracle.hc")
    (tmp_path / "keys.txt").write_text("tea\nmilk\nsalt\n")
    assert main(["oracle", "heavy", "oracle.hc", "keys.txt", "--threshold", "2000"]) == 0
    out, err = capfd.readouterr()
    assert [line.split("\t")[0] for line in out.splitlines()] == ["key", "tea"]
    assert "every candidate with a true count of at least 2,000 is listed" in " ".join(err.split())
    asked = ["oracle", "heavy", "oracle.hc", "keys.txt", "--share", "0.5", "--max-events", "4000", "--json"]
    assert main(asked) == 0
    answer = json.loads(capfd.readouterr().out)
    assert [row["key"] for row in answer["rows"]] == ["tea"]
    assert answer["guarantee"]["epsilon"] == 1.0
    assert main(["oracle", "heavy", "oracle.hc", "keys.txt"]) == 2
    assert capfd.readouterr().err == (
        "Give either --threshold, a count, or --share, a fraction of --max-events, but not both.\n"
    )


TINY = hc.oracle(["a"] * 100, epsilon=1.0, kind="count-min", depth=1, width=16)
MINE = Listed({"a": 5})
CASES = {
    "both": (
        MINE,
        {"threshold": 5, "share": 0.5},
        "Give either threshold, a count, or share, a fraction of max_events, but not both.",
    ),
    "zero": (MINE, {"threshold": 0}, "threshold must be at least 1, got 0."),
    "share": (MINE, {"share": 1.5, "max_events": 9}, "share must be strictly between 0 and 1, got 1.5."),
    "whole": (MINE, {"share": 0.5}, "share needs max_events, the public bound it is a share of, got None."),
    "none": (MINE, {"threshold": 5}, "envelope must be (gamma1, gamma2, beta) for an object of your own."),
    "order": (
        MINE,
        {"threshold": 5, "envelope": (-1, 1, 0.1)},
        "gamma1 must be finite and at least gamma2, got -1 and 1.",
    ),
    "beta": (MINE, {"threshold": 5, "envelope": (1, -1, 1)}, "beta must be strictly between 0 and 1, got 1."),
    "its own": (
        TINY,
        {"threshold": 5, "envelope": (1, -1, 0.1)},
        "envelope is for an object of your own; an oracle of hushcount knows its own.",
    ),
    "cells": (
        TINY,
        {"threshold": 5},
        "The oracle has too few cells to bound the errors of 2 candidates at once with confidence 0.95; look"
        " up fewer, or build it with more rows or cells.",
    ),
    "type": (
        7,
        {"threshold": 5},
        "oracle must be an oracle, its file, or an object with a method estimate, got int.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refusals(case):
    oracle, given, sentence = CASES[case]
    with pytest.raises(hc.errors.ParameterError) as caught:
        hc.heavy_hitters(oracle, ["a", "b"], **given)
    assert str(caught.value) == sentence


def test_candidates_and_answers_are_checked():
    with pytest.raises(
        hc.errors.ParameterError, match=r"^candidates must hold at least one key, got none\.$"
    ):
        hc.heavy_hitters(MINE, [], threshold=5, envelope=ENVELOPE)

    class Odd:
        def estimate(self, keys):
            return [float("nan")] * len(keys)

    with pytest.raises(hc.errors.ParameterError, match=r"^oracle must return one finite number for each key"):
        hc.heavy_hitters(Odd(), ["a"], threshold=5, envelope=ENVELOPE)
