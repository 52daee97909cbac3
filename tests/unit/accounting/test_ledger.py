"""Reserve, draw, commit: in SQLite and PostgreSQL alike."""

import json
import os
import sqlite3
import stat
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from hushcount.accounting import book, inspection, ledger
from hushcount.accounting.charges import Charge, Event, Normal
from hushcount.accounting.filter import Filter
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import Answer, RunPlan
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import BudgetExceeded, DataError, LedgerError, LedgerWarning, ParameterError
from hushcount.stores.database import UnansweredError, open_database, shown

TABLE = Answer(b'{"rows": []}')


@pytest.fixture
def spent(location):
    """A ledger with a budget of (1, 1e-6) for searches."""
    made = Ledger(location)
    made.init("searches", Filter.fixed(1, "1e-6"))
    return made


def plan(question="q", epsilon="0.3", delta="1e-8", **more):
    return RunPlan(question, "event", Event.of(epsilon, delta), **({"source": "files"} | more))


def refused(call, *arguments):
    """The message with which a call is refused."""
    with pytest.raises((LedgerError, BudgetExceeded)) as caught:
        call(*arguments)
    return str(caught.value)


def state(location, dataset="searches"):
    (found,) = inspection.show(location, dataset)
    return found


def kinds(location):
    return [entry["kind"] for entry in inspection.history(location, "searches")]


def test_a_run_is_reserved_and_committed(spent, location):
    reserved = spent.reserve("searches", plan())
    assert (reserved.run_id, reserved.attempt, reserved.answer) == ("q", 1, None)
    assert state(location)["spent"]["epsilon"] == "0.3"
    assert spent.commit(reserved, TABLE) == TABLE
    assert kinds(location) == ["init", "reserve", "commit"]
    assert state(location)["left"] == {"epsilon": "0.7", "delta": "4.9e-7"}


def test_a_retry_gets_the_stored_answer_and_pays_nothing(spent, location):
    spent.commit(spent.reserve("searches", plan()), TABLE)
    again = spent.reserve("searches", plan())
    assert again.answer == TABLE
    assert state(location)["spent"]["epsilon"] == "0.3"
    assert kinds(location) == ["init", "reserve", "commit"]


def test_a_retry_after_a_crash_takes_over_without_a_charge(spent, location):
    first = spent.reserve("searches", plan())
    second = spent.reserve("searches", plan(source="files changed meanwhile"))
    assert (second.attempt, second.answer) == (2, None)
    assert state(location)["spent"]["epsilon"] == "0.3"
    assert spent.commit(second, TABLE) == TABLE
    # The first was only slow: its own draw is discarded, and it gets the answer that counts.
    assert spent.commit(first, Answer(b"another draw")) == TABLE
    assert kinds(location) == ["init", "reserve", "takeover", "commit"]


def test_whoever_was_overtaken_releases_nothing(spent, location, monkeypatch):
    monkeypatch.setattr(ledger, "PATIENCE", 0)
    first = spent.reserve("searches", plan())
    spent.reserve("searches", plan())
    assert refused(spent.commit, first, TABLE) == (
        "Another process has taken over run q and has not finished, so nothing was released here; run it"
        " again later to get its answer."
    )
    assert kinds(location) == ["init", "reserve", "takeover"]


def test_an_error_after_the_draw_is_the_answer(spent):
    failed = Answer(b"The table is too wide.", "error")
    spent.commit(spent.reserve("searches", plan()), failed)
    assert spent.reserve("searches", plan()).answer == failed


def test_the_budget_is_never_exceeded(spent, location):
    for number in range(3):
        spent.reserve("searches", plan(f"q{number}"))
    assert refused(spent.reserve, "searches", plan("q3")) == (
        "The budget of dataset searches, epsilon 1 and delta 1e-6, does not allow a release with epsilon 0.3"
        " and delta 1e-8. A release with epsilon at most 0.1 and delta at most 4.7e-7 would fit. No data were"
        " read and nothing was spent; `hushcount ledger grant` adds to a budget."
    )
    assert spent.reserve("searches", plan("q4", "0.1")).attempt == 1
    assert refused(spent.reserve, "searches", plan("q5", "0.1")).endswith(
        "No release would fit. No data were read and nothing was spent; `hushcount ledger grant` adds to a"
        " budget."
    )
    assert state(location)["spent"]["basic_epsilon"] == "1"
    assert kinds(location) == ["init"] + ["reserve"] * 4


