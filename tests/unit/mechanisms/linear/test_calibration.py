"""Sizes and thresholds of linear releases: formulas against slow sums, optimality, refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hushcount.errors import ParameterError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
from hushcount.mechanisms.linear.calibration import (
    Envelope,
    cell_noise,
    envelope_beta,
    envelope_bounds,
    fingerprint_failure,
    gaussian_sigma,
    plan_envelope,
    row_failure,
    sum_ratio,
)
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.sketches.linear import at_least_half

KINDS = (COUNT_MIN, COUNT_SKETCH)


@pytest.mark.parametrize(("depth", "continuous"), [(1, 4.225), (10, 13.360), (100, 42.247), (1000, 133.60)])
def test_sigma_is_close_above_the_continuous_one(depth: int, continuous: float) -> None:
    assert continuous <= gaussian_sigma(depth, 1.0, 1e-6) <= 1.002 * continuous


def test_sigma_has_its_limits() -> None:
    assert gaussian_sigma(1, 20.0, 0.5) == 1.0
    text = "epsilon must be larger for cells with Gaussian noise, got 1e-08."
    with pytest.raises(ParameterError) as caught:
        gaussian_sigma(5, 1e-8, 1e-12)
    assert str(caught.value) == text
    with pytest.raises(ParameterError) as caught:
        gaussian_sigma(5, 1.0, 1e-6, 65537)
    assert str(caught.value) == "max_weight must be at most 65536 for CountSketch, got 65537."


def test_sigma_grows_with_the_weight() -> None:
    one = gaussian_sigma(5, 1.0, 1e-6)
    assert gaussian_sigma(5, 1.0, 1e-6, 100) == pytest.approx(100 * one, rel=2e-3)


def test_the_sum_of_noises_is_as_good_as_gaussian() -> None:
    assert sum_ratio(1, 1.0) == 1.0
    assert 1 < sum_ratio(5, 1.0) < 1.001
    assert sum_ratio(1000, 2.0) - 1 < 1e-13


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_beta_uses_up_delta(epsilon: float) -> None:
    events, delta = 10**6, 1e-8
    beta, phi = envelope_beta(events, epsilon, delta), fingerprint_failure(events)
    spent = phi + beta / events + (1 + math.exp(epsilon)) * (phi + beta)
    assert delta * (1 - 1e-9) < spent <= delta


def test_too_many_keys_for_fingerprints() -> None:
    with pytest.raises(ParameterError) as caught:
        envelope_beta(10**13, 1.0, 1e-14)
    assert str(caught.value) == (
        "max_events must be smaller for an error envelope at this delta, got 10000000000000: two of so many"
        " keys may have equal fingerprints, with a probability of up to 0.00082."
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 4, 9, 31])
def test_rows_may_fail_as_often_as_the_estimate_allows(kind: str, depth: int) -> None:
    row = row_failure(kind, depth, 1e-9)

    def failure(chance: float) -> float:
        return chance**depth if kind == COUNT_MIN else at_least_half(depth, chance)

    assert failure(row) <= 1e-9 * (1 + 1e-9)
    assert failure(row * 1.001) > 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("events", [1000, 10**7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_plans_keep_the_envelope(kind: str, events: int, epsilon: float) -> None:
    """The formulas of the proof, with the plan's own numbers."""
    counters, delta = 1000, 1e-8
    plan = plan_envelope(kind, events, counters, Budget(epsilon, delta))
    assert plan.width == 1024
    assert plan.threshold == events // counters + 1 + plan.collisions + plan.noise
    share = plan.width * (1 if kind == COUNT_MIN else 2)
    colliding = 0.0 if plan.collisions >= events else events / (share * (plan.collisions + 1))
    noisy = float(plan.distribution.tail(plan.noise + 1))
    row = colliding + noisy - colliding * noisy
    failure = row**plan.depth if kind == COUNT_MIN else at_least_half(plan.depth, row)
    assert failure <= plan.beta / events * (1 + 1e-9)
    gauss = 0.0 if kind == COUNT_MIN else delta / 2
    assert plan.distribution == cell_noise(kind, plan.depth, 1, epsilon, gauss)
    assert plan.beta == envelope_beta(events, epsilon, delta - gauss)


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_depth_reaches_much_lower(kind: str) -> None:
    from hushcount.mechanisms.linear.calibration import envelope_of

    plan = plan_envelope(kind, 10**6, 4096, Budget(1.0, 1e-8))
    share = 0.0 if kind == COUNT_MIN else 5e-9
    for depth in (9, 21, 33, 51, 95):
        law = cell_noise(kind, depth, 1, 1.0, share)
        other = envelope_of((kind, depth, plan.width), (10**6, 4096), plan.beta, law)
        assert other.reach >= plan.reach / 1.06


def test_bounds_of_a_small_failure_are_wider() -> None:
    plan = plan_envelope(COUNT_MIN, 10**6, 4096, Budget(1.0, 1e-8))
    sums = [sum(envelope_bounds(plan, 10**6, failure)) for failure in (0.1, 1e-3, 1e-9)]
    assert sums == sorted(sums)
    assert sums[0] < sums[2]


def test_the_centre_is_the_median_of_the_least_noise() -> None:
    law = DiscreteLaplace(1 / 30)
    plan: Any = Envelope(COUNT_MIN, 30, 64, 0, 0, 0, 0.1, law)
    at_least = float(law.tail(-plan.centre)) ** 30
    above = float(law.tail(-plan.centre + 1)) ** 30
    assert above <= 0.5 <= at_least
    assert plan.reach == 1 + plan.centre
