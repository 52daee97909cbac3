"""Rows of databases are counted as those of a file are; what fails or is published tells no secret."""

import dataclasses
import json
import subprocess
import sys
from collections import Counter
from contextlib import closing

import numpy as np
import psycopg
import pytest
from tests.databases import NAMES, ROWS, as_duckdb, as_parquet, as_postgresql, as_sqlite

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.jobs.request import Request
from hushcount.jobs.run import open_run
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import RowsByHash, counted_keys
from hushcount.sources.open import open_source

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
# With this budget a noisy count is another than the exact one with a probability of about 4e-9.
CLEAR = {"epsilon": 20, "delta": 1e-8}
ALL = "SELECT * FROM events"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("databases")


@pytest.fixture(scope="module")
def file(folder):
    return as_parquet(folder)


@pytest.fixture(scope="module")
def address(postgresql_server):
    return as_postgresql(postgresql_server)


@pytest.fixture(params=["postgresql", "adbc", "sqlite", "duckdb"])
def database(request, folder):
    if request.param == "duckdb":
        yield as_duckdb(folder) if not (folder / "events.duckdb").exists() else str(folder / "events.duckdb")
    elif request.param == "sqlite":
        yield as_sqlite(folder) if not (folder / "events.sqlite").exists() else str(folder / "events.sqlite")
    elif request.param == "postgresql":
        yield request.getfixturevalue("address")
    else:
        with closing(dbapi.connect(request.getfixturevalue("address"), autocommit=True)) as connection:
            yield connection


def keys_of(source):
    """The events in their order; keys that the database has counted stand for several."""
    if not source.several:
        return [key for batch in source.batches() for key in batch.keys.to_pylist()]
    pairs = (pair for batch in source.batches() for pair in batch.keys.to_pylist())
    return [pair["key"] for pair in pairs for _ in range(pair["weight"])]


def counts_of(source, tell=lambda _: None):
    found = Counter()
    for keys, counts in counted_keys(source, tell):
        found.update(dict(zip(keys.to_pylist(), counts.tolist(), strict=True)))
    return found


def column(name):
    return [row[NAMES.index(name)] for row in ROWS if row[NAMES.index(name)] is not None]


def refused(kind, call, *arguments, **named):
    with pytest.raises(kind) as caught:
        call(*arguments, **named)
    assert caught.value.__context__ is None
    return str(caught.value)


def records(table):
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("name", ["url", "n", "who", "ip"])
def test_rows_counts_and_unit(database, name):
    for ordered in (False, True):
        source = open_source(database, sql=f"{ALL};", column=name, ordered=ordered)
        assert Counter(keys_of(source)) == Counter(column(name))
    source = open_source(database, sql=ALL, column=name, ordered=False)
    assert counts_of(source) == Counter(column(name))
    assert source.unit.name == "row of the SQL result"
    assert source.notes[0] == "The unit is one row of the SQL result."
    as_text = open_source(database, sql=ALL, column=name, key_type="text", ordered=False)
    assert counts_of(as_text) == Counter(map(str, column(name)))


def test_several_columns_are_grouped_together(database, file):
    def counts(data, sql):
        source = open_source(data, sql=sql, column=["url", "n"], ordered=False)
        blocks = [(source.decode(keys), counts) for keys, counts in counted_keys(source)]
        return {
            tuple(row.values()): count
            for table, counts in blocks
            for row, count in zip(table.to_pylist(), counts.tolist(), strict=True)
        }

    assert counts(database, ALL) == counts(file, None)
    assert counts(database, ALL) == Counter((row[1], row[2]) for row in ROWS if row[1] is not None)


JOBS = {
    "top": (hc.top, {"column": "url"}),
    "exact": (hc.top, {"column": "url", "exact": True}),
    "pairs": (hc.top, {"column": ["url", "n"], "exact": True}),
    "weights": (hc.top, {"column": "url", "exact": True, "weight": "bytes", "max_weight": 4}),
    "domain": (hc.top, {"column": "n", "domain": "0..4", "delta": 0}),
    "sample": (hc.sample, {"column": "url", "rate": 1.0}),
    "keys": (hc.keys, {"column": "url", "user": "who", "max_keys": 7}),
    "tree": (hc.tree, {"column": "ip", "hierarchy": "ipv4/8", "threshold": 500}),
    "stream": (hc.tree, {"column": "ip", "hierarchy": "ipv4/8", "threshold": 500, "method": "streaming"}),
    "columns": (hc.tree, {"hierarchy": "columns:n,url", "threshold": 500}),
}