def test_a_refusal_is_not_to_be_retried(spent):
    with pytest.raises(BudgetExceeded) as caught:
        spent.reserve("searches", plan(epsilon="2"))
    assert not isinstance(caught.value, LedgerError)
    assert caught.value.exit_code == 1


def test_the_curve_is_charged_if_the_budget_allows_and_else_the_pair(location):
    made = Ledger(location)
    made.init("searches", Filter.fixed(1, "1e-6"))
    finer = Charge(Decimal("1e-9"), (Normal(Fraction(160_000)),))
    made.reserve("searches", RunPlan("q", "event", Event.of("0.1", "1e-8", finer), source="files"))
    assert state(location)["spent"]["basic_epsilon"] == "inf"
    assert state(location)["spent"]["delta"] == "1e-9"
    made.init("few", Filter.fixed(1, "1e-6", 0))
    made.reserve("few", RunPlan("q", "event", Event.of("0.1", "1e-8", finer), source="files"))
    assert state(location, "few")["spent"] == {
        "epsilon": "0.1",
        "delta": "1e-8",
        "basic_epsilon": "0.1",
        "renyi": "0",
    }


def test_another_question_under_the_same_name_is_refused(spent):
    spent.reserve("searches", plan(run_id="nightly"))
    assert refused(spent.reserve, "searches", plan("other", run_id="nightly")) == (
        "Run nightly asked another question of dataset searches; give this one another run_id."
    )


def test_changed_files_are_not_answered_with_the_old_table(spent, location):
    spent.commit(spent.reserve("searches", plan()), TABLE)
    for source in ("changed", None):
        assert refused(spent.reserve, "searches", plan(run_id="q", source=source)) == (
            "Run q was answered from other data: the files have changed since. For an answer from the new"
            " data give it a run_id of its own, or again=True, which spends again."
        )
    assert kinds(location) == ["init", "reserve", "commit"]


def test_sources_are_stored_as_a_keyed_hash(spent, location):
    spent.reserve("searches", plan(source="visible"))
    stored = [
        spent._found(reservation).source
        for reservation in (spent.reserve("searches", plan(source="visible")),)
    ]
    assert len(stored[0]) == 32
    assert "visible" not in json.dumps(inspection.export(location))
    assert stored[0] not in json.dumps(inspection.export(location))


def test_data_that_cannot_be_recognised_need_a_name(spent):
    with pytest.raises(ParameterError) as caught:
        plan(source=None)
    assert str(caught.value) == (
        "run_id must name the run, because these data (a pipe, a database or data in memory) cannot be"
        " recognised: without it the next run would get the answer of this one."
    )
    spent.commit(spent.reserve("searches", plan(source=None, run_id="pipe")), TABLE)
    assert spent.reserve("searches", plan(source=None, run_id="pipe")).answer == TABLE


def test_again_draws_and_pays_anew(spent, location):
    spent.commit(spent.reserve("searches", plan()), TABLE)
    names = [spent.reserve("searches", plan(again=True)).run_id for _ in range(2)]
    assert names == ["q#2", "q#3"]
    assert state(location)["spent"]["epsilon"] == "0.9"


def test_a_second_budget_has_an_order_of_its_own(spent, location):
    for number in range(3):
        spent.reserve("searches", plan(f"q{number}"))
    spent.grant("searches", Filter.fixed(2, "1e-8"))
    spent.reserve("searches", plan("q3", "2", "1e-9"))
    shown_state = state(location)
    assert (shown_state["budget"]["epsilon"], shown_state["budget"]["delta"]) == ("3", "1.01e-6")
    assert [part["order"] for part in shown_state["budget"]["parts"]] == ["23", "17"]
    assert shown_state["spent"]["basic_epsilon"] == "2.9"
    assert shown_state["left"] == {"epsilon": "0.1", "delta": "4.7e-7"}
    # A release is charged to one budget as a whole.
    assert "would fit" in refused(spent.reserve, "searches", plan("q4", "0.2"))


