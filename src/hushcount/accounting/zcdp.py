"""Budgets in zero-concentrated differential privacy, zCDP: rho, and the (epsilon, delta) beside it.

A release is of rho if its Rényi divergences of every order a > 1 are at most a rho, in both directions.
Gaussian noise of variance v on l counts that change by 1 has rho = l / (2 v). Theorem and proof:
docs/proofs/accounting/zcdp.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import TypeVar

from hushcount.accounting.decimals import MARGIN, WIDE, Number, number
from hushcount.accounting.filter import conversion
from hushcount.errors import ParameterError
from hushcount.privacy import LARGEST_EPSILON, Budget, check_delta, check_number

# Epsilons that follow from a rho are multiples of this.
STEP = Decimal("1e-9")
GRAIN = 1024  # sigma is a multiple of 1 / GRAIN
# A sigma for which bounds on the integers say too little is raised by these factors, one after the other.
RAISED = (1.0, 1.0005, 1.001, 1.002, 1.004, 1.008, 1.016, 1.032, 1.064, 1.25, 1.5, 2.0)

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class ZcdpBudget(Budget):
    """What a release with Gaussian noise may spend, as rho; epsilon is what that is at its delta."""

    zcdp: float = 0.0

    @property
    def rho(self) -> float:
        """The limit on all Rényi divergences, divided by their order."""
        return self.zcdp


def zcdp_budget(rho: float, delta: float) -> ZcdpBudget:
    """Return the budget of a rho and a delta, without a warning, or raise.

    >>> budget = zcdp_budget(0.5, 1e-6)
    >>> budget.rho, budget.epsilon
    (0.5, 5.221534445)
    """
    strength, failure = check_number("rho", rho), check_delta(delta)
    if not strength > 0 or math.isinf(strength):
        raise ParameterError(f"rho must be a finite number above 0, got {rho}.")
    epsilon = float(zcdp_epsilon(strength, failure))
    if epsilon > LARGEST_EPSILON:
        raise ParameterError(
            f"rho = {rho:g} is an epsilon of {epsilon:.4g} at delta = {delta:g}; epsilon above"
            f" {LARGEST_EPSILON:g} protects nobody."
        )
    budget = object.__new__(ZcdpBudget)
    for name, value in (("epsilon", epsilon), ("delta", failure), ("zcdp", strength)):
        object.__setattr__(budget, name, value)
    return budget


def zcdp_epsilon(rho: Number, delta: Number) -> Decimal:
    """Return an epsilon at which every release of this rho is (epsilon, delta)-private.

    It is a rho + conversion(a, delta) at the best order a > 1, rounded up to a multiple of 1e-9. The order is
    searched with floats: any order gives a valid epsilon, which is then computed with 60 digits.

    >>> zcdp_epsilon("0.5", "1e-6")
    Decimal('5.221534445')
    """
    loss, failure = number("rho", rho), number("delta", delta)
    strength, log_failure = float(loss), float(WIDE.ln(failure))

    def at(log_above: float) -> float:
        """Return the epsilon at order 1 + exp(log_above)."""
        above = math.exp(log_above)
        return strength * (1 + above) - math.log1p(1 / above) - (log_failure + math.log1p(above)) / above

    low, high = -20.0, 40.0
    while high - low > 1e-8:
        third = (high - low) / 3
        low, high = (low, high - third) if at(low + third) < at(high - third) else (low + third, high)
    order = Decimal(1 + math.exp((low + high) / 2))
    found = WIDE.add(WIDE.multiply(loss, order), conversion(order, failure))
    return max(WIDE.add(found, MARGIN), STEP).quantize(STEP, ROUND_CEILING, WIDE)


def zcdp_sigma(rho: float, moved: int | Fraction) -> float:
    """Return the smallest sigma, a multiple of 1/1024, with which `moved` counts that change by 1 have rho.

    In place of `moved` counts, values may change by a vector of which the squares add up to `moved`.

    >>> zcdp_sigma(0.5, 1), zcdp_sigma(0.1, 3)
    (1.0, 3.873046875)
    """
    square = Fraction(GRAIN**2 * moved) / (2 * Fraction(number("rho", rho)))  # of sigma in units of 1/1024
    root = math.isqrt(math.ceil(square))
    return (root if root * root >= square else root + 1) / GRAIN


def first_raised(budget: Budget, least: float, calibrated: Callable[[float], Found | None]) -> Found:
    """Return what is calibrated by the smallest sigma, or by the first that is raised enough, or raise.

    Noise of more than the smallest sigma keeps rho.
    """
    found = next((one for raised in RAISED if (one := calibrated(least * raised)) is not None), None)
    if found is None:
        raise ParameterError(f"delta is too large for rho = {budget.rho:g}; give a smaller one.")
    return found
