"""Every mechanism says what it costs before any data are read, and the charge is honest."""

import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushcount.accounting.charges import Charge, Event, Normal, Response
from hushcount.accounting.filter import Filter
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
from hushcount.mechanisms.hierarchy.levels import GaussianLevels, LaplaceLevels
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.mechanisms.registry import MECHANISMS, PURE, prepare
from hushcount.mechanisms.sampling.schemes import Pps
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import USER, Budget
from hushcount.shapes import FloorCounters, Histogram, ManyKeys, Public

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "accounting.json").read_text())
BUDGET = Budget(0.1, 1e-8)
PAIR = Charge.pair(Decimal("0.1"), Decimal("1e-8"))
SIZES = Public(candidates=64, parts=64, max_events=1000, moved=3)
CURVES = (
    "gaussian",
    "correlated",
    "count-min-envelope",
    "count-sketch-envelope",
    "measured-envelope",
)  # of their own
OTHERS = (*CURVES, *PURE, "sanitise")  # with a domain; with the scheme of a sample


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in OTHERS])
def test_most_mechanisms_charge_their_pair(name):
    mechanism = MECHANISMS[name](BUDGET, SIZES)
    assert mechanism.event() == Event(Decimal("0.1"), Decimal("1e-8"))
    assert mechanism.event().charges() == (PAIR,)


def test_sanitised_samples_charge_their_pair():
    mechanism = MECHANISMS["sanitise"](BUDGET, replace(SIZES, scheme=Pps(0.01)))
    assert mechanism.event().charges() == (PAIR,)


def test_users_are_charged_the_whole_pair_and_not_that_of_a_row():
    public = Public(shape=FloorCounters, unit=replace(USER, rows=5))
    assert prepare("floor", BUDGET, public).event().charges() == (PAIR,)
    assert prepare("laplace-threshold", BUDGET, replace(public, shape=Histogram)).event().charges() == (PAIR,)


def test_a_tenth_is_drawn_at_one_tenth():
    """Ten releases at 0.1 fit a budget of 1, so none may be drawn at more than one tenth."""
    assert Fraction(0.1) > Fraction(1, 10)
    assert DiscreteLaplace(0.1).exact_epsilon == Fraction(1, 10)
    assert DiscreteLaplace.shared(0.1, 5, "cells").exact_epsilon == Fraction(1, 50)
    # 0.3 is held by a float below it.
    assert DiscreteLaplace(0.3).exact_epsilon == Fraction(0.3) < Fraction(3, 10)


def test_gaussian_thresholds_charge_their_curve():
    row = VECTORS["series"][2]
    budget = Budget(float(row["epsilon"]), float(row["delta"]))
    event = GaussianSparseHistogram(budget, Public(moved=1, shape=ManyKeys)).event()
    finer, pair = event.charges()
    assert finer.curves == (Normal(Fraction(row["sigma"]) ** 2, 1),)
    assert float(finer.delta) == pytest.approx(float(row["threshold_delta"]), rel=1.1e-8)
    assert finer.delta >= Decimal(row["threshold_delta"])
    assert pair == Charge.pair(Decimal("0.05"), Decimal("1e-10"))
    # Nearly all of a small budget: only the pair fits.
    small = Filter.fixed(1, "1e-6")
    large = GaussianSparseHistogram(Budget(1.0, 4e-7), Public(moved=1)).event()
    assert [small.allows(small.sums(charge)) for charge in large.charges()] == [False, True]


@pytest.mark.parametrize(("moved", "sigma"), [(1, 2.0), (3, 2.0), (4, 7.5)])
@pytest.mark.parametrize("order", [1.5, 4.0, 23.0])
def test_the_curve_of_gaussians_on_the_integers(moved, sigma, order):
    """The divergence of one shifted discrete Gaussian, summed, is at most the curve; several add up."""
    z = np.arange(-400, 401)
    noise = DiscreteGaussian(sigma)
    log_p, log_q = noise.log_pmf(z), noise.log_pmf(z + 1)
    for one, other in ((log_p, log_q), (log_q, log_p)):
        exact = moved * math.log(np.exp(order * one + (1 - order) * other).sum()) / (order - 1)
        assert exact <= float(Normal(Fraction(sigma) ** 2, moved).at(Decimal(order))) * (1 + 1e-9)


@pytest.mark.parametrize("order", [1.5, 6.0, 23.0])
def test_the_curve_of_laplace_is_that_of_a_response(order):
    """Discrete Laplace noise that moves by one is randomised response: nothing smaller would be honest."""
    z = np.arange(-4000, 4001)
    noise = DiscreteLaplace(0.25)
    log_p, log_q = noise.log_pmf(z), noise.log_pmf(z + 1)
    exact = math.log(np.exp(order * log_p + (1 - order) * log_q).sum()) / (order - 1)
    assert exact == pytest.approx(float(Response(Fraction(1, 4)).at(Decimal(order))), rel=1e-9)


def test_the_broken_twin_is_refuted():
    """The curve of dp-accounting's continuous Laplace event is smaller than that of the integers."""
    noise, order = DiscreteLaplace(1.0), 6.0
    z = np.arange(-700, 701)
    log_p, log_q = noise.log_pmf(z), noise.log_pmf(z + 1)
    exact = math.log(np.exp(order * log_p + (1 - order) * log_q).sum()) / (order - 1)
    continuous = math.log(
        order / (2 * order - 1) * math.exp(order - 1) + (order - 1) / (2 * order - 1) * math.exp(-order)
    ) / (order - 1)
    assert exact > continuous


def test_oracles_charge_by_cell():
    count_min = NoisyCells(Budget.pure(1.0), sizes=CellSizes(COUNT_MIN, 5, 1)).event()
    assert count_min.charges()[0] == Charge(Decimal(0), (Response(Fraction(1, 5), 5),))
    assert round(count_min.charges()[0].at(Decimal(6)), 3) == Decimal("0.507")
    assert count_min.charges()[0].basic == 1
    heavy = NoisyCells(Budget.pure(1.0), sizes=CellSizes(COUNT_MIN, 5, 3)).event().charges()[0]
    assert heavy.basic == 1
    sketch = NoisyCells(Budget(1.0, 1e-6), sizes=CellSizes(COUNT_SKETCH, 5, 2)).event()
    noise = NoisyCells(Budget(1.0, 1e-6)).noise(COUNT_SKETCH, 5, 2)
    assert sketch.charges()[0] == Charge(Decimal(0), (Normal(noise.exact_sigma**2, 20),))


@pytest.mark.parametrize(
    ("budget", "height", "kind"),
    [(Budget(1.0, 1e-6), 31, GaussianLevels), (Budget(1.0, 1e-6), 2, LaplaceLevels)],
)
def test_streaming_trees_charge_all_levels_and_the_root(budget, height, kind):
    mechanism = LevelFloorRelease(budget, Public(height=height))
    assert isinstance(mechanism.levels.noise, kind)
    finer, pair = mechanism.event().charges()
    (curve,) = finer.curves
    assert (curve.times if kind is LaplaceLevels else curve.moved) == height + 1
    tail = mechanism.levels.noise.isolated_tail(mechanism.levels.threshold)
    assert height * tail <= float(finer.delta) <= height * tail * (1 + 2e-8)
    assert finer.delta < Decimal("1e-6")
    assert pair == Charge.pair(Decimal(1), Decimal("1e-6"))
    if kind is LaplaceLevels:
        assert curve.epsilon <= Fraction(mechanism.levels.noise.rate)
