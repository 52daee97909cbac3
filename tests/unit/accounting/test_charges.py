"""Curves equal the vectors and dp-accounting; charges are stored and read without a change."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import dp_accounting
import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from hushcount.accounting.charges import Charge, Event, Normal, Response
from hushcount.accounting.filter import conversion
from hushcount.errors import ParameterError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())
ORDERS = ["1.1", "1.5", "2", "6.3", "23", "64", "512"]


def near(value, expected, relative="1e-24"):
    return abs(value / Decimal(expected) - 1) < Decimal(relative)


def test_curves_equal_the_vectors():
    for row in VECTORS["rr_curve"]:
        assert near(Response(Fraction(row["epsilon"])).at(Decimal(row["order"])), row["value"]), row
    for row in VECTORS["gaussian_curve"]:
        curve = Normal(Fraction(row["sigma"]) ** 2, int(row["moved"]))
        assert near(curve.at(Decimal(row["order"])), row["value"]), row


def library(event, order):
    """The curve of an event by dp-accounting, and its epsilon at a delta of 1e-6."""
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    if isinstance(event, dp_accounting.GaussianDpEvent):
        relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    accountant = rdp_privacy_accountant.RdpAccountant([float(order)], relation)
    accountant.compose(event)
    return accountant._rdp[0], accountant.get_epsilon(1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", ["0.01", "0.05", "1", "3"])
def test_responses_equal_dp_accounting(epsilon, order):
    never_true = 2 / (1 + math.exp(float(epsilon)))
    curve, total = library(dp_accounting.RandomizedResponseDpEvent(never_true, 2), order)
    ours = Response(Fraction(epsilon)).at(Decimal(order))
    assert float(ours) == pytest.approx(curve, abs=1e-12)
    added = ours + conversion(Decimal(order), Decimal("1e-6"))
    assert float(added) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sigma", ["0.5", "4.2333984375", "106.0263671875"])
def test_gaussians_equal_dp_accounting(sigma, order):
    curve, total = library(dp_accounting.GaussianDpEvent(float(sigma)), order)
    ours = Normal(Fraction(sigma) ** 2).at(Decimal(order))
    assert float(ours) == pytest.approx(curve, rel=1e-12)
    assert float(ours + conversion(Decimal(order), Decimal("1e-6"))) == pytest.approx(total, abs=1e-9)


def test_count_min_by_cells_costs_less_than_its_pair():
    cells, order = Response(Fraction(1, 5), 5), Decimal(6)
    assert round(cells.at(order), 3) == Decimal("0.507")
    assert round(Response(Fraction(1)).at(order), 3) == Decimal("0.937")
    assert cells.limit() == 1


def test_a_charge_is_rounded_up():
    charge = Charge.pair(Decimal("0.05"), Decimal("1e-10"))
    exact = Response(Fraction("0.05")).at(Decimal(23))
    assert 0 < charge.at(Decimal(23)) - exact <= Decimal("1e-18")
    assert charge.at(None) == 0
    assert charge.basic == Decimal("0.05")


@pytest.mark.parametrize(
    "charge",
    [
        Charge.pair(Decimal("0.1"), Decimal("1e-280")),
        Charge(Decimal("9.979977724732385e-11"), (Normal(Fraction("106.0263671875") ** 2, 8),)),
        Charge(Decimal(0), (Response(Fraction(1, 3), 3), Normal(Fraction(7)))),
        Charge(Decimal(0), ()),
    ],
)
def test_what_is_stored_is_read(charge):
    assert Charge.from_dict(json.loads(json.dumps(charge.to_dict()))) == charge


def test_gaussians_are_unbounded():
    assert Charge(Decimal(0), (Normal(Fraction(1)), Response(Fraction(1)))).basic == Decimal("Infinity")


def test_the_curve_is_tried_before_the_pair():
    finer = Charge(Decimal("1e-9"), (Normal(Fraction(100)),))
    event = Event.of(0.5, 1e-8, finer)
    assert event.charges() == (finer, Charge.pair(Decimal("0.5"), Decimal("1e-8")))
    assert Event.of(0.5, 1e-8).charges() == (Charge.pair(Decimal("0.5"), Decimal("1e-8")),)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1e-8), (1, 1), (1, 2)])
def test_pairs_are_checked(epsilon, delta):
    with pytest.raises(ParameterError) as refused:
        Event.of(epsilon, delta)
    assert str(refused.value) == "epsilon must be above 0 and delta below 1."
