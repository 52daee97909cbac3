"""Equal releases with Gaussian noise cost what one of sigma / sqrt(k) costs: within 1% of dp-accounting."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from dp_accounting.pld import privacy_loss_distribution

import hushcount as hc
from hushcount.accounting.charges import Normal, Response
from hushcount.accounting.schedule import composed_epsilon
from hushcount.errors import BudgetExceeded, ParameterError
from hushcount.jobs.trust.schedules import Releases, composed

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "accounting.json").read_text())
YEAR = {"releases": 365, "epsilon": "0.05", "delta": "1e-10", "total_delta": "1e-6"}


def test_a_year_of_the_vectors():
    row = VECTORS["series"][2]
    found = Releases(**YEAR, mechanism="gaussian", counts=1).schedule("nightly")
    (curve,) = found.each.finer.curves
    assert math.sqrt(curve.variance) == float(row["sigma"])
    exact = float(row["exact_continuous"])
    assert exact <= float(found.whole.epsilon) <= exact * 1.000001
    # The pair of (epsilon, delta), as for any release, costs six times as much.
    assert float(Releases(**YEAR).schedule("nightly").whole.epsilon) > 4.62


@pytest.mark.parametrize(
    "asked",
    [
        {"mechanism": "gaussian", "counts": 1, "epsilon": "0.05"},
        {"mechanism": "gaussian", "counts": 8, "epsilon": "0.05"},
        {"mechanism": "gaussian", "counts": 3, "rho": "1e-4"},
        {"mechanism": "noisy-cells", "counts": 5, "epsilon": "0.05"},
        {"mechanism": "noisy-cells", "counts": 5, "rho": "1e-4"},
        {"mechanism": "hierarchy-streaming", "counts": 5, "rho": "1e-4"},
        {"mechanism": "gaussian", "counts": 1, "rho": "0.01", "releases": 12},
    ],
)
def test_schedules_are_within_a_percent_of_dp_accounting_and_not_below(asked):
    terms = {"releases": 365, "delta": "1e-10", "total_delta": "1e-6"} | asked
    found = Releases(**terms).schedule("nightly")
    (curve,), lost = found.each.finer.curves, float(found.each.finer.delta) * found.releases
    assert isinstance(curve, Normal)
    one = math.sqrt(float(curve.variance) / curve.moved / found.releases)
    exact = privacy_loss_distribution.from_gaussian_mechanism(one, value_discretization_interval=1e-4)
    theirs = exact.get_epsilon_for_delta(1e-6 - lost)
    assert theirs * 0.9999 <= float(found.whole.epsilon) <= theirs * 1.01


def test_laplace_noise_on_several_counts_is_as_many_responses():
    delta = Decimal("1e-7")
    together = composed(Response(Fraction(1, 20), 3), 10, delta)
    assert together == composed_epsilon(Decimal("0.05"), 30, delta)


@pytest.fixture
def spent(location):
    hc.Ledger(location).init("visits", epsilon=2, delta="1e-5")
    return {"ledger": location, "dataset": "visits"}


def test_runs_of_the_schedule_have_its_noise(spent):
    """Oracles of the stated depth and budget are paid for; one of another depth is not."""
    asked = {"releases": 2, "epsilon": "0.1", "delta": "1e-8", "total_delta": "1e-6"}
    ledger = hc.Ledger(spent["ledger"])
    cost = ledger.schedule("visits", "nightly", **asked, mechanism="noisy-cells", counts=5)
    assert float(cost.to_dict()["epsilon"]) < 0.13
    before = ledger.show("visits")[0]["spent"]
    keys = ["a"] * 100
    for night in ("1", "2"):
        hc.oracle(keys, epsilon=0.1, delta=1e-8, width=64, run_id=f"nightly/{night}", **spent)
    assert ledger.show("visits")[0]["spent"] == before
    with pytest.raises(BudgetExceeded, match=r"has had all of its 2 releases\.$"):
        hc.oracle(keys, epsilon=0.1, delta=1e-8, width=64, run_id="nightly/3", **spent)
    assert ledger.verify() == []


def test_a_run_with_other_noise_is_refused(spent):
    asked = {"releases": 2, "epsilon": "0.1", "delta": "1e-8", "total_delta": "1e-6"}
    hc.Ledger(spent["ledger"]).schedule("visits", "nightly", **asked, mechanism="noisy-cells", counts=5)
    with pytest.raises(BudgetExceeded) as refused:
        hc.oracle(["a"], epsilon=0.1, delta=1e-8, depth=4, width=64, run_id="nightly/1", **spent)
    assert str(refused.value) == (
        "Schedule nightly of dataset visits has paid for releases with the noise that it was made for, and"
        " this release has another; name its run without the schedule."
    )
    with pytest.raises(BudgetExceeded):
        hc.top(["a"] * 100, epsilon=0.1, delta=1e-8, run_id="nightly/1", **spent)
    assert [entry["kind"] for entry in hc.Ledger(spent["ledger"]).history("visits")] == ["init", "schedule"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rho": "0.1"}, "rho and counts need mechanism, because their cost depends on the noise."),
        ({"mechanism": "gaussian", "epsilon": "1"}, "mechanism needs counts, the number of noisy counts"),
        (
            {"mechanism": "floor", "counts": 1, "epsilon": "1"},
            "mechanism must be one of gaussian, noisy-cells",
        ),
        (
            {"mechanism": "gaussian", "counts": 1},
            "Give either epsilon, or rho, which is for Gaussian noise, but not both.",
        ),
    ],
)
def test_what_is_not_known_is_refused(asked, message):
    with pytest.raises(ParameterError) as refused:
        Releases(**{"releases": 2, "delta": "1e-8", "total_delta": "1e-6"} | asked).schedule("nightly")
    assert str(refused.value).startswith(message)
