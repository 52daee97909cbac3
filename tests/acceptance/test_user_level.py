"""The command for users and for shards, from files to words and exit codes."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushcount.cli.main import main

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]
TOP = ["top", "events.parquet", "--column", "key"]
USER = ["--user", "user"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    users = [user for user in range(2000) for _ in range(3)] + [None] * 500
    keys = ["tea", "tea", "milk"] * 2000 + ["nobody"] * 500
    pq.write_table(pa.table({"key": keys, "user": users}), "events.parquet")
    for name in ("europe", "asia"):
        (tmp_path / f"{name}.csv").write_text("key\n" + "tea\n" * 1000 + f"{name}\n" * 1000 + "salt\n")
        (tmp_path / f"{name}.ints.csv").write_text("key\n" + "7\n" * 1000)


def run(capfd, *arguments):
    code = main(list(arguments))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_users(capfd):
    code, out, err = run(capfd, *TOP, *USER, "--max-keys", "2", *BUDGET)
    assert code == 0
    assert err.startswith("Protects one user, with everything they contribute.\n")
    assert sorted(line.split("\t")[0] for line in out.splitlines()[1:]) == ["milk", "tea"]
    assert "Route exact: " in err
    assert "Not taken, group: " in err
    assert "Not taken, pamg: " in err
    assert "Rows without a user or a key are dropped." in err


def test_json_states_the_unit(capfd):
    code, out, _ = run(capfd, *TOP, *USER, "--max-keys", "2", "--exact", "--json", *BUDGET)
    release = json.loads(out)
    assert code == 0
    assert release["guarantee"]["unit"] == "user"
    assert release["guarantee"]["epsilon"] == "1"
    assert all(1500 < row["count"] < 2500 for row in release["rows"])


def test_events_of_users(capfd):
    options = ["--count", "events", "--max-events-per-user", "3", "--json"]
    code, out, _ = run(capfd, *TOP, *USER, *options, *BUDGET)
    counts = {row["key"]: row["count"] for row in json.loads(out)["rows"]}
    assert code == 0
    assert 3500 < counts["tea"] < 4500
    assert 1500 < counts["milk"] < 2500


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (USER, "--max-keys must be given with --user to count users; it has no default."),
        ([*USER, "--max-keys", "0"], "--max-keys must be at least 1, got 0."),
        (["--user", "who", "--max-keys", "2"], "Column 'who' is not in the file; it has: key, user."),
        (["--max-keys", "2"], "--max-keys limits what each user contributes, so it needs --user, a column."),
        (
            ["--shards", "3"],
            "--shards, --row-id, --partition-by and --files-cut-by need --engine spark.",
        ),
        (
            ["--engine", "spark", *USER, "--max-keys", "2", "--row-id", "key"],
            "Rows are assigned to shards by one rule, got user and --row-id.",
        ),
        (
            ["--engine", "spark", "--checkpoint", "run.hc"],
            "--checkpoint cannot be combined with the Spark engine, which repeats lost tasks by itself.",
        ),
    ],
)
def test_bad_usage(capfd, options, sentence):
    assert run(capfd, *TOP, *options, *BUDGET) == (2, "", f"{sentence}\n")


def sketches(capfd, *names):
    for name in names:
        run(capfd, "sketch", f"{name}.csv", "--column", "key", "--counters", "64", "-o", f"{name}.hc")
    return [f"{name}.hc" for name in names]


def test_shards(capfd):
    files = sketches(capfd, "europe", "asia")
    code, out, err = run(capfd, "release", *files, *BUDGET)
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()][:2] == ["key", "tea"]
    assert {line.split("\t")[0] for line in out.splitlines()[1:]} == {"tea", "europe", "asia"}
    assert "the shard of an event is a function of the event alone" in " ".join(err.split())


def test_shards_that_do_not_fit(capfd):
    files = sketches(capfd, "europe", "asia")
    twice = run(capfd, "release", files[0], files[0], *BUDGET)
    same = "europe.hc and europe.hc are sketches of the same data, so their events would count twice;"
    assert twice == (1, "", f"{same} take only one of them.\n")
    run(capfd, "sketch", "asia.ints.csv", "--column", "key", "--type", "int", "-o", "ints.hc")
    mixed = run(capfd, "release", files[0], "ints.hc", *BUDGET)
    assert mixed == (1, "", "ints.hc has other key columns or another unit than europe.hc.\n")
    run(capfd, "sketch", "asia.csv", "--column", "key", "--kind", "exact", "-o", "exact.hc")
    code, _, err = run(capfd, "release", files[0], "exact.hc", *BUDGET)
    assert (code, err) == (
        2,
        "shards is proved for SpaceSaving and MisraGries sketches, got Exact; merge them, and release the"
        " sum.\n",
    )
    bounded = run(capfd, "release", *files, "--max-events", "2000", *BUDGET)
    assert bounded[0] == 1
    assert bounded[2].startswith("The sketches hold more than --max-events = 2000 events")