def test_nights_cost_one_night_and_overlapping_windows_add_up(spent, location):
    for day in range(1, 29):
        window = TimeWindow.parse(f"2026-11-{day:02}")
        spent.reserve("searches", plan(f"night {day}", "0.6", window=window))
    assert state(location)["spent"]["epsilon"] == "0.6"
    month = TimeWindow.parse("2026-11-01/2026-12-01")
    assert (
        "in the window 2026-11-01T00:00:00Z/2026-12-01T00:00:00Z. A release with epsilon at most 0.4"
        in refused(spent.reserve, "searches", plan("month", "0.5", window=month))
    )
    spent.reserve("searches", plan("month", "0.4", window=month))
    spent.reserve("searches", plan("december", "1", window=TimeWindow.parse("2026-12-01")))
    assert state(location)["left"]["epsilon"] == "0"
    spent.reserve("searches", plan("2027", "1", window=TimeWindow.parse("2027-01-01")))


def test_users_are_charged_over_all_windows(location):
    made = Ledger(location)
    made.init("people", Filter.fixed(1, "1e-6"), "user")
    event = Event.of("0.6", "1e-8")
    made.reserve("people", RunPlan("a", "user", event, source="f", window=TimeWindow.parse("2026-11-15")))
    other = RunPlan("b", "user", event, source="f", window=TimeWindow.parse("2026-11-16"))
    assert "does not allow a release with epsilon 0.6 and delta 1e-8. " in refused(
        made.reserve, "people", other
    )


def test_users_and_cells_are_charged_by_cell(location):
    made = Ledger(location)
    made.init("people", Filter.fixed(1, "1e-6"), "user-window", "1d")
    event = Event.of("0.6", "1e-8")
    for day in ("2026-11-15", "2026-11-16"):
        made.reserve("people", RunPlan(day, "user", event, source="f", window=TimeWindow.parse(day)))
    assert state(location, "people")["spent"]["epsilon"] == "0.6"
    assert state(location, "people")["protects"] == "the rows of one user in one cell of 1d"
    with pytest.raises(ParameterError, match=r"^window must begin and end where cells of 1d do"):
        made.reserve("people", RunPlan("c", "user", event, source="f"))


def test_units_are_not_mixed(spent, location):
    user = RunPlan("q", "user", Event.of("0.1", "1e-8"), source="f")
    assert refused(spent.reserve, "searches", user) == (
        "Dataset searches protects one event. A release that protects one user cannot be added up with its"
        " others; `hushcount ledger init --unit user` makes a dataset for it."
    )
    Ledger(location).init("people", Filter.fixed(1, "1e-6"), "user")
    assert refused(spent.reserve, "people", plan()) == (
        "Dataset people protects one user with all of their rows, over all windows. A release that protects"
        " one event cannot be added up with its others; protect users, with max_keys given with user."
    )
    row = RunPlan("q", "row of the SQL result", Event.of("0.1", "1e-8"), run_id="q")
    assert refused(spent.reserve, "searches", row) == (
        "Dataset searches protects one event. A release that protects one row of the SQL result cannot be"
        " added up with its others, because a query may repeat an event; `hushcount ledger init --unit"
        " result-row` makes a dataset for rows of queries, or protect users, with max_keys given with user."
    )
    Ledger(location).init("results", Filter.fixed(1, "1e-6"), "result-row")
    assert refused(spent.reserve, "results", plan()) == (
        "Dataset results protects one row of the result of each query. A release that protects one event"
        " cannot be added up with its others; read the data by a query, with sql."
    )
    assert refused(spent.reserve, "results", user) == (
        "Dataset results protects one row of the result of each query. A release that protects one user"
        " cannot be added up with its others; `hushcount ledger init --unit user` makes a dataset for it."
    )
    assert spent.reserve("results", row).answer is None
    lazy = RunPlan("r", "row of the result", Event.of("0.1", "1e-8"), run_id="r")
    assert spent.reserve("results", lazy).answer is None
    assert state(location, "results")["spent"]["epsilon"] == "0.2"


def test_rows_of_results_are_charged_by_window(location):
    made = Ledger(location)
    made.init("results", Filter.fixed(1, "1e-6"), "result-row")
    for day in ("2026-11-15", "2026-11-16"):
        asked = RunPlan(
            day, "row of the SQL result", Event.of("0.6", "1e-8"), source="f", window=TimeWindow.parse(day)
        )
        made.reserve("results", asked)
    assert state(location, "results")["spent"]["epsilon"] == "0.6"


