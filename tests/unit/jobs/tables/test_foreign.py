"""Misra-Gries tables of other programs from files, by the command line."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import hushcount as hc
from hushcount.cli.main import main

LARGE = 1 << 38  # a weight would be cut to 2^31 - 1
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("theirs.csv").write_text(f"key,counter\ntea,{LARGE}\nmilk,1302\nsalt,2\n")

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def sketch(*more, data="theirs.csv", column="key", counts="counter"):
    names = ("--column", column, "--counts", counts, "--kind", "misra-gries")
    return ("sketch", data, *names, *more, "-o", "theirs.hc")


def test_a_table_is_written_and_released(run):
    code, out, err = run(*sketch("--counters", "64"))
    assert (code, out) == (0, "")
    assert err == "theirs.hc is raw data, not a release: do not publish it.\n"
    assert hc.load("theirs.hc").estimate(["tea", "milk", "salt", "rice"]).tolist() == [LARGE, 1302, 2, 0]
    code, out, err = run("release", "theirs.hc", *BUDGET)
    rows = dict(line.split("\t")[:2] for line in out.splitlines()[1:])
    assert (code, set(rows)) == (0, {"tea", "milk"})
    assert abs(int(rows["tea"]) - LARGE) < 200
    assert "the table is that of one Misra-Gries sketch of 64 counters" in " ".join(err.split())
    assert run("release", "theirs.hc", *BUDGET, "--mechanism", "floor")[0] == 2


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.int64()])
def test_parquet_and_sql(run, kind):
    table = pa.table({"key": [7, 8, 9], "counter": pa.array([500, 30, 0], kind)})
    parquet.write_table(table, "theirs.parquet")
    assert run(*sketch("--counters", "4", data="theirs.parquet"))[0] == 0
    assert hc.load("theirs.hc").estimate([7, 8, 9]).tolist() == [500, 30, 0]
    Path("theirs.hc").unlink()
    query = "SELECT key, counter FROM 'theirs.parquet' ORDER BY key"
    names = ("--column", "key", "--counts", "counter", "--kind", "misra-gries", "--counters", "4")
    assert run("sketch", "--sql", query, *names, "-o", "theirs.hc")[0] == 0
    assert hc.load("theirs.hc").estimate([7, 8, 9]).tolist() == [500, 30, 0]


MISSING = (
    "A row has no key, no counter, or a key that is too long; the table must be whole, so correct that row."
)
NO_NUMBER = "A counter is not a whole number below 2^63; the table must be whole, so correct that row."


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ("tea,5\nmilk,\n", MISSING),
        ("tea,5\n,7\n", MISSING),
        ("tea,5\nmilk,few\n", NO_NUMBER),
        (f"tea,5\nmilk,{1 << 63}\n", NO_NUMBER),
        ("tea,5\nmilk,2.5\n", NO_NUMBER),
        ("tea,5\nmilk,-1\n", "counts must be at least 0, got a negative one: a counter is never below 0."),
        ("tea,5\ntea,7\n", "keys must be different, got one twice: tables of parts cannot be put together."),
        (
            "".join(f"k{key},1\n" for key in range(65)),
            "counters must be at least the number of keys with a positive counter.",
        ),
        (f"tea,{(1 << 63) - 1}\nmilk,{(1 << 63) - 1}\n", "counts must add up to at most"),
    ],
)
def test_bad_tables(run, rows, text):
    Path("theirs.csv").write_text("key,counter\n" + rows)
    code, out, err = run(*sketch("--counters", "64"))
    assert (code in (1, 2), out) == (True, "")
    assert text.replace("counts", "--counts").replace("counters", "--counters") in err or text in err
    assert not Path("theirs.hc").exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (sketch(), "--counts needs --counters: how many the other program had, used or not."),
        (sketch("--counters", "1"), "--counters must be at least 2, got 1."),
        (
            sketch("--counters", "64", "--kind", "exact"),
            "so it needs --kind misra-gries, got exact.",
        ),
        (
            (
                "sketch",
                "theirs.csv",
                "-c",
                "key",
                "--counts",
                "counter",
                "--counters",
                "64",
                "-o",
                "theirs.hc",
            ),
            "--counts takes the table of a Misra-Gries sketch, so it needs --kind misra-gries, got"
            " space-saving.",
        ),
        (sketch("--counters", "64", counts="key"), "--counts needs --column, the one other column,"),
        (
            sketch("--counters", "64", "--user", "key", "--max-keys", "1"),
            "--counts cannot be combined with --user: the table has no users any more.",
        ),
        (
            sketch("--counters", "64", "--window", "2024-05-01", "--time", "key"),
            "--counts cannot be combined with --window: a part of a table is another table.",
        ),
        (
            sketch("--counters", "64", "--checkpoint", "c.hc"),
            "--counts cannot be combined with --checkpoint: a table is read at once.",
        ),
    ],
)
def test_refused(run, arguments, text):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert not Path("theirs.hc").exists()


def test_a_column_that_is_called_count(run):
    Path("theirs.csv").write_text("key,count\ntea,5\n")
    assert run(*sketch("--counters", "64", counts="count"))[0] == 0
    assert hc.load("theirs.hc").estimate(["tea"]).tolist() == [5]
