"""Whatever is changed behind the ledger's back is found: chain, sums, answers, budgets, rollback."""

import json
import sqlite3
from contextlib import closing
from hashlib import sha256

import pytest

from hushcount.accounting.chain import Head, first_hash, next_hash
from hushcount.accounting.charges import Event
from hushcount.accounting.checks import verify
from hushcount.accounting.filter import Filter
from hushcount.accounting.inspection import export
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import TimeWindow
from hushcount.stores.database import open_database, shown

DAY = TimeWindow.parse("2026-11-15")


@pytest.fixture
def full(location):
    """A ledger with an entry of every kind."""
    made = Ledger(location)
    made.init("searches", Filter.fixed(2, "1e-6"))
    made.grant("searches", Filter.fixed(1, "1e-7"))
    made.schedule("searches", Schedule.of("nightly", 3, Event.of("0.01", "1e-10"), "1e-8"))
    event = Event.of("0.1", "1e-8")
    made.reserve("searches", RunPlan("a", "event", event, source="f", window=DAY))
    made.reserve("searches", RunPlan("a", "event", event, source="f", window=DAY))
    second = made.reserve("searches", RunPlan("a", "event", event, source="f", window=DAY))
    made.commit(second, Answer(b"table"))
    made.reserve("searches", RunPlan("c", "event", Event.of("0.01", "1e-10"), run_id="nightly/c"))
    return location


def change(location, statement, *values):
    with open_database(location) as database, database.transaction():
        assert database.change(statement, *values)


def test_an_intact_ledger_has_no_problem(full):
    assert verify(full, {}) == []


CHANGES = {
    "UPDATE entry SET body = replace(body, '0.1', '0.2') WHERE seq = 4": "the chain is broken at entry 4.",
    "DELETE FROM entry WHERE seq = 5": "the chain is broken at entry 5.",
    "DELETE FROM entry WHERE seq = 8": "the chain is broken at entry 8.",
    "UPDATE dataset SET seq = 7": "the chain is broken at entry 9.",
    "UPDATE dataset SET unit = 'user'": "its unit is not the one it was made with.",
    "UPDATE budget SET epsilon = '3' WHERE number = 0": "its budgets are not those of its entries.",
    "UPDATE budget SET bound = '3' WHERE number = 0": "its budgets are not those of its entries.",
    "DELETE FROM budget WHERE number = 1": "its budgets are not those of its entries.",
    "DELETE FROM run WHERE run_id = 'a'": "run a is not in both its entries and its table.",
    "UPDATE run SET renyi = '0' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET basic = '0' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET delta = '0' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET starts = 0 WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET budget = 1 WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET question = 'z' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET attempt = 1 WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET outcome = 'error' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET answer = NULL WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE run SET state = 'x' WHERE run_id = 'a'": "run a or its answer is not what its entries say.",
    "UPDATE schedule SET releases = 9": "its schedules are not those of its entries.",
    "UPDATE schedule SET epsilon = '1'": "its schedules are not those of its entries.",
    "UPDATE run SET source = NULL WHERE run_id = 'nightly'": "its schedules are not those of its entries.",
}


@pytest.mark.parametrize("statement", CHANGES)
def test_every_change_is_found(full, statement):
    change(full, statement)
    assert verify(full, {}) == [f"Dataset searches: {CHANGES[statement]}"]


def test_a_changed_answer_is_found(full):
    change(full, "UPDATE run SET answer = ? WHERE run_id = 'a'", b"other")
    assert verify(full, {}) == ["Dataset searches: run a or its answer is not what its entries say."]


def rebuilt(location, old, new):
    """Change bodies and build the chain anew, as whoever can write the ledger could."""
    with open_database(location) as database, database.transaction():
        (identity,) = database.rows("SELECT identity FROM dataset")[0]
        before = first_hash(identity)
        for seq, stored in database.rows("SELECT seq, body FROM entry ORDER BY seq"):
            body = stored.replace(old, new)
            before = next_hash(before, body)
            database.change("UPDATE entry SET body = ?, hash = ? WHERE seq = ?", body, before, seq)
        database.change("UPDATE dataset SET hash = ?", before)


