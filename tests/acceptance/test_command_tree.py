"""`hushcount tree`: the indented tree, the pipe, JSON, files, and refusals."""

import json
from pathlib import Path

import pytest

from hushcount.cli.main import main

BUDGET = ("--epsilon", "1", "--delta", "1e-9")
KEYS = ["10.1.0.1"] * 3000 + [f"10.2.{i % 50}.{i % 250}" for i in range(2000)] + ["secret"]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("flows.csv").write_text("src\n" + "\n".join(KEYS) + "\n")
    Path("cycle.csv").write_text("child,parent\nsecret1,secret2\nsecret2,secret1\n")

    def call(*arguments):
        code = main(["tree", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def flows(*options):
    return ("flows.csv", "--column", "src", "--hierarchy", "ipv4/8", *options, *BUDGET)


@pytest.mark.parametrize("method", ["offline", "streaming"])
def test_pipe(run, method):
    code, out, err = run(*flows("--threshold", "1000", "--method", method))
    assert code == 0
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows[0] == ["node", "level", "parent", "residual", "total", "lower", "upper", "near_threshold"]
    assert [row[:3] for row in rows[1:]] == [["10.1.0.1", "4", ""], ["10.2.0.0/16", "2", ""]]
    assert err.startswith("Protects one event, not one person.\n")
    assert "secret" not in out + err


def test_table(run):
    code, out, err = run(*flows("--threshold", "1000", "--table"))
    assert code == 0
    assert out.splitlines()[1].split() == [
        "node",
        "residual",
        "total",
        "95%",
        "interval",
        "of",
        "the",
        "total",
    ]
    assert "10.2.0.0/16" in out
    assert "Malformed keys are dropped." in err


def test_json_output_and_plot(run):
    options = ("--share", "0.25", "--max-events", "10000", "--json", "-o", "t.parquet", "--plot", "t.svg")
    code, out, _ = run(*flows(*options))
    assert code == 0
    values = json.loads(out)
    assert (values["kind"], values["threshold"], values["height"]) == ("tree", 2500, 4)
    assert values["rows"][0]["node"] == "10.1.0.1"
    assert Path("t.parquet").exists()
    assert Path("t.svg").read_text().startswith("<svg")


def test_an_empty_tree_says_so(run):
    code, _, err = run(*flows("--threshold", "100000", "--table"))
    assert code == 0
    assert err.splitlines()[1:5] == [
        "Empty     No node was published. Possible causes, the same for any data:",
        "          - every node is too rare: it needs a noisy residual of at least 100,000;",
        "          - the sketch has too few counters (--counters, with --method streaming);",
        "          - the keys are null, or malformed for this hierarchy.",
    ]


CASES = {
    "threshold": (
        flows("--threshold", "many"),
        "Invalid value for '--threshold': 'many' is not a valid integer.\n",
    ),
    "none": (
        flows(),
        "Give either --threshold, a count, or --share, a fraction of --max-events, but not both.\n",
    ),
    "cycle": (
        ("flows.csv", "-c", "src", "-H", "parents:cycle.csv", "--threshold", "1000", *BUDGET),
        None,
    ),
    "no hierarchy": (
        ("flows.csv", "-c", "src", "--threshold", "9", *BUDGET),
        "--hierarchy must be given: ipv4/8|4|1, ipv6/16|8|4,"
        " ip/8|4|1 for both, domain[/N], path[/N], date, columns:A,B,..., or parents:FILE.csv"
        " (lines child,parent).\n",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), CASES.values(), ids=CASES)
def test_bad_usage(run, arguments, text):
    code, out, err = run(*arguments)
    assert (code in (1, 2), out, len(err.splitlines())) == (True, "", 1)
    assert text in (None, err)
    assert "secret" not in err


def test_too_low_a_threshold_is_told_the_least(run):
    code, out, err = run(*flows("--threshold", "5"))
    assert (code, out) == (2, "")
    least = err.split("at least ")[1].split()[0]
    assert run(*flows("--threshold", least))[0] == 0


def test_malformed_keys_can_stop_the_run(run):
    code, out, err = run(*flows("--threshold", "1000", "--on-bad", "fail"))
    assert (code, out) == (1, "")
    assert err == (
        "The data have a key that is malformed for hierarchy ipv4/8 (--on-bad fail)."
        " An address is written alone: cut off a port (host:port), brackets and a zone first.\n"
    )
