"""The examples for the tools around: a script for cron, a model of dbt-duckdb, a DAG of Airflow."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import hushcount as hc

TOOLS = Path(__file__).parents[2] / "examples" / "tools"
LINES = "".join(f"/{n % 3},2026-11-{n % 2 + 17}T06:00:00Z\n" for n in range(3000))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(f"page,at\n{LINES}")
    hc.Ledger("spent.db").init("visits", epsilon=0.15, delta=1e-6, unit="event")
    return tmp_path


def nightly(day, **more):
    """Run the script; in place of sleep a command is run that says so."""
    bin_folder = Path("bin")
    bin_folder.mkdir(exist_ok=True)
    sleep = bin_folder / "sleep"
    sleep.write_text('#!/bin/sh\necho "$1" >>slept\n[ ! -e late.csv ] || mv late.csv visits.csv\n')
    sleep.chmod(0o755)
    path = os.pathsep.join((str(bin_folder.absolute()), str(Path(sys.executable).parent), os.environ["PATH"]))
    settings = {"SOURCE": "visits.csv", "OUTPUT": "out.duckdb#top_pages", "TRIES": "3", "PAUSE": "5", **more}
    done = subprocess.run(
        ["sh", TOOLS / "nightly.sh", day],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, **settings},
        check=False,
    )
    slept = Path("slept").read_text().split() if Path("slept").exists() else []
    Path("slept").unlink(missing_ok=True)
    errors = [json.loads(line)["error"] for line in done.stderr.splitlines() if "error" in json.loads(line)]
    return done.returncode, slept, errors


def rows():
    with duckdb.connect("out.duckdb") as connection:
        return connection.execute("SELECT * FROM top_pages ORDER BY ALL").fetchall()


def test_a_day_is_paid_and_written_once(folder):
    assert nightly("2026-11-17") == (0, [], [])
    first = rows()
    assert [row[0] for row in first] == ["/0", "/1", "/2"]
    assert nightly("2026-11-17") == (0, [], [])
    assert rows() == first


def test_what_failed_for_now_is_tried_again(folder):
    (folder / "visits.csv").rename(folder / "late.csv")
    code, slept, errors = nightly("2026-11-17")
    assert (code, slept, len(errors)) == (0, ["5"], 1), errors
    assert [error["kind"] for error in errors] == ["DataError"]
    assert len(rows()) == 3
    (folder / "visits.csv").unlink()
    code, slept, errors = nightly("2026-11-18")
    assert (code, slept) == (1, ["5", "10"])
    assert [error["message"] for error in errors] == ["visits.csv does not exist."] * 3


def test_refusals_are_not_tried_again(folder):
    code, slept, errors = nightly("2026-11-17", SOURCE="visits.csv --on-bad maybe")
    assert (code, slept, [error["kind"] for error in errors]) == (2, [], ["UsageError"])
    nightly("2026-11-17")
    code, slept, errors = nightly("2026-11-17", SOURCE="visits.csv --again")
    assert (code, slept, [error["kind"] for error in errors]) == (1, [], ["BudgetExceeded"])


class Dbt:
    """What dbt hands to a model: its configuration, and other models as relations of DuckDB."""

    def __init__(self, connection):
        self._connection = connection
        self.config = self

    def __call__(self, materialized):
        assert materialized == "table"

    def get(self, name):
        return {"day": "2026-11-17"}[name]

    def ref(self, name):
        return self._connection.table(name)


def test_the_model_of_dbt(folder):
    hc.Ledger("spent.db").init("rows", epsilon=0.15, delta=1e-6, unit="result-row")
    source = (TOOLS / "dbt_top_pages.py").read_text().replace('"visits", "run_id"', '"rows", "run_id"')
    space = {}
    exec(compile(source, "dbt_top_pages.py", "exec"), space)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE visits AS SELECT '/' || (i % 3) AS page FROM range(3000) t(i)")
        table = space["model"](Dbt(connection), connection)
        assert table.equals(space["model"](Dbt(connection), connection))
        assert sorted(table["key"].to_pylist()) == ["/0", "/1", "/2"]


def test_a_relation_goes_in_and_a_release_out_as_arrow():
    with duckdb.connect() as connection:
        visits = connection.sql("SELECT '/' || (i % 3) AS page FROM range(3000) t(i)")
        release = hc.top(visits, epsilon=20, delta=1e-8)
        assert pa.table(release).equals(release.table)
        assert connection.sql("SELECT count(*) FROM release").fetchall() == [(3,)]


def test_the_dag_is_python():
    tree = ast.parse((TOOLS / "airflow_dag.py").read_text())
    asked = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "hc.top"
    ]
    names = {keyword.arg for keyword in asked[0].keywords}
    assert names <= set(hc.top.__kwdefaults__) | {"delta"}
