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