def published(job, data, **where):
    """The counts of a release by key."""
    call, asked = JOBS[job]
    table = call(data, **CLEAR | asked, **where).table.to_pydict()
    names = [name for name in ("key", "url", "n", "node") if name in table]
    counts = table.get("count") or table.get("total") or [0] * len(table[names[0]])
    return dict(zip(zip(*(table[name] for name in names), strict=True), counts, strict=True))


@pytest.mark.parametrize("job", JOBS)
def test_each_job_publishes_what_it_does_of_a_file(database, file, job):
    wanted = published(job, file)
    assert len(wanted) >= 5
    for where in ({"relation": "events"}, {"sql": ALL}):
        found = published(job, database, **where)
        assert found.keys() == wanted.keys()
        # The noise has a scale of 1/4 or less, so two counts are this far apart with probability below 1e-9.
        assert all(abs(found[key] - wanted[key]) <= 10 for key in wanted)


def test_users_and_oracles(database):
    bound = DistinctPairs(7)
    request = Request(database, column="url", relation="events", user="who", bound=bound, ordered=False)
    pairs = {(row[3], row[1]) for row in ROWS if row[1] is not None}
    assert counts_of(request.open()) == Counter(key for _, key in pairs)
    found = hc.oracle(database, relation="events", column="n", **CLEAR).estimate([0, 1, 2])
    assert all(abs(count - 1200) <= 10 for count in found["count"].to_pylist())


def test_the_server_counts_so_that_few_rows_travel(database):
    source = open_source(database, sql=ALL, column="url", ordered=False)
    if source.grouped() is None:
        assert type(source).__name__ == "SqlSource"  # DuckDB counts in this process
        return
    rows = []
    assert counts_of(source, lambda batch: rows.append(batch.rows)) == Counter(column("url"))
    assert sum(rows) == len(set(column("url"))) + 1  # and one of null


def test_one_row_less(database):
    """The others stay in their order, and one count changes by 1: with parallel plans too."""
    less = f"{ALL} WHERE id <> 1234"
    key = ROWS[1234][1]
    found = [open_source(database, sql=sql, column="url", ordered=False) for sql in (ALL, less)]
    assert counts_of(found[0]) - counts_of(found[1]) == Counter({key: 1})
    assert counts_of(found[1]) - counts_of(found[0]) == Counter()
    whole = open_source(database, sql=ALL, column="id")
    fewer = open_source(database, sql=less, column="id", state=whole.state)
    if isinstance(whole, RowsByHash):
        fewer = dataclasses.replace(fewer, secret=whole.secret)
    order = keys_of(whole)
    assert order != sorted(order)
    assert keys_of(fewer) == [key for key in order if key != 1234]


def test_plans_of_the_test_are_parallel(address):
    with psycopg.connect(address) as connection:
        plan = connection.execute("EXPLAIN SELECT url, count(*) FROM events GROUP BY url").fetchall()
    assert any("Workers Planned" in line for (line,) in plan)


def test_bad_questions_are_sentences(database):
    def said(kind, sql, name="url"):
        return refused(kind, open_source, database, sql=sql, column=name)

    twice = "Column 'url' occurs more than once in the SQL result."
    assert said(ParameterError, "SELECT 1 AS url, 2 AS url") == twice
    assert said(ParameterError, ALL, "nope").startswith(
        "Column 'nope' is not in the SQL result; it has: id, "
    )
    assert "does not parse" in said(ParameterError, "SELEC 'secret'")
    assert "columns that do not exist" in said(ParameterError, "SELECT nope AS url FROM events")
    assert "does not exist" in said((ParameterError, DataError), "SELECT url FROM nope")
    said(ParameterError, "SELECT 1 AS url; SELECT 2 AS url")
    for statement in ("DELETE FROM events", "DROP TABLE events"):
        said((ParameterError, DataError), statement)
    assert len(keys_of(open_source(database, sql=ALL, column="id"))) == len(ROWS)


