"""`hc.Ledger`: everything that `hushcount ledger` does, from Python; releases take it as `ledger=`."""

import json

import pytest

import hushcount as hc
from hushcount.errors import LedgerError, ParameterError

BUDGET = {"epsilon": 0.3, "delta": 1e-8}


@pytest.fixture
def ledger(location):
    made = hc.Ledger(location)
    made.init("searches", epsilon=1, delta="1e-6")
    return made


def top(ledger, **more):
    return hc.top(["tea"] * 500, **BUDGET | {"ledger": ledger, "dataset": "searches"} | more)


def test_a_year_of_work_without_the_command_line(ledger, tmp_path):
    release = top(ledger, run_id="monday")
    assert top(ledger, run_id="monday").to_json() == release.to_json()
    (shown,) = ledger.show()
    assert (shown["spent"]["epsilon"], shown["left"]["epsilon"], shown["releases"]) == ("0.3", "0.7", "1")
    assert ledger.show("searches") == [shown]
    assert [entry["kind"] for entry in ledger.history("searches")] == ["init", "reserve", "commit"]
    assert ledger.grant("searches", epsilon="0.5", delta="1e-7")["budget"]["epsilon"] == "1.5"
    ledger.export(tmp_path / "witness.json")
    assert ledger.verify() == []
    assert ledger.verify(tmp_path / "witness.json") == []
    assert hc.verify(release.to_json().encode(), ledger=ledger).holds
    witness = json.loads((tmp_path / "witness.json").read_text())
    witness["datasets"][0]["hash"] = "0" * 64
    (tmp_path / "witness.json").write_text(json.dumps(witness))
    (problem,) = ledger.verify(tmp_path / "witness.json")
    assert "does not continue" in problem


def test_ledgers_by_path_and_by_object_are_the_same(ledger, location):
    assert top(location, run_id="monday").to_json() == top(ledger, run_id="monday").to_json()
    assert top(hc.Ledger.open(location), run_id="monday", dry_run=True).ledger.outcome == "answered"


def test_print(ledger):
    top(ledger, run_id="monday")
    assert str(ledger) == (
        "searches: epsilon 0.3 of 1 and delta 1e-8 of 1e-6 spent (releases: 1); one with epsilon at most"
        " 0.7 and delta at most 4.9e-7 would fit. Protects one event."
    )
    assert repr(ledger).startswith("<Ledger at ")
    assert "secret" not in repr(hc.Ledger("postgresql://me:secret@host/team"))


def test_opening_what_is_not_there_is_refused_and_makes_nothing(tmp_path):
    with pytest.raises(LedgerError, match=r"^There is no ledger at .*none\.db"):
        hc.Ledger.open(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("terms", [{}, {"epsilon": 1, "rho": 0.1}])
def test_a_budget_is_stated_in_one_way(terms, tmp_path):
    with pytest.raises(ParameterError) as refused:
        hc.Ledger(tmp_path / "l.db").init("d", delta="1e-6", **terms)
    assert str(refused.value) == (
        "Give epsilon, or rho for a budget in zero-concentrated differential privacy, but not both."
    )


def test_a_budget_in_rho_is_shown_with_its_epsilon_and_spent_by_curves(location):
    made = hc.Ledger(location)
    first = made.init("cells", rho="0.1", delta="1e-6")
    assert first["budget"]["epsilon"].startswith("2.20605")
    assert first["budget"]["parts"][0]["rho"] == "0.1"
    asked = {"rho": 0.05, "delta": 1e-8, "width": 64, "ledger": made, "dataset": "cells"}
    for run in ("one", "two"):
        hc.oracle(["a"] * 100, run_id=run, **asked)
    assert hc.oracle(["a"] * 100, run_id="three", dry_run=True, **asked).refused
    (entry,) = [each for each in made.history("cells") if each["run_id"] == "two" and each["rho"]]
    assert entry["kind"] == "reserve"
    assert 0.0499 < float(entry["rho"]) <= 0.05
    assert made.verify() == []


def test_cells_of_a_zone(location):
    """Days begin at midnight in Zurich; the ledger stores UTC, and refuses what cuts a day."""
    made = hc.Ledger(location)
    shown = made.init(
        "visits", epsilon=1, delta="1e-6", unit="user-window", cell="1d", time_zone="Europe/Zurich"
    )
    assert shown["protects"] == "the rows of one user in one cell of 1d Europe/Zurich"
    import pandas as pd

    frame = pd.DataFrame(
        {"who": range(400), "key": "a", "at": ["2026-03-29T22:30:00Z", "2026-03-29T21:30:00Z"] * 200}
    )
    asked = {"column": "key", "user": "who", "max_keys": 1, "time": "at", "ledger": made, "dataset": "visits"}
    release = hc.top(
        frame, **BUDGET, **asked, window="2026-03-29", time_zone="Europe/Zurich", run_id="sunday"
    )
    assert 170 < release["a"]["count"] < 230  # half of the rows are of the day of 23 hours
    (entry,) = [each for each in made.history("visits") if each["window"]]
    assert entry["window"] == "2026-03-28T23:00:00Z/2026-03-29T22:00:00Z"
    with pytest.raises(ParameterError) as refused:
        hc.top(frame, **BUDGET, **asked, window="2026-03-29", run_id="utc")
    assert str(refused.value) == (
        "window must begin and end where cells of 1d do, in Europe/Zurich: this dataset protects the rows of"
        " a user in one such cell."
    )


@pytest.mark.parametrize("terms", [{"epsilon": "1001"}, {"epsilon": "1e300"}, {"rho": 1e9}])
def test_budgets_that_no_number_holds_are_refused_and_make_nothing(terms, tmp_path):
    with pytest.raises(ParameterError, match=r"^epsilon must be at most 1000, got .*; it protects nobody\.$"):
        hc.Ledger(tmp_path / "l.db").init("d", delta="1e-6", **terms)
    assert list(tmp_path.iterdir()) == []


def test_a_zone_needs_cells(tmp_path):
    with pytest.raises(ParameterError, match=r'^time_zone is for the cells of unit="user-window"\.$'):
        hc.Ledger(tmp_path / "l.db").init("d", epsilon=1, delta="1e-6", time_zone="Europe/Zurich")
    with pytest.raises(ParameterError, match=r"^time_zone must be a name such as Europe/Zurich, got Mars\.$"):
        hc.Ledger(tmp_path / "l.db").init("d", epsilon=1, delta="1e-6", unit="user-window", time_zone="Mars")
    assert list(tmp_path.iterdir()) == []
