"""Every command that reads data takes --database with --sql or --relation."""

import sqlite3

import duckdb
import pytest

from hushcount.cli.main import main

BUDGET = ("--epsilon", "20", "--delta", "1e-6")
WITH = "Give either --sql or --relation with --database, and no FILE."


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(f"10.0.0.{n % 3}", f"u{n % 100}") for n in range(3000)]
    if request.param == "sqlite":
        connection = sqlite3.connect("a.db")
        connection.execute("CREATE TABLE t (ip TEXT, who TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()
    else:
        connection = duckdb.connect("a.db")
        rows = "SELECT '10.0.0.' || n % 3 AS ip, 'u' || n % 100 AS who FROM range(3000) r(n)"
        connection.execute(f"CREATE TABLE t AS {rows}")
    connection.close()
    return "a.db"


def run(capfd, *arguments):
    code = main(list(arguments))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


COMMANDS = {
    "top": (*BUDGET,),
    "tree": (*BUDGET, "--hierarchy", "ipv4/8", "--threshold", "500"),
    "sample": (*BUDGET, "--rate", "1"),
    "keys": (*BUDGET, "--user", "who", "--max-keys", "3"),
    "sketch": ("--output", "s.hc"),
    "oracle": (*BUDGET, "--output", "o.hc"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("asked", [("--relation", "t"), ("--sql", "SELECT * FROM t")])
def test_every_command_reads_a_database(capfd, database, name, asked):
    code, out, err = run(capfd, name, "--database", database, *asked, "--column", "ip", *COMMANDS[name])
    assert code == 0, err
    if name in ("top", "sample"):
        rows = [line.split("\t")[:2] for line in out.splitlines()[1:]]
        assert sorted(rows) == [["10.0.0.0", "1000"], ["10.0.0.1", "1000"], ["10.0.0.2", "1000"]]
    if name == "sketch":
        code, out, err = run(capfd, "release", "s.hc", *BUDGET)
        assert code == 0, err
        assert sorted(line.split("\t")[0] for line in out.splitlines()[1:]) == [
            "10.0.0.0",
            "10.0.0.1",
            "10.0.0.2",
        ]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("--database", "a.db"), WITH),
        (("--database", "a.db", "--sql", "SELECT 1", "--relation", "t"), WITH),
        (("b.csv", "--database", "a.db", "--relation", "t"), WITH),
        (("--relation", "t"), "--relation names a table of a database, so it needs --database."),
        (("--database", "no.db", "--relation", "t"), "no.db does not exist."),
        (
            ("postgresql://me:hunter2@127.0.0.1:1/shop",),
            "Give sql or relation with postgresql://127.0.0.1:1/shop: a database holds many tables.",
        ),
        (
            ("--database", "a.db", "--relation", "t", "--engine", "spark"),
            "sql and relation cannot be combined with the Spark engine.",
        ),
    ],
)
def test_sentences(capfd, tmp_path, monkeypatch, asked, sentence):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capfd, "top", *asked, *BUDGET)
    assert out == ""
    assert code in (1, 2)
    assert sentence in err.replace("--sql or --relation with postgresql", "sql or relation with postgresql")
    assert "hunter2" not in err
