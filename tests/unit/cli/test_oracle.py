"""`hushcount oracle`: build, query, merge; what is said, and what is refused (whole texts)."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.cli.main import main
from hushcount.releases.oracle import Oracle

KEYS = ["tea"] * 900 + ["milk"] * 600 + ["ta\tb"] * 300
BUDGET = ("--epsilon", "1", "--delta", "1e-6")
SMALL = (*BUDGET, "--width", "8192")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"item": KEYS, "number": range(len(KEYS))}), "a.parquet")

    def call(*arguments):
        code = main(["oracle", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_build_and_query(run, tmp_path):
    code, out, err = run("a.parquet", "--column", "item", *SMALL, "--output", "o.hc")
    assert (code, out) == (0, "")
    assert err.startswith(
        "Protects one event, not one person.\nPrivacy   (1, 1e-06)-differential privacy for one event"
    )
    assert "This file contains only noisy cells and public parameters; it may be published." in err
    words = " ".join(err.split())
    assert (
        "With confidence 0.95 the true count of a key chosen before seeing the result lies between" in words
    )
    assert (tmp_path / "o.hc").stat().st_mode & 0o777 == 0o644
    code, out, err = run("query", "o.hc", "tea", "nothing", "ta\tb")
    assert (code, err) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["key", "count", "lower", "upper"]
    assert [line[0] for line in lines[1:]] == ["tea", "nothing", "ta\\tb"]
    assert int(lines[1][1]) == pytest.approx(900, abs=100)
    assert run("query", "o.hc", "tea")[1] == run("query", "o.hc", "tea")[1]


def test_keys_from_a_file_and_as_json(run, tmp_path):
    run("build", "a.parquet", "-c", "item", "--epsilon", "1", "--kind", "count-min", "-o", "o.hc")
    (tmp_path / "keys.txt").write_text("milk\ntea\r\n")
    code, out, _ = run("query", "o.hc", "--keys", "keys.txt", "--json", "--confidence", "0.5")
    answer = json.loads(out)
    assert code == 0
    assert [row["key"] for row in answer["rows"]] == ["milk", "tea"]
    assert answer["guarantee"]["delta"] == 0
    assert (answer["hushcount"], answer["kind"]) == (1, "answers")


def test_numbers(run):
    run("a.parquet", "-c", "number", *SMALL, "-o", "o.hc")
    assert run("query", "o.hc", "5", "-7")[0] == 2  # an option, for click
    assert run("query", "o.hc", "5", "--", "-7")[0] == 0
    text = "keys of this oracle are of type int64; some of those given are not.\n"
    assert run("query", "o.hc", "tea") == (1, "", text)


def test_merge(run):
    run("a.parquet", "-c", "item", *SMALL, "-o", "a.hc")
    run("a.parquet", "-c", "item", *BUDGET, "--like", "a.hc", "-o", "b.hc")
    run("a.parquet", "-c", "item", *SMALL, "-o", "c.hc")
    code, _, err = run("merge", "a.hc", "b.hc", "-o", "both.hc")
    assert code == 0
    assert "no event is in more than one of the merged oracles" in " ".join(err.split())
    assert Oracle.load("both.hc").estimate(["tea"])["count"].to_pylist() == pytest.approx([1800], abs=150)
    text = (
        "These oracles use different hash functions, so they cannot be merged. Rebuild the second like the"
        " first (--like FIRST, or like=FIRST).\n"
    )
    assert run("merge", "a.hc", "c.hc", "-o", "x.hc") == (2, "", text)
    text = "merge needs oracles of different events, got the same one twice.\n"
    assert run("merge", "a.hc", "b.hc", "a.hc", "-o", "x.hc") == (2, "", text)
    assert run("merge", "both.hc", "a.hc", "-o", "x.hc") == (2, "", text)
    before = Path("a.hc").read_bytes()
    text = "./a.hc is read by this run, so it cannot be written; name another file.\n"
    assert run("merge", "a.hc", "b.hc", "-o", "./a.hc") == (2, "", text)
    assert Path("a.hc").read_bytes() == before


def test_text_of_an_oracle_file_cannot_reach_the_terminal(run):
    run("a.parquet", "-c", "item", *SMALL, "-o", "a.hc")
    run("a.parquet", "-c", "item", *BUDGET, "--like", "a.hc", "-o", "b.hc")
    forged = replace(Oracle.load("b.hc"), notes=("\x1b[2J\u202eall is well",))
    forged.save("b.hc")
    code, _, err = run("merge", "a.hc", "b.hc", "-o", "both.hc")
    assert code == 0
    assert "\\x1b[2J\\u202eall is well" in err
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ("a.parquet", "-c", "item", "--epsilon", "1", "-o", "o.hc"),
            2,
            "--delta must be given for count-sketch; count-min needs none.",
        ),
        (("a.parquet", "-c", "item", *BUDGET), 2, "--output must be given: the oracle file to write."),
        (
            ("a.parquet", "-c", "item", "-c", "number", *BUDGET, "-o", "o"),
            2,
            "--column must be one name for an oracle.",
        ),
        (
            ("a.parquet", "-c", "item", *BUDGET, "-o", "no/o"),
            1,
            "Cannot write no/o: the folder no does not exist.",
        ),
        (("query", "no.hc", "a"), 1, "no.hc does not exist."),
        (("query", "a.parquet", "a"), 1, "a.parquet is not a hushcount oracle."),
    ],
)
def test_refusals(run, arguments, code, text):
    assert run(*arguments) == (code, "", text + "\n")


def test_nothing_asked(run):
    run("a.parquet", "-c", "item", *SMALL, "-o", "o.hc")
    assert run("query", "o.hc") == (2, "", "KEYS must be given, as words or with --keys.\n")
    assert run("query", "o.hc", "--keys", "no.txt") == (
        1,
        "",
        "Cannot read no.txt: no such file or directory.\n",
    )
    with open("bad.txt", "wb") as stream:
        stream.write(b"\xff\n")
    assert run("query", "o.hc", "--keys", "bad.txt") == (1, "", "bad.txt has text that is not valid UTF-8.\n")


def test_other_commands_refuse_an_oracle(run, capfd):
    run("a.parquet", "-c", "item", *SMALL, "-o", "o.hc")
    capfd.readouterr()
    assert main(["release", "o.hc", *BUDGET]) == 1
    assert capfd.readouterr().err == "o.hc is an oracle, not a sketch; ask it with hushcount oracle query.\n"


def test_top_says_that_the_envelope_is_worse(run, capfd):
    arguments = ("top", "a.parquet", "-c", "item", *BUDGET, "--counters", "64", "--max-events", "5000")
    assert main([*arguments, "--mechanism", "count-sketch-envelope"]) == 0
    assert "so the envelope is worse here" in " ".join(capfd.readouterr().err.split())


def test_no_command_shows_the_help(run):
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out.startswith("Usage: hushcount oracle [OPTIONS] COMMAND [ARGS]...\n\n")
    assert run("query") == (2, "", "ORACLE must be given.\n")