def test_relations_are_names_not_sql(database):
    for name in ("", "a..b", 3):
        assert refused(ParameterError, Request, database, relation=name) == (
            "relation must be the name of a table or view, such as events or shop.events."
        )
    with pytest.raises((ParameterError, DataError), match="does not exist"):
        Request(database, relation='events"; DROP TABLE events; --', column="url").open()
    assert refused(ParameterError, Request, database, relation="events", sql=ALL) == (
        "relation takes the place of sql, and needs data that is a database, as postgresql://...."
    )
    assert refused(ParameterError, open_source, database, sql=ALL, format="csv") == (
        "sql takes the place of data and format; give one or the other."
    )


def test_a_server_needs_a_query(address):
    place = address.partition("?")[0]
    assert refused(ParameterError, hc.top, address, **CLEAR) == (
        f"Give sql or relation with {place}: a database holds many tables."
    )
    with closing(dbapi.connect(address)) as connection:
        assert refused(ParameterError, hc.top, connection, **CLEAR) == (
            "Give sql or relation with an ADBC connection: a database holds many tables."
        )


def test_what_is_no_database(file):
    wanted = (
        "sql and relation need data that is a database: postgresql://..., a DuckDB or SQLite file, or an ADBC"
        " connection."
    )
    assert refused(ParameterError, hc.top, ["a"], sql=ALL, **CLEAR) == wanted
    assert refused(DataError, hc.top, file, sql=ALL, **CLEAR) == (
        f"{file} is no database; give a DuckDB or SQLite file, or postgresql://...."
    )
    assert refused(DataError, hc.top, "nope.db", sql=ALL, **CLEAR) == "nope.db does not exist."


def test_checkpoints_need_data_that_can_be_read_again(database, tmp_path):
    asked = {"relation": "events", "column": "url", "checkpoint": tmp_path / "run.hc", **CLEAR}
    if open_source(database, sql=ALL, column="url").fingerprint:
        assert len(hc.top(database, **asked).table) == 7
        return
    assert refused(ParameterError, hc.top, database, **asked) == (
        "checkpoint needs data that can be read again: files or a DuckDB query, not a pipe, memory or another"
        " database."
    )


@pytest.mark.parametrize("exact", [False, True])
def test_a_lost_connection_releases_nothing_and_is_paid_once(address, tmp_path, exact):
    book = str(tmp_path / "spent.db")
    hc.Ledger(book).init("visits", epsilon=25, delta=1e-6, unit="result-row")
    ended = (
        "CASE WHEN i = 200000 AND (SELECT ends FROM ending) THEN pg_terminate_backend(pg_backend_pid()) END"
    )
    sql = f"SELECT coalesce(({ended})::text, 'k') AS url FROM generate_series(1, 400000) AS s(i)"
    asked = {"column": "url", "sql": sql, "exact": exact, "output": tmp_path / "out.csv", **CLEAR}
    paid = {"ledger": book, "dataset": "visits", "run_id": "monday"}
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS ending; CREATE TABLE ending AS SELECT true AS ends")
        assert refused(DataError, hc.top, address, **asked, **paid) == (
            f"The connection to {address.partition('?')[0]} was lost, so nothing was released."
        )
        assert not (tmp_path / "out.csv").exists()
        connection.execute("UPDATE ending SET ends = false")
    # The budget allows 25, so both runs together have been charged once.
    assert hc.top(address, **asked, **paid).table["key"].to_pylist() == ["k"]


def test_closing_early_ends_the_query(address):
    # In the list of a SELECT the rows come one by one; in FROM all of them are written to disk first.
    source = open_source(address, sql="SELECT generate_series(1, 1000000000) AS i", ordered=False)
    batches = source.batches()
    assert len(next(batches).keys) > 0
    batches.close()
    with psycopg.connect(address, autocommit=True) as connection:
        for _ in range(100):
            running = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                " AND query LIKE 'COPY%1000000000%'"
            ).fetchone()
            if running == (0,):
                break
            connection.execute("SELECT pg_sleep(0.05)")
    assert running == (0,)


def test_types_of_postgresql(address):
    wanted = {
        "1::int2": 1,
        "1.50::numeric(8, 2)": "1.50",
        "true": True,
        "'ab'::char(4)": "ab  ",
        "'10.0.0.1'::inet": "10.0.0.1",
        "'10.0.0.0/8'::inet": "10.0.0.0/8",
        "'::1'::inet": "::1",
        "'6f9619ff-8b86-d011-b42d-00c04fc964ff'::uuid": "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "'{\"a\": 1}'::jsonb": '{"a": 1}',
    }
    for expression, key in wanted.items():
        source = open_source(
            address, sql=f"SELECT {expression} AS k FROM generate_series(1, 3)", ordered=False
        )
        assert keys_of(source) == [key] * 3
        assert counts_of(source) == Counter({key: 3})


