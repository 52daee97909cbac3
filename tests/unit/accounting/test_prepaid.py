"""A schedule is charged before its first run, and pays for the runs that it was made for alone."""

from dataclasses import replace

import pytest

from hushcount.accounting import inspection
from hushcount.accounting.charges import Event
from hushcount.accounting.checks import verify
from hushcount.accounting.decimals import text
from hushcount.accounting.filter import Filter
from hushcount.accounting.ledger import Ledger
from hushcount.accounting.runs import RunPlan
from hushcount.accounting.schedule import Schedule
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import BudgetExceeded, LedgerError, ParameterError


@pytest.fixture
def spent(location):
    """A ledger with a budget of (1, 1e-6) for searches."""
    made = Ledger(location)
    made.init("searches", Filter.fixed(1, "1e-6"))
    return made


def refused(call, *arguments):
    """The message with which a call is refused."""
    with pytest.raises((LedgerError, BudgetExceeded, ParameterError)) as caught:
        call(*arguments)
    return str(caught.value)


def state(location):
    (found,) = inspection.show(location, "searches")
    return found


YEAR = TimeWindow.parse("2026-01-01/2027-01-01").by("at", "UTC")
ASKED = "5" * 64


def scheduled(question, window=None):
    each = Event.of("0.01", "1e-10")
    return replace(Schedule.of("nightly", 9, each, "1e-8"), question=question, window=window)


def night(day, series=ASKED, run_id=None, **more):
    window = TimeWindow.parse(day).by("at", "UTC") if day else None
    event = Event.of("0.01", "1e-10")
    return RunPlan(
        f"{series} {day}", "event", event, run_id=run_id or f"nightly/{day}", window=window, series=series
    )


@pytest.mark.parametrize("named", [ASKED, ""])
def test_a_schedule_pays_for_one_question(spent, location, named):
    """It is named when the schedule is made, or by the first run; nothing else is paid out of it."""
    spent.schedule("searches", scheduled(named))
    cost = state(location)["spent"]
    for day in ("2026-11-15", "2026-11-16"):
        spent.reserve("searches", night(day))
    other = night("2026-11-17", series="6" * 64)
    assert spent.preview("searches", other).outcome == "refused"
    assert refused(spent.reserve, "searches", other) == (
        "Schedule nightly of dataset searches has paid for one question, asked of one window or source after"
        " another, and this release asks another question; name the run of this release without the schedule."
    )
    assert state(location)["spent"] == cost
    assert verify(location, {}) == []


def test_a_schedule_may_pay_for_any_question(spent, location):
    spent.schedule("searches", scheduled("any"))
    cost = state(location)["spent"]
    for place, day in enumerate(("2026-11-15", "2026-11-16")):
        spent.reserve("searches", night(day, series=str(place) * 64))
    assert state(location)["spent"] == cost
    assert verify(location, {}) == []


def test_a_schedule_of_a_window_pays_for_its_rows_only(spent, location):
    """Rows of another time were not charged, so a run that reads them cannot be free."""
    spent.schedule("searches", scheduled("any", YEAR))
    cost = state(location)["spent"]
    spent.reserve("searches", night("2026-12-31"))
    for outside in ("2027-01-01", "2025-12-31", "2026-12-31/2027-01-02", ""):
        assert refused(spent.reserve, "searches", night(outside, run_id="nightly/x")) == (
            "Schedule nightly of dataset searches has paid for rows of the window"
            " 2026-01-01T00:00:00Z/2027-01-01T00:00:00Z; name the run of this release without the schedule."
        )
    assert state(location)["spent"] == cost


def test_two_years_of_schedules_cost_one(spent, location):
    spent.schedule("searches", scheduled("any", YEAR))
    cost = state(location)["spent"]
    later = TimeWindow.parse("2027-01-01/2028-01-01").by("at", "UTC")
    spent.schedule("searches", replace(scheduled("any", later), name="next"))
    assert state(location)["spent"] == cost


@pytest.mark.parametrize("question", ["x", "5" * 63, "5" * 65, "ANY"])
def test_a_question_is_a_hash(question):
    assert refused(scheduled, question) == (
        f"question must be the 64 digits that --dry-run --json names for it, or any, got {question!r}."
    )


def test_the_name_of_a_schedule_has_no_slash():
    assert refused(Schedule.of, "a/b", 2, Event.of("0.01", "1e-10"), "1e-8") == (
        "name must not contain a slash, because runs are named NAME/...."
    )


def test_what_a_schedule_would_cost_is_said_and_not_charged(spent, location):
    before = state(location)
    found = spent.preview_schedule("searches", scheduled("any", YEAR))
    assert (found.outcome, found.run_id) == ("charged", "nightly")
    assert state(location) == before
    spent.schedule("searches", scheduled("any", YEAR))
    again = spent.preview_schedule("searches", replace(scheduled("any", YEAR), name="other"))
    assert state(location)["left"]["epsilon"] == text(found.left[0])
    assert again.left < found.left
    large = Schedule.of("large", 365, Event.of("0.05", "1e-10"), "4e-7")
    assert spent.preview_schedule("searches", large).outcome == "refused"


def test_cells_of_users_are_whole_in_a_schedule(location):
    made = Ledger(location)
    made.init("searches", Filter.fixed(1, "1e-6"), "user-window", "1d")
    half = TimeWindow.parse("2026-01-01T12:00/2027-01-01").by("at", "UTC")
    assert refused(made.schedule, "searches", scheduled("any", half)).startswith(
        "window must begin and end where cells of 1d do, in UTC"
    )
    made.schedule("searches", scheduled("any", YEAR))
    assert verify(location, {}) == []