def test_a_schedule_is_charged_once(spent, location):
    each = Event.of("0.01", "1e-10")
    spent.schedule("searches", Schedule.of("nightly", 3, each, "1e-8"))
    cost = state(location)["spent"]["epsilon"]
    for day in "abc":
        spent.commit(spent.reserve("searches", plan("a", "0.01", "1e-10", run_id=f"nightly/{day}")), TABLE)
    assert state(location)["spent"]["epsilon"] == cost
    assert refused(spent.reserve, "searches", plan("a", "0.01", "1e-10", run_id="nightly/d")) == (
        "Schedule nightly of dataset searches has had all of its 3 releases."
    )
    assert spent.reserve("searches", plan("a", "0.01", "1e-10", run_id="nightly/a")).answer == TABLE
    assert refused(spent.schedule, "searches", Schedule.of("nightly", 3, each, "1e-8")) == (
        "Dataset searches has a run nightly already; choose another name."
    )
    # Names that only begin alike are other runs.
    spent.reserve("searches", plan("e", "0.01", "1e-10", run_id="nightlyx/a"))
    assert state(location)["spent"]["epsilon"] != cost


def test_a_schedule_pays_for_small_releases_only(spent):
    spent.schedule("searches", Schedule.of("nightly", 3, Event.of("0.01", "1e-10"), "1e-8"))
    for larger in (("0.02", "1e-10"), ("0.01", "1e-9")):
        assert refused(spent.reserve, "searches", plan("d", *larger, run_id="nightly/d")) == (
            "Schedule nightly of dataset searches has paid for releases with epsilon at most 0.01 and delta"
            " at most 1e-10."
        )


def test_a_schedule_over_budget_is_refused(spent, location):
    assert "does not allow a release with epsilon" in refused(
        spent.schedule, "searches", Schedule.of("nightly", 365, Event.of("0.05", "1e-10"), "4e-7")
    )
    assert kinds(location) == ["init"]


def test_no_release_makes_a_ledger(location):
    assert refused(Ledger(location).reserve, "searches", plan()) == (
        f"There is no ledger at {shown(location)}; `hushcount ledger init` makes one."
    )
    assert not os.path.exists(location)


def test_a_dataset_has_one_first_budget(spent, location):
    assert refused(spent.init, "searches", Filter.fixed(9, "1e-6")) == (
        f"Dataset searches has a budget in {shown(location)} already; `hushcount ledger grant` adds to it."
    )
    assert state(location)["budget"]["epsilon"] == "1"
    assert (
        refused(spent.reserve, "clicks", plan())
        == f"{shown(location)} has no dataset clicks; it has searches."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("", "event"), "dataset must be a name of 1 to 200 printable characters."),
        (("a\nb", "event"), "dataset must be a name of 1 to 200 printable characters."),
        (("a", "person"), "unit must be one of event, result-row, user, user-window, got person."),
        (("a", "user-window"), 'cell is needed for unit="user-window", such as 1d, and for no other unit.'),
        (("a", "user", "1d"), 'cell is needed for unit="user-window", such as 1d, and for no other unit.'),
        (("a", "user-window", "1x"), "cell must be a length such as 6h, 1d or 1w, got 1x."),
    ],
)
def test_terms_are_checked(tmp_path, arguments, sentence):
    name, *more = arguments
    with pytest.raises(ParameterError) as caught:
        Ledger(tmp_path / "spent.db").init(name, Filter.fixed(1, 0), *more)
    assert str(caught.value) == sentence
    assert not (tmp_path / "spent.db").exists()


def test_an_unanswered_commit_is_looked_at_first(spent, location, monkeypatch):
    """The connection is lost while the commit runs: once it had been carried out, once it had not."""
    store = Ledger._store
    calls = []

    def lost_after(self, *arguments):
        calls.append(store(self, *arguments))
        raise UnansweredError("The connection was lost.")

    monkeypatch.setattr(Ledger, "_store", lost_after)
    assert spent.commit(spent.reserve("searches", plan()), TABLE) == TABLE
    assert calls == [True]

    def lost_before(self, *arguments):
        monkeypatch.setattr(Ledger, "_store", store)
        raise UnansweredError("The connection was lost.")

    monkeypatch.setattr(Ledger, "_store", lost_before)
    assert spent.commit(spent.reserve("searches", plan("r")), TABLE) == TABLE
    assert kinds(location) == ["init", "reserve", "commit", "reserve", "commit"]