def test_a_rebuilt_chain_is_found_by_a_witness(full):
    known = {"export.json": {"searches": Head(8, export(full)["datasets"][0]["hash"])}}
    assert verify(full, known) == []
    rebuilt(full, '"recorded":"2', '"recorded":"1')
    assert verify(full, {}) == []
    assert verify(full, known) == [
        f"{shown(full)} does not continue export.json: dataset searches has another entry 8, or none. The"
        " ledger was rolled back or rebuilt."
    ]


def test_sums_are_computed_again(full):
    """The charge of a run is raised in its entry and its row, and the chain is rebuilt: the sum tells."""
    rebuilt(full, '"response":"1/10"', '"response":"30"')
    change(full, "UPDATE run SET basic = '30', renyi = '29.909090909090909091' WHERE run_id = 'a'")
    assert "Dataset searches: its releases exceed the budget." in verify(full, {})


FREE = "Dataset searches: run {} cost nothing, and no schedule has paid for it."


@pytest.mark.parametrize(
    ("old", "new", "run_id"),
    [
        ("nightly/c", "weekly/c", "weekly/c"),
        ('"run_id":"nightly/c"', '"run_id":"nightly"', None),
        ('"releases":"3"', '"releases":"0"', "nightly/c"),
        (
            '"each":{"delta":"1e-10","epsilon":"0.01"}',
            '"each":{"delta":"1e-10","epsilon":"0.001"}',
            "nightly/c",
        ),
    ],
)
def test_a_run_that_nobody_paid_for_is_found(full, old, new, run_id):
    """The chain is rebuilt, so only what it says can tell."""
    rebuilt(full, old, new)
    problems = verify(full, {})
    assert problems
    assert run_id is None or FREE.format(run_id) in problems


def test_a_run_of_another_question_than_the_schedule_paid_for_is_found(full):
    made = Ledger(full)
    made.reserve("searches", RunPlan("c", "event", Event.of("0.01", "1e-10"), run_id="nightly/d"))
    assert verify(full, {}) == []
    with open_database(full) as database, database.reading():
        last = database.rows("SELECT body FROM entry ORDER BY seq DESC LIMIT 1")[0][0]
    rebuilt(full, str(last), str(last).replace('"asks":"c"', '"asks":"other"'))
    assert verify(full, {}) == [FREE.format("nightly/d")]


def test_windows_by_several_clocks_are_found(location):
    made, event = Ledger(location), Event.of("0.1", "1e-8")
    made.init("searches", Filter.fixed(2, "1e-6"))
    for day in ("2026-11-15", "2026-11-16"):
        window = TimeWindow.parse(day).by("at", "UTC")
        made.reserve("searches", RunPlan(day, "event", event, run_id=day, window=window))
    assert verify(location, {}) == []
    body = '"seq":"3","time":{"column":"at"'
    rebuilt(location, body, body.replace("at", "sent"))
    assert verify(location, {}) == ["Dataset searches: its windows are told by more than one column or zone."]


def test_entries_that_cannot_be_read_are_found(full):
    rebuilt(full, '"response":"1/10"', '"response":"secret"')
    assert verify(full, {}) == ["Dataset searches: an entry cannot be read."]


def test_a_missing_dataset_is_a_rollback(full):
    assert verify(full, {"w": {"clicks": Head(1, "00")}}) == [
        f"{shown(full)} does not continue w: dataset clicks has another entry 1, or none. The ledger was"
        " rolled back or rebuilt."
    ]


def test_an_export_can_be_checked_by_anybody(full, tmp_path):
    """The chain of an export is recomputed with nothing but the documented formula."""
    (exported,) = json.loads(json.dumps(export(full)))["datasets"]
    identity = json.loads(exported["entries"][0]["body"])["identity"]
    known = sha256(b"hushcount-ledger-1\n" + bytes.fromhex(identity)).digest()
    for place, entry in enumerate(exported["entries"], start=1):
        known = sha256(b"hushcount-ledger-1\n" + known + entry["body"].encode()).digest()
        assert (entry["seq"], entry["hash"]) == (str(place), known.hex())
    assert exported["hash"] == known.hex()


def test_reading_changes_nothing(tmp_path):
    made = Ledger(tmp_path / "spent.db")
    made.init("searches", Filter.fixed(1, "1e-6"))
    with closing(sqlite3.connect(tmp_path / "spent.db")) as connection:
        before = list(connection.iterdump())
        verify(tmp_path / "spent.db", {})
        export(tmp_path / "spent.db")
        assert list(connection.iterdump()) == before
