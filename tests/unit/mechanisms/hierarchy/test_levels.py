"""Composition of discrete Laplace noise: against enumeration, against dp-accounting, and the largest rate."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from hushcount.mechanisms.hierarchy.levels import laplace_divergences, largest_rate, rounded_down
from hushcount.noise.laplace import DiscreteLaplace


def enumerated(steps: int, rate: float, epsilon: float) -> float:
    """HS of all vectors of noises against the same moved by one, noise by noise."""
    law = DiscreteLaplace(rate)
    values = np.arange(-60, 61)
    p, q = np.asarray(law.pmf(values)), np.asarray(law.pmf(values + 1))
    joint_p, joint_q = np.ones(1), np.ones(1)
    for _ in range(steps):
        joint_p, joint_q = np.outer(joint_p, p).ravel(), np.outer(joint_q, q).ravel()
    return float(np.maximum(joint_p - math.exp(epsilon) * joint_q, 0).sum())


@pytest.mark.parametrize(("steps", "rate", "epsilon"), [(1, 0.7, 0.5), (2, 0.6, 1.0), (3, 0.9, 1.0)])
def test_divergence_equals_the_enumeration(steps: int, rate: float, epsilon: float) -> None:
    found = laplace_divergences(steps, rate, epsilon)[-1]
    assert found == pytest.approx(enumerated(steps, rate, epsilon), rel=1e-9)


def test_divergence_in_rationals() -> None:
    """exp(-rate) = 1/2 and exp(epsilon) = 3: every probability is rational."""
    for steps in range(1, 7):
        exact = Fraction(0)
        for signs in product((1, -1), repeat=steps):
            ups = signs.count(1)
            p = Fraction(2, 3) ** ups * Fraction(1, 3) ** (steps - ups)
            q = Fraction(1, 3) ** ups * Fraction(2, 3) ** (steps - ups)
            exact += max(p - 3 * q, Fraction(0))
        found = laplace_divergences(steps, math.log(2), math.log(3))[steps]
        assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-16)


@pytest.mark.parametrize(("steps", "rate"), [(4, 0.3), (32, 0.042), (33, 0.05)])
def test_dp_accounting_agrees_from_above(steps: int, rate: float) -> None:
    """Its distribution is rounded pessimistically to a grid."""
    one = pld.from_discrete_laplace_mechanism(rate, value_discretization_interval=1e-5)
    theirs = one.self_compose(steps).get_delta_for_epsilon(1.0)
    ours = laplace_divergences(steps, rate, 1.0)[-1]
    assert ours <= theirs * (1 + 1e-6)
    assert ours >= theirs * 0.995 - 1e-12


def test_more_steps_and_higher_rates_cost_more() -> None:
    found = laplace_divergences(40, 0.1, 1.0)
    assert (np.diff(found) >= -1e-15).all()
    assert found[10] == 0
    assert found[40] > 0
    assert (laplace_divergences(40, 0.11, 1.0) >= found).all()


def test_the_largest_rate_is_private_and_a_larger_one_is_not() -> None:
    for steps, delta in ((2, 1e-6), (5, 1e-9), (33, 1e-6), (129, 1e-12)):
        rate = largest_rate(steps, 1.0, delta)
        assert rate >= (1 - 1e-9) / steps
        assert laplace_divergences(steps, rate, 1.0)[-1] <= delta
        assert laplace_divergences(steps, rate * (1 + 1e-5), 1.0)[-1] > delta
    assert largest_rate(1, 1.0, 1e-6) == 1.0


@pytest.mark.parametrize("rate", [1 / 3, 1e-7, 0.25, 19.9])
def test_rates_are_rounded_down_to_forty_digits(rate: float) -> None:
    found = rounded_down(rate)
    assert found <= rate < found * (1 + 2.0**-38)
    assert Fraction(found) * 4099 == Fraction(found * 4099)