def test_an_unanswered_commit_of_who_was_overtaken_is_the_others_answer(spent, monkeypatch):
    first = spent.reserve("searches", plan())
    spent.commit(spent.reserve("searches", plan()), TABLE)
    store = Ledger._store

    def lost_before(self, *arguments):
        monkeypatch.setattr(Ledger, "_store", store)
        raise UnansweredError("The connection was lost.")

    monkeypatch.setattr(Ledger, "_store", lost_before)
    assert spent.commit(first, Answer(b"another draw")) == TABLE


def test_a_clock_that_went_back_is_said_and_nothing_is_lost(spent, location, monkeypatch):
    class Earlier(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(UTC) - timedelta(days=1)

    monkeypatch.setattr(book, "datetime", Earlier)
    with pytest.warns(LedgerWarning) as caught:
        spent.reserve("searches", plan())
    assert [str(warning.message) for warning in caught] == [
        "The clock of this machine is behind the last entry of the ledger; set it. The entry was made all the"
        " same: their order does not depend on clocks."
    ]
    assert kinds(location) == ["init", "reserve"]


def test_files_are_private_and_have_a_witness(tmp_path):
    made = Ledger(tmp_path / "spent.db")
    made.init("searches", Filter.fixed(1, "1e-6"))
    for name in ("spent.db", "spent.db.head"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    made.reserve("searches", plan())
    head = json.loads((tmp_path / "spent.db.head").read_text())
    last = inspection.history(tmp_path / "spent.db", "searches")[-1]
    assert head == {
        "format": "hushcount-ledger-1",
        "datasets": [{"dataset": "searches", "seq": last["seq"], "hash": last["hash"]}],
    }


def test_an_older_copy_is_noticed_before_anything_is_spent(tmp_path):
    path = tmp_path / "spent.db"
    made = Ledger(path)
    made.init("searches", Filter.fixed(1, "1e-6"))
    with sqlite3.connect(path) as older, sqlite3.connect(tmp_path / "copy") as copy:
        older.backup(copy)
    made.reserve("searches", plan())
    for name in ("spent.db", "spent.db-wal", "spent.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "copy").rename(path)
    assert refused(made.reserve, "searches", plan()) == (
        f"{path} lacks entries of dataset searches that its witness {path}.head knows: an older copy was put"
        " in its place. Put the newest copy back. If it is lost, what was spent is not known any more."
    )


def test_a_ledger_of_a_newer_version_is_left_alone(spent, location):
    reserved = spent.reserve("searches", plan())

    def of_version(version):
        with open_database(location) as database, database.transaction():
            database.change("UPDATE format SET version = ?", version)

    of_version("2")
    sentence = f"{shown(location)} was written by a newer version of hushcount; update hushcount to use it."
    assert refused(spent.reserve, "searches", plan()) == sentence
    assert refused(spent.commit, reserved, TABLE) == sentence
    assert refused(spent.grant, "searches", Filter.fixed(1, 0)) == sentence
    assert refused(spent.init, "clicks", Filter.fixed(1, 0)) == sentence
    assert refused(inspection.show, location) == sentence
    of_version("1")
    assert kinds(location) == ["init", "reserve"]
    assert spent.commit(reserved, TABLE) == TABLE


def test_a_rollback_is_noticed_by_whatever_name_the_ledger_is_called(tmp_path):
    """The witness is beside the file itself, so a link to it does not go around the witness."""
    made = Ledger(tmp_path / "spent.db")
    made.init("searches", Filter.fixed(1, "1e-6"))
    old = (tmp_path / "spent.db").read_bytes()
    (tmp_path / "link").symlink_to("spent.db")
    Ledger(tmp_path / "link").reserve("searches", plan())
    assert not (tmp_path / "link.head").exists()
    (tmp_path / "spent.db").write_bytes(old)
    for name in ("spent.db", "link"):
        assert "an older copy was put in its place" in refused(
            Ledger(tmp_path / name).reserve, "searches", plan()
        )


def test_a_ledger_with_two_names_is_refused(tmp_path):
    """Each name of a file would have a log of its own, and one would not know what the other has spent."""
    made = Ledger(tmp_path / "spent.db")
    made.init("searches", Filter.fixed(1, "1e-6"))
    os.link(tmp_path / "spent.db", tmp_path / "other.db")
    with pytest.raises(DataError) as caught:
        made.reserve("searches", plan())
    assert str(caught.value) == (
        f"{tmp_path / 'spent.db'} has other names too (hard links), and each name would have a log of its"
        " own; remove the others, or copy the file."
    )
    (tmp_path / "other.db").unlink()
    assert made.reserve("searches", plan()).attempt == 1
