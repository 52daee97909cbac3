"""A year of nightly tables through a ledger: with windows it costs one night, without them the composed cost.

Every night is a real run of `hc.top` on a file, with noise; the nights of a year are 365.
"""

from datetime import date, timedelta

import pytest

import hushcount as hc
from hushcount.errors import BudgetExceeded

NIGHTS = 365
NIGHT = {"epsilon": 0.05, "delta": 1e-10}
FIRST = date(2026, 1, 1)


@pytest.fixture
def visits(tmp_path):
    """Some rows of every night of a year."""
    path = tmp_path / "visits.csv"
    days = [FIRST + timedelta(days=night) for night in range(NIGHTS)]
    path.write_text("at,url\n" + "".join(f"{day}T02:00:00Z,/a\n" * 3 for day in days))
    return path


def top(path, **more):
    return hc.top(str(path), column="url", counters=64, dataset="visits", **NIGHT | more)


def test_a_year_of_nights_in_windows_costs_one_night(visits, tmp_path):
    """The budget is that of one night and has no slack, so a second release of any night is refused."""
    ledger = hc.Ledger(tmp_path / "spent.db")
    ledger.init("visits", slack=0, **{name: str(value) for name, value in NIGHT.items()})
    for night in range(NIGHTS):
        day = FIRST + timedelta(days=night)
        asked = {"window": str(day), "time": "at", "run_id": f"nightly-{day}"}
        top(visits, ledger=ledger, **asked)
    (shown,) = ledger.show()
    assert (shown["releases"], shown["spent"]["epsilon"], shown["spent"]["delta"]) == ("365", "0.05", "1e-10")
    with pytest.raises(BudgetExceeded, match="No release would fit"):
        top(visits, ledger=ledger, window="2026-06-01", time="at", run_id="twice")
    assert ledger.verify() == []
    assert [entry["kind"] for entry in ledger.history("visits")].count("commit") == NIGHTS


def test_a_year_of_nights_without_windows_costs_what_the_filter_says(visits, tmp_path):
    """The least budget of the vectors, 5.053, takes all nights and none more; the sum is 18.25."""
    ledger = hc.Ledger(tmp_path / "spent.db")
    ledger.init("visits", epsilon="5.053", delta="1e-6")
    for night in range(NIGHTS):
        top(visits, ledger=ledger, run_id=str(night))
    (shown,) = ledger.show()
    assert shown["spent"]["basic_epsilon"] == "18.25"
    assert 5.051 < float(shown["spent"]["epsilon"]) <= 5.053
    with pytest.raises(BudgetExceeded):
        top(visits, ledger=ledger, run_id="one more")
    assert ledger.verify() == []


def test_a_prepaid_year_pays_for_its_nights_and_for_nothing_else(visits, tmp_path):
    """The schedule is for one question, whose hash a dry run tells; its nights leave the budget as it was."""
    ledger = hc.Ledger(tmp_path / "spent.db")
    ledger.init("visits", epsilon="6", delta="1e-6")
    first = {"ledger": ledger, "window": str(FIRST), "time": "at", "run_id": "nightly/first"}
    (asked,) = {top(visits, **first, dry_run=True, again=again).ledger.series for again in (False, True)}
    year = {"window": "2026-01-01/2027-01-01", "time": "at", "question": asked}
    terms = {name: str(value) for name, value in NIGHT.items()}
    ledger.schedule("visits", "nightly", releases=NIGHTS, total_delta="4e-7", **terms, **year)
    before = {name: ledger.show()[0][name] for name in ("spent", "left")}
    assert 4.6 < float(before["spent"]["epsilon"]) < 4.9
    for night in range(NIGHTS):
        day = FIRST + timedelta(days=night)
        top(visits, ledger=ledger, window=str(day), time="at", run_id=f"nightly/{day}")
    with pytest.raises(BudgetExceeded, match=r"has had all of its 365 releases\.$"):
        top(visits, ledger=ledger, window="2026-06-01", time="at", run_id="nightly/again")
    assert {name: ledger.show()[0][name] for name in before} == before
    assert ledger.verify() == []


def test_a_prepaid_year_pays_for_no_other_release(visits, tmp_path):
    ledger = hc.Ledger(tmp_path / "spent.db")
    ledger.init("visits", epsilon="6", delta="1e-6")
    year = {"window": "2026-01-01/2027-01-01", "time": "at"}
    terms = {name: str(value) for name, value in NIGHT.items()}
    ledger.schedule("visits", "nightly", releases=NIGHTS, total_delta="4e-7", **terms, **year)
    night = {"ledger": ledger, "window": "2026-11-15", "time": "at"}
    top(visits, run_id="nightly/1", **night)
    calls = [
        lambda: top(visits, run_id="nightly/2", **night | {"window": "2027-01-01"}),
        lambda: top(visits, run_id="nightly/2", ledger=ledger),
        lambda: top(visits, run_id="nightly/2", min_count=9, max_events=9999, **night),
        lambda: hc.sample(
            str(visits), column="url", rate=0.1, dataset="visits", run_id="nightly/2", **NIGHT, **night
        ),
    ]
    for call in calls:
        with pytest.raises(BudgetExceeded, match="Schedule nightly of dataset visits has paid for"):
            call()
    # What is computed from a release afterwards is no part of its question.
    top(visits, run_id="nightly/2", limit=1, confidence=0.9, **night | {"window": "2026-11-16"})
    assert ledger.show()[0]["releases"] == "2"