def test_text_is_grouped_by_its_bytes(address):
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.execute("CREATE TABLE loosely (k text COLLATE loose)")
        connection.execute("INSERT INTO loosely VALUES ('tea'), ('TEA'), ('tea')")
    source = open_source(address, sql="SELECT k FROM loosely", ordered=False)
    assert counts_of(source) == Counter({"tea": 2, "TEA": 1})


def test_no_secret_is_told(address, tmp_path):
    secret = f"{address}&password=hunter2"
    assert "hunter2" not in repr(Request(secret, relation="events")) + repr(
        open_source(secret, sql=ALL, column="n")
    )
    release = hc.top(secret, relation="events", column="url", **CLEAR, report=tmp_path / "r.html")
    release.write(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())
    hc.oracle(secret, relation="events", column="url", **CLEAR, output=tmp_path / "o.hc")
    for path in tmp_path.iterdir():
        assert b"hunter2" not in path.read_bytes()
        assert b"postgresql://" not in path.read_bytes()
    wrong = ("postgresql://me:hunter2@127.0.0.1:1/shop", secret.replace("user=hushcount", "user=nobody"))
    for location in wrong:
        place = location.partition("?")[0].replace("me:hunter2@", "")
        assert refused(DataError, hc.top, location, relation="events", **CLEAR) == (
            f"{place} cannot be reached, or refuses the login."
        )


def test_a_missing_library_is_named(address, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(DataError) as caught:
        hc.top(address, relation="events", **CLEAR)
    assert str(caught.value) == (
        "Reading PostgreSQL needs the library adbc-driver-postgresql: run pip install 'hushcount[postgres]'."
    )


PEAK = """
import resource, sys
from hushcount.sources.open import open_source
source = open_source(sys.argv[1], sql=sys.argv[2], ordered=False)
print(sum(batch.rows for batch in source.batches()), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(location, rows):
    if location.startswith("postgresql"):
        series = f"generate_series(1, {rows}) AS s(i)"
        sql = f"SELECT repeat(md5(i::text), 8) AS k FROM {series}"
    else:
        numbers = f"WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {rows})"
        sql = f"{numbers} SELECT CAST(hex(zeroblob(128)) || i AS TEXT) AS k FROM s"
    done = subprocess.run(
        [sys.executable, "-c", PEAK, location, sql], capture_output=True, check=True, text=True
    ).stdout.split()
    assert int(done[0]) == rows
    return int(done[1])


def test_memory_does_not_grow_with_the_rows(address, folder):
    """800,000 rows of 256 bytes are 200 MB."""
    path = folder / "events.sqlite"
    for location in (address, str(path) if path.exists() else as_sqlite(folder)):
        assert peak(location, 800_000) - peak(location, 1000) < 100 * 1024


def cells_of(data, seed="cells", **where):
    """The cells of a Count-Min sketch of a column, and how many batches of how many keys came."""
    sketch = hc.CountMin(3, 64, seed=seed, max_weight=1)
    reading = open_run(Request(data, column="url", ordered=False, **where), sketch, None)
    reading.count()
    return sketch.shape().cells.tolist(), sketch.total, reading.rows


def test_cells_of_keys_that_the_server_counts_are_those_of_the_rows(database, file):
    """One row less changes the cells of its key by 1, and no other: with parallel plans too."""
    cells, total, rows = cells_of(file)
    found = cells_of(database, sql=ALL)
    assert found[:2] == (cells, total) == cells_of(database, relation="events")[:2]
    counted = open_source(database, sql=ALL, column="url", ordered=False).grouped() is not None
    assert found[2] == (len(set(column("url"))) + 1 if counted else rows)
    key = ROWS[1234][1]
    fewer, less, _ = cells_of(database, sql=f"{ALL} WHERE id <> 1234")
    alone = hc.CountMin(3, 64, seed="cells", max_weight=1)
    alone.update([key])
    assert total - less == 1
    exact = open_run(Request(database, column="url", sql=ALL, ordered=False), hc.Exact(), None)
    exact.count()
    shape = exact.sketch.shape()
    assert dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True)) == Counter(column("url"))
    assert exact.rows == found[2]
    assert (np.subtract(cells, fewer) == alone.shape().cells).all()
