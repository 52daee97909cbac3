import json
from dataclasses import replace

import pyarrow as pa
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


CUT = (
    "The ledger did not record this release. Only whole tables are recorded, and rows of this one were cut;"
    " the ledger itself, which stores the table, can tell whether they are its rows, and an export cannot."
)


def test_rows_of_a_recorded_table_are_found_in_the_ledger_itself(ledger, tmp_path):
    """Cut by limit, by a least count or by a share; rows that the table has not are noticed."""
    spent = {**BUDGET, "ledger": ledger, "dataset": "searches"}
    table = hc.top(KEYS, counters=64, confidence=0.9, run_id="a", **spent)
    cuts = [
        table.limit(1),
        hc.top(KEYS, counters=64, run_id="a", limit=1, **spent),
        hc.top(KEYS, counters=64, run_id="b", share=0.1, max_events=60_000, **spent),
    ]
    hc.Ledger(ledger).export(tmp_path / "e.json")
    assert len(table) > 1
    for cut, (run, entry) in zip(cuts, (("a", 3), ("a", 3), ("b", 5)), strict=True):
        recorded = f"The ledger recorded it: dataset searches, run {run}, entry {entry}."
        assert found(cut, ledger) == (True, recorded)
        assert found(cut, tmp_path / "e.json") == (False, CUT)
    (count,) = cuts[0].counts.to_pylist()
    forged = replace(cuts[0], counts=pa.array([count + 1]))
    assert found(forged, ledger) == (False, CUT)
    assert found(replace(cuts[0], notes=()), ledger) == (False, CUT)
    other = replace(table.limit(1), made=replace(table.made, options={"dataset": "searches", "run_id": "no"}))
    assert found(other, ledger) == (False, CUT)


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
