"""Budgets in rho: the noise has that rho, the release the (epsilon, delta) beside it; a twin is caught."""

import math
from fractions import Fraction

import pytest
from dp_accounting.rdp import rdp_privacy_accountant

from hushcount.accounting.charges import Normal
from hushcount.accounting.filter import Filter
from hushcount.accounting.zcdp import zcdp_budget, zcdp_epsilon, zcdp_sigma
from hushcount.errors import ParameterError
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.shapes import Public

CASES = [(0.5, 1e-6), (0.1, 1e-6), (0.02, 1e-9), (1e-4, 1e-8), (2.0, 1e-5), (0.005, 1e-3)]
ORDERS = (1.1, 1.5, 2.0, 5.0, 20.0)


def phi(x):
    return math.erfc(-x / math.sqrt(2)) / 2


def gaussian_delta(rho, epsilon):
    """The exact divergence of continuous Gaussian noise of this rho (Balle and Wang, in logarithms)."""
    mu = math.sqrt(2 * rho)
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("rho", "delta"), CASES)
def test_epsilon_is_that_of_the_best_order_and_never_below_the_exact_one(rho, delta):
    ours = float(zcdp_epsilon(rho, delta))
    orders = [1 + math.exp(step / 200) for step in range(-1600, 2400)]
    losses = [rho * order for order in orders]
    theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, losses, delta)
    assert theirs - 1e-5 <= ours <= theirs + 2e-9  # its orders are those of a grid
    assert gaussian_delta(rho, ours) < delta


def test_an_epsilon_of_rho_is_rounded_up():
    """The exact value of one case, by the formula with 50 digits at the best of a fine grid of orders."""
    from decimal import Decimal

    from hushcount.accounting.filter import conversion

    exact = min(
        Decimal("0.5") * a + conversion(a, Decimal("1e-6"))
        for a in (Decimal(5) + Decimal(step) / 10_000 for step in range(10_000))
    )
    ours = zcdp_epsilon("0.5", "1e-6")
    assert Decimal(0) <= ours - exact < Decimal("2e-9")


def divergence(order, sigma, moved=1):
    """The Rényi divergence of discrete Gaussian noise on counts that change by 1, enumerated."""
    reach = range(-math.ceil(40 * sigma) - 60, math.ceil(40 * sigma) + 61)
    weight = [math.exp(-z * z / (2 * sigma**2)) for z in reach]
    total = math.fsum(weight)
    powers = math.fsum(
        math.exp(-(order * z * z + (1 - order) * (z - 1) ** 2) / (2 * sigma**2)) for z in reach
    )
    return moved * math.log(powers / total) / (order - 1)


@pytest.mark.parametrize("moved", [1, 3, 8])
@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-6), (0.1, 1e-6), (0.02, 1e-9)])
def test_the_noise_has_that_rho_and_one_step_less_has_not(rho, delta, moved):
    sigma = zcdp_sigma(rho, moved)
    assert moved <= 2 * Fraction(str(rho)) * Fraction(sigma) ** 2
    smaller = sigma - 1 / 1024
    assert moved > 2 * Fraction(str(rho)) * Fraction(smaller) ** 2
    for order in ORDERS:
        assert divergence(order, sigma, moved) <= order * rho * (1 + 1e-12)
    # The twin, with noise that is one step too small, exceeds rho at whole orders, where the bound is tight.
    assert divergence(2.0, smaller, moved) > 2.0 * rho


@pytest.mark.parametrize(("rho", "delta"), CASES)
@pytest.mark.parametrize("moved", [1, 5])
def test_a_charge_is_its_own_curve_within_rho(rho, delta, moved):
    budget = zcdp_budget(rho, delta)
    for mechanism in (
        GaussianSparseHistogram(budget, Public(moved=moved)),
        NoisyCells(budget, sizes=CellSizes("count-sketch", moved, 1)),
        LevelFloorRelease(budget, Public(height=moved)),
    ):
        charge = mechanism.event().finer
        (curve,) = charge.curves
        assert isinstance(curve, Normal)
        assert Fraction(curve.moved) / (2 * curve.variance) <= Fraction(str(rho))
        assert charge.delta < Fraction(str(delta))
        assert mechanism.event().epsilon >= zcdp_epsilon(rho, delta)


@pytest.mark.parametrize(("rho", "delta"), [(0.5, 1e-3), (0.5, 1e-6), (0.1, 1e-4), (0.02, 1e-5)])
def test_the_whole_release_is_enumerated_at_its_epsilon_and_delta(rho, delta):
    """One count that changes by 1, around the threshold, and one key that only one side has; both ways."""
    budget = zcdp_budget(rho, delta)
    mechanism = GaussianSparseHistogram(budget, Public(moved=1))
    sigma, threshold = float(mechanism.noise.sigma), mechanism.threshold
    reach = math.ceil(30 * sigma) + 30
    weight = {z: math.exp(-z * z / (2 * sigma**2)) for z in range(-reach, reach + 1)}
    total = math.fsum(weight.values())

    def law(count):
        """Published noisy counts, or None below the threshold; no key with a count of 0."""
        if count == 0:
            return {None: 1.0}
        shown = {count + z: w / total for z, w in weight.items() if count + z >= threshold}
        return shown | {None: math.fsum(w for z, w in weight.items() if count + z < threshold) / total}

    largest = 0.0
    for count in range(1, threshold + reach // 3):
        for one, other in ((law(count), law(count - 1)), (law(count - 1), law(count))):
            excess = math.fsum(
                max(one.get(y, 0.0) - math.exp(budget.epsilon) * other.get(y, 0.0), 0.0) for y in one
            )
            largest = max(largest, excess)
    assert largest <= delta
    assert largest > 0.02 * delta  # and not for nothing: the threshold is as low as it can be
    twin = math.fsum(w for z, w in weight.items() if 1 + z >= threshold - math.ceil(sigma)) / total
    assert twin > delta  # lower by one sigma, a key that occurs once is published too often


def test_a_ledger_in_rho_grants_gaussian_releases_up_to_it():
    """Ten releases of a tenth fit, an eleventh does not, and the claim is the (epsilon, delta) beside rho."""
    budget = Filter.zcdp("0.1", "1e-6")
    each = GaussianSparseHistogram(zcdp_budget(0.01, 1e-9), Public(moved=1)).event().finer
    sums = budget.sums(each)
    total = sums
    for _ in range(9):
        total += sums
        assert budget.allows(total)
    assert not budget.allows(total + sums)
    assert budget.rho >= Fraction("0.1")
    assert budget.epsilon >= zcdp_epsilon("0.1", "5e-7")
    assert float(budget.epsilon) <= float(zcdp_epsilon("0.1", "5e-7")) * 1.001


@pytest.mark.parametrize(
    ("rho", "message"),
    [
        (0, "rho must be a finite number above 0, got 0."),
        (math.inf, "rho must be a finite number above 0, got inf."),
        ("0.1", "rho must be a number, got '0.1'."),
        (9.0, "rho = 9 is an epsilon of 30.05 at delta = 1e-06; epsilon above 20 protects nobody."),
    ],
)
def test_other_budgets_are_refused(rho, message):
    with pytest.raises(ParameterError) as refused:
        zcdp_budget(rho, 1e-6)
    assert str(refused.value) == message
