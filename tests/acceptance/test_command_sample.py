"""`hushcount sample`: its table, its JSON, and its refusals."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.cli.main import main

BUDGET = ("--epsilon", "1", "--delta", "1e-12")
KEYS = ["tea"] * 9000 + ["milk"] * 6000 + [f"rare{i}" for i in range(50)]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"item": KEYS}), "a.parquet")

    def call(*arguments):
        code = main(["sample", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_pipe(run):
    code, out, err = run("a.parquet", "--column", "item", "--rate", "0.01", "--power", "1", *BUDGET)
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["key", "count", "lower", "upper", "sanitised", "estimate"]
    assert [line[0] for line in lines[1:]] == ["tea", "milk"]
    assert err.startswith("Protects one event, not one person.")
    assert "private weighted sampling" in err
    assert "rare" not in out + err


def test_json_size_and_output(run):
    options = ("--size", "100", "--max-events", "20000", "--scheme", "ppswor", "--json", "-o", "s.tsv")
    code, out, _ = run("a.parquet", "-c", "item", *options, *BUDGET)
    assert code == 0
    values = json.loads(out)
    assert values["guarantee"]["parameters"] == {"scheme": "ppswor (rate 0.005, power 1)"}
    assert [row["key"] for row in values["rows"]] == ["tea", "milk"]
    with open("s.tsv") as lines:
        assert len(lines.readlines()) == 3


def test_table(run):
    code, out, _ = run("a.parquet", "-c", "item", "--rate", "1", "--power", "0", "--table", *BUDGET)
    assert code == 0
    assert out.splitlines()[1].split() == ["#", "key", "count", "95%", "interval", "sanitised", "estimate"]
    assert "tea" in out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "Give either --rate, or --size, or --probabilities, got none.\n"),
        (("--rate", "0"), "--rate must be a finite number above 0, got 0.0.\n"),
        (("--rate", "0.1", "--power", "2.5"), "--power must lie between 0 and 2, got 2.5.\n"),
        (
            ("--size", "9", "--total-share", "2"),
            "--total-share must be strictly between 0 and 1, got 2.0.\n",
        ),
        (
            ("--rate", "0.1", "--total-share", "0.1"),
            "--total-share needs --size, without --max-events: it is what a noisy total takes of epsilon.\n",
        ),
        (("--rate", "0.1", "--scheme", "x"), "--scheme must be one of pps, ppswor, got x.\n"),
    ],
)
def test_bad_usage(run, options, text):
    assert run("a.parquet", "-c", "item", *options, *BUDGET) == (2, "", text)


def test_no_delta_no_release(run):
    code, out, err = run("a.parquet", "-c", "item", "--rate", "0.1", "--epsilon", "1", "--delta", "0")
    assert (code, out, err) == (2, "", "--delta must be strictly between 0 and 1, got 0.0.\n")
