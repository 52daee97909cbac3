"""Every mechanism of the package is audited, keeps its claim, and spends most of it where it can."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from hushcount.audit import shipped
from hushcount.audit.neighbours import isolated_rows
from hushcount.audit.shipped import CASES, Finding, audit_shipped, names, tightened
from hushcount.errors import ParameterError
from hushcount.ldp.registry import CAMPAIGNS
from hushcount.mechanisms.continual.gate import WATCHES
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.mechanisms.thresholds import pmg_paper_threshold, pmg_threshold
from hushcount.noise.tails import log_floor_tail
from hushcount.privacy import Budget
from hushcount.sketches.counters import SpaceSaving

# docs/audit.md says why no neighbours spend all of these claims.
NOT_TIGHT = {
    "pmg-paper",
    "correlated",
    "keys-steered",
    "keys-sips",
    "count-min-envelope",
    "count-sketch-envelope",
    "measured-envelope",
    "group",
}


def test_every_mechanism_has_a_case():
    assert set(CASES) == set(EVERY_MECHANISM)
    assert len(names()) == len(EVERY_MECHANISM) + len(CAMPAIGNS) + len(WATCHES)
    assert set(names()) >= NOT_TIGHT


@pytest.mark.parametrize("name", names())
def test_the_claim_is_not_refuted_and_nearly_reached(name):
    found = audit_shipped(name)
    assert not found.refuted
    assert found.pair
    assert (found.share >= 0.8) == (name not in NOT_TIGHT)


def test_claims_that_are_not_tight_are_explained():
    page = (Path(__file__).parents[3] / "docs" / "audit.md").read_text()
    explained = page.partition("## Claims that are not tight")[2].partition("\n## ")[0]
    assert {name for name in names() if f"`{name}`" in explained} == NOT_TIGHT | {"pmg"}


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.5, 1e-4)], ids=str)
def test_the_published_threshold_spends_what_the_exact_formula_says(budget):
    """So no neighbours are worse than those of the audit: the formula is an upper bound."""
    threshold = pmg_paper_threshold(budget.epsilon, budget.delta)
    assert threshold > pmg_threshold(budget.epsilon, budget.delta)
    exact = math.exp(log_floor_tail(budget.epsilon, threshold))
    assert audit_shipped("pmg-paper", budget).delta_lower == pytest.approx(exact, rel=1e-6)


def test_a_stream_isolates_keys_as_the_worst_pair_of_a_user_does():
    stream = [16, 4, 5, 14, 9, 7, 14, 7, 11, 13, 12, 6, 15, 12, 10, 9, 4, 8, 2, 3, 16, 13, 5]
    sides = []
    for rows in (stream, stream[:3] + stream[6:]):
        sketch = SpaceSaving(counters=9)
        sketch.update(rows)
        shape = sketch.shape()
        sides.append(dict(zip(shape.keys.to_pylist(), (shape.counts - shape.floor).tolist(), strict=True)))
    more, less = sides
    assert sorted(more[key] for key in more.keys() - less.keys()) == [0, 0, 0, 1, 1, 1]
    worst, _ = isolated_rows(3)
    assert sorted(worst.heights().values()) == [0, 0, 0, 1, 1, 1]
    assert audit_shipped("group").share == pytest.approx(0.644, abs=0.005)


@pytest.mark.parametrize("name", ["floor", "pmg", "chan", "dpss", "laplace-threshold", "laplace", "sample"])
@pytest.mark.parametrize("budget", [Budget(0.3, 1e-4), Budget(2.5, 1e-9)], ids=str)
def test_other_budgets(name, budget):
    found = audit_shipped(name, budget)
    assert not found.refuted
    assert found.share >= 0.8


def test_the_claim_is_the_strongest_of_the_same_calibration():
    asked = Budget(1.0, 1e-6)
    own = tightened(LaplaceThreshold, asked)
    assert own.delta < asked.delta
    threshold = LaplaceThreshold(asked).threshold
    assert LaplaceThreshold(own).threshold == threshold
    assert LaplaceThreshold(replace(own, delta=own.delta * (1 - 1e-8))).threshold == threshold + 1
    assert tightened(NoisyCells, asked) == asked


def test_a_finding_says_how_much_of_the_claim_is_spent():
    found = Finding("x", 1.0, 1e-6, 2e-6, None, "pair")
    assert found.refuted
    assert found.share == 2
    pure = Finding("x", 2.0, 0.0, 0.0, 1.0, "pair")
    assert not pure.refuted
    assert pure.share == 0.5
    assert pure.to_dict() == {
        "mechanism": "x", "epsilon": 2.0, "delta": 0.0, "delta_lower": 0.0, "epsilon_lower": 1.0,
        "pair": "pair", "refuted": False,
    }  # fmt: skip


def test_a_mechanism_with_a_lower_threshold_is_refuted(monkeypatch):
    def lower(own):
        return shipped.cases.one_key(replace(shipped.noisy(own), threshold=own.threshold - 1))

    public, _ = CASES["laplace-threshold"]
    monkeypatch.setitem(CASES, "laplace-threshold", (public, lower))
    found = audit_shipped("laplace-threshold")
    assert found.refuted
    assert found.share == pytest.approx(2.718, rel=1e-3)


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError) as error:
        audit_shipped("flor")
    assert str(error.value) == f"mechanism must be one of {', '.join(names())}, got flor."
