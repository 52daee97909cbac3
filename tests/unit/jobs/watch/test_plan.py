"""Plans of watches: what is forecast, against the reference values, and what a ledger would do."""

import json
from pathlib import Path

import pytest

import hushcount as hc
from hushcount.errors import LedgerError, ParameterError
from hushcount.jobs.watch.plan import plan_watch

KNOWN = json.loads((Path(__file__).parents[3] / "vectors" / "continual.json").read_text())
TIME = {
    1: ("1d", "2026-12-02"),
    24: ("1h", "2026-12-02"),
    365: ("1d", "2027-12-01"),
    8760: ("1h", "2027-12-01"),
}


def asked(periods, **more):
    period, until = TIME[periods]
    return {"period": period, "start": "2026-12-01", "until": until, "epsilon": 1.0, "delta": 1e-8} | more


@pytest.mark.parametrize("row", KNOWN["steady"]["rows"], ids=lambda row: str(row["T"]))
def test_what_is_needed_is_that_of_the_reference(row):
    found = plan_watch(**asked(row["T"]))
    assert (found.periods, found.threshold, found.steady) == (row["T"], row["tau"], row["n"])
    assert found.burst == {24: 25, 365: 28, 8760: 31}[row["T"]]


def test_users_wait_longer_and_each_rate_has_its_time():
    users = {"user": "who", "column": "url", "time": "ts", "max_keys": 8, "cell": "1d"}
    events, days = plan_watch(**asked(365)), plan_watch(**asked(365, **users))
    assert (events.burst, days.burst) == (28, 226)
    assert dict(events.waits)[1000.0] == 1
    waits = [after for _, after in days.waits if after is not None]
    assert waits == sorted(waits)
    assert dict(days.waits)[0.1] is None
    assert days.counted == "users"
    assert " Keys wait at epsilon 0.125." in days.sentences[0]


def test_windows_have_the_errors_of_their_nodes():
    found = plan_watch(**asked(8760, levels=["1h", "1d", "30d"]))
    assert [(each.window, each.nodes) for each in found.windows] == [
        *(("1h", 1), ("1d", 1), ("30d", 1)),
        ("all", 13),  # twelve of 30 days, and one that the end cuts
    ]
    assert found.windows[0].error == found.windows[2].error == 9
    assert plan_watch(**asked(8760, levels=["1h"])).windows[0].error == 3


def test_more_events_publish_more_keys():
    few, many = (plan_watch(**asked(24, events=events, keys="zipf:1.1:10000")) for events in (100, 10_000))
    assert few.expected_keys < many.expected_keys < 10_000
    whole = plan_watch(**asked(24, events=1000, keys=[1000] * 10)).expected_keys
    assert whole == pytest.approx(10)
    assert plan_watch(**asked(24)).expected_keys is None


def test_the_plan_says_what_a_ledger_would_do(tmp_path):
    book = tmp_path / "spent.db"
    hc.Ledger(book).init("site", epsilon=1, delta=1e-6, slack=0)
    spending = asked(24, ledger=book, dataset="site")
    assert plan_watch(**spending).sentences[-2] == "Dataset site would be charged epsilon 1 and delta 1e-8."
    hc.watch(tmp_path / "site.hw", **spending)
    again = plan_watch(**spending, name="again")
    assert again.ledger.outcome == "refused"
    assert again.to_dict()["ledger"]["charged"] == {"epsilon": "0", "delta": "0"}
    with pytest.raises(LedgerError) as refused:
        plan_watch(**spending | {"user": "who", "max_pairs": 3, "column": "url"}, name="other")
    assert str(refused.value).startswith("Dataset site protects one event.")


def test_the_budget_is_checked():
    with pytest.raises(ParameterError) as refused:
        plan_watch(period="1d", start="2026-12-01", until="2026-12-02", epsilon=1.0)
    assert str(refused.value) == "A new watch needs period, start, until, epsilon and delta."
