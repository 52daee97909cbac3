"""`hushcount audit`: tables, JSON, and exit code 1 if a claim is refuted."""

import json
import re

import pytest

from hushcount.audit import shipped
from hushcount.audit.shipped import Finding, names
from hushcount.cli.main import main

NO_PROOF = "An audit can refute a claim, not prove it; hushcount explain shows the proofs."
REFUTED = Finding("floor", 1.0, 1e-6, 3e-6, None, "S6: one and other")
KEPT = Finding("pure", 1.0, 0.0, 0.0, 0.9, "two counts")


@pytest.fixture
def found(monkeypatch):
    """Findings by name, in place of the real ones."""
    findings = {}
    monkeypatch.setattr(shipped, "audit_shipped", lambda name, _: findings[name])
    return findings


def test_one_mechanism(capfd):
    assert main(["audit", "laplace-threshold"]) == 0
    shown = capfd.readouterr()
    assert shown.out.splitlines() == [
        "mechanism\tclaim\tspends at least\tof the claim\tverdict\tneighbours",
        "laplace-threshold\t(1, 6.08e-07)\tdelta 6.08e-07\t100.0%\tnot refuted\t{'x': 1} and {}",
    ]
    assert shown.err.lstrip() == f"No claim is refuted. {NO_PROOF}\n"


def test_one_mechanism_as_json(capfd):
    assert main(["audit", "dpss", "--epsilon", "2", "--delta", "1e-9", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["refuted"], found["epsilon"]) == (False, 2.0)
    assert 0.99e-9 * 0.1 < found["delta_lower"] <= found["delta"] <= 1e-9


def test_a_refuted_claim_has_exit_code_1(capfd, found):
    found["floor"] = REFUTED
    assert main(["audit", "floor"]) == 1
    shown = capfd.readouterr()
    assert shown.out.splitlines()[1] == "floor\t(1, 1e-06)\tdelta 3e-06\t300.0%\tREFUTED\tS6: one and other"
    assert shown.err.lstrip() == f"Refuted: floor. {NO_PROOF}\n"
    assert main(["audit", "floor", "--json"]) == 1
    assert json.loads(capfd.readouterr().out)["refuted"] is True


def test_all_mechanisms(capfd, found):
    found.update(dict.fromkeys(names(), KEPT))
    assert main(["audit", "all", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert shown["refuted"] is False
    assert len(shown["mechanisms"]) == len(names())
    assert shown["mechanisms"][0]["epsilon_lower"] == 0.9
    found["chan"] = REFUTED
    assert main(["audit", "all"]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert sum("REFUTED" in line for line in lines) == 1
    assert "pure\t(1, 0)\tepsilon 0.9\t90.0%\tnot refuted\ttwo counts" in lines


def test_the_table_on_a_terminal(capfd, found, monkeypatch):
    found["floor"] = REFUTED
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["audit", "floor"]) == 1
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capfd.readouterr().out)
    assert "mechanism   claim        spends at least" in shown
    assert "S6: one and other" in shown


def test_an_unknown_mechanism(capfd):
    assert main(["audit", "flor"]) == 2
    assert capfd.readouterr().err == f"mechanism must be one of {', '.join(names())}, got flor.\n"
