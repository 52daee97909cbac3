import json

import pytest
from tests.made import KEYS, LEAVES

import hushcount as hc
from hushcount.errors import LedgerError

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "l.db"
    hc.Ledger(path).init("searches", epsilon="5", delta="1e-4")
    return path


def found(release, ledger):
    (one,) = [
        each
        for each in hc.verify(release.to_json().encode(), ledger=ledger).findings
        if each.what == "ledger"
    ]
    return one.follows, one.sentence


def test_a_recorded_release_is_found_in_the_ledger_and_in_its_export(ledger, tmp_path):
    spent = {**BUDGET, "ledger": ledger, "dataset": "searches"}
    table = hc.top(KEYS, counters=64, confidence=0.9, run_id="a", **spent).named("shop")
    tree = hc.tree(LEAVES, hierarchy="ipv4/8", threshold=300, run_id="b", **spent)
    hc.Ledger(ledger).export(tmp_path / "e.json")
    for where in (ledger, tmp_path / "e.json"):
        assert found(table, where) == (True, "The ledger recorded it: dataset searches, run a, entry 3.")
        assert found(tree, where) == (True, "The ledger recorded it: dataset searches, run b, entry 5.")
    missing = hc.top(KEYS, counters=64, **BUDGET)
    assert found(missing, ledger) == (False, "The ledger did not record this release.")
    assert found(table.limit(1), ledger) == (
        False,
        "The ledger did not record this release. Only the whole table is recorded, and rows of this one were"
        " cut.",
    )


def test_a_changed_export_is_noticed(ledger, tmp_path):
    table = hc.top(KEYS, counters=64, run_id="a", ledger=ledger, dataset="searches", **BUDGET)
    hc.Ledger(ledger).export(tmp_path / "e.json")
    values = json.loads((tmp_path / "e.json").read_text())
    entry = values["datasets"][0]["entries"][1]
    entry["body"] = entry["body"].replace('"epsilon":"1"', '"epsilon":"0.1"')
    (tmp_path / "e.json").write_text(json.dumps(values))
    assert found(table, tmp_path / "e.json") == (
        False,
        "The ledger is damaged: an entry is not on its chain.",
    )
    (tmp_path / "e.json").write_text("{")
    with pytest.raises(LedgerError, match=r"e\.json is not an exported ledger\.$"):
        found(table, tmp_path / "e.json")
    with pytest.raises(LedgerError):
        found(table, tmp_path / "none.db")


def test_a_release_that_states_another_entry_is_noticed(ledger):
    table = hc.top(KEYS, counters=64, run_id="a", ledger=ledger, dataset="searches", **BUDGET)
    assert found(table.made_with({"run_id": "b"}, None), ledger) == (
        False,
        "The ledger recorded it for another dataset or run than the release states.",
    )
