"""The privacy filter: which releases a budget (E, D) allows when each is chosen after earlier ones were seen.

Theorem: releases with honest charges, each granted by `Filter.allows` with the new one included, are together
(E, D)-differentially private, however they were chosen. A charge has a delta and a curve r, where r(a) bounds
the Rényi divergence of order a and r(inf) the privacy loss itself (charges.py). Charges are added in two
ways: as r(inf), which is basic composition, and as r(A) at one order A. The second way pays a part s of D,
the slack, to convert the sum back, and allows sums up to a bound B. A, s and B are fixed from (E, D) alone,
before the first release. Proof: docs/proofs/accounting/filter.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import cache

from hushcount.accounting.charges import Charge
from hushcount.accounting.decimals import (
    EXACT,
    STEP,
    WIDE,
    ZERO,
    Number,
    number,
    rounded_down,
    rounded_up,
    text,
)
from hushcount.errors import ParameterError

LARGEST = 1000  # epsilon; the curves of larger ones exceed the range of the decimal numbers
ORDERS = tuple(Decimal(tenths) / 10 for tenths in range(11, 110)) + tuple(map(Decimal, range(11, 513)))
# What is left is shown to this many digits, rounded down.
SHOWN = Decimal("1e-6")


# Decimals of an epsilon that was typed are at most so many; a rho with fewer than SHORT was typed.
TYPED, SHORT = 16, 8


def _digits(value: Decimal) -> int:
    """Return the number of decimals."""
    return max(-int(value.normalize().as_tuple().exponent), 0)


@dataclass(frozen=True, slots=True)
class Sums:
    """The exact sums of charges: delta, finite r(inf), r(A), and how many charges have no finite r(inf)."""

    delta: Decimal = ZERO
    finite: Decimal = ZERO
    renyi: Decimal = ZERO
    unbounded: int = 0

    @classmethod
    def of(cls, charge: Charge, order: Decimal | None) -> Sums:
        """Return what one charge adds under a filter of this order."""
        basic = charge.basic
        if basic.is_infinite():
            return cls(charge.delta, ZERO, charge.at(order), 1)
        return cls(charge.delta, basic, charge.at(order))

    @property
    def basic(self) -> Decimal:
        """The sum of r(inf)."""
        return Decimal("Infinity") if self.unbounded else self.finite

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            EXACT.add(self.delta, other.delta),
            EXACT.add(self.finite, other.finite),
            EXACT.add(self.renyi, other.renyi),
            self.unbounded + other.unbounded,
        )

    def __neg__(self) -> Sums:
        delta, finite, renyi = (each.copy_negate() for each in (self.delta, self.finite, self.renyi))
        return Sums(delta, finite, renyi, -self.unbounded)

    def __sub__(self, other: Sums) -> Sums:
        return self + -other


@dataclass(frozen=True, slots=True)
class Filter:
    """One budget: grants while sum delta <= D - s and (sum r(inf) <= E or sum r(A) <= B).

    Parameters
    ----------
    epsilon, delta : Decimal
        E and D: what all releases together may spend.
    slack : Decimal
        s, the part of D that pays for composing by the curve; 0 for basic composition only.
    order : Decimal or None
        A, the one order of the curves; None without slack.
    bound : Decimal
        B = E - conversion(A, s), rounded down.
    """

    epsilon: Decimal
    delta: Decimal
    slack: Decimal
    order: Decimal | None
    bound: Decimal

    @classmethod
    def fixed(cls, epsilon: Number, delta: Number, slack: Number | None = None) -> Filter:
        """Return the filter of a budget, or raise.

        >>> fixed = Filter.fixed(1, "1e-6")
        >>> fixed.order, round(fixed.bound, 6)
        (Decimal('23'), Decimal('0.527490'))
        """
        whole, failure = number("epsilon", epsilon), number("delta", delta)
        if not whole > 0:
            raise ParameterError(f"epsilon must be above 0, got {epsilon}.")
        if whole > LARGEST:
            raise ParameterError(f"epsilon must be at most {LARGEST}, got {epsilon}; it protects nobody.")
        if not failure < 1:
            raise ParameterError(f"delta must be below 1, got {delta}.")
        kept = EXACT.divide(failure, Decimal(2)) if slack is None else number("slack", slack)
        if kept > failure:
            raise ParameterError(f"slack must be at most delta = {text(failure)}, got {slack}.")
        if kept == 0:
            return cls(whole, failure, ZERO, None, ZERO)
        return cls(whole, failure, kept, *_best_order(whole, kept))

    @classmethod
    def zcdp(cls, rho: Number, delta: Number, slack: Number | None = None) -> Filter:
        """Return the filter that allows Gaussian releases of this rho (zCDP) in all, or raise.

        Its epsilon is the smallest, over the orders, of a rho + conversion(a, s); then B / A is at least rho.

        >>> fixed = Filter.zcdp("0.1", "1e-6")
        >>> fixed.order, round(fixed.epsilon, 6), fixed.rho
        (Decimal('12'), Decimal('2.206057'), Decimal('0.100000000000000000'))
        """
        whole, failure = number("rho", rho), number("delta", delta)
        if not whole > 0:
            raise ParameterError(f"rho must be above 0, got {rho}.")
        kept = EXACT.divide(failure, Decimal(2)) if slack is None else number("slack", slack)
        if not 0 < kept <= failure:
            raise ParameterError("slack must be above 0 for a budget in rho, and at most delta.")
        least = min(rounded_up(WIDE.add(WIDE.multiply(whole, a), conversion(a, kept))) for a in ORDERS)
        return cls.fixed(max(least, ZERO) + STEP, failure, kept)

    @property
    def rho(self) -> Decimal:
        """The rho (zCDP) that Gaussian releases alone may spend in all, rounded down; 0 without slack."""
        if self.order is None:
            return ZERO
        return max(WIDE.divide(self.bound, self.order).quantize(STEP, ROUND_FLOOR), ZERO)

    @property
    def in_rho(self) -> bool:
        """Whether the budget was stated as rho: its epsilon is the one that follows from rho.

        An epsilon that was typed may by chance be one that follows from some rho, but not of so many digits.
        """
        computed = _digits(self.epsilon) > TYPED or _digits(self.rho) < SHORT
        return self.rho > 0 and computed and self == Filter.zcdp(self.rho, self.delta, self.slack)

    @classmethod
    def from_texts(cls, stored: Sequence[str]) -> Filter:
        """Return the filter that `texts` has written."""
        epsilon, delta, slack, order, bound = stored
        found = None if order == "none" else Decimal(order)
        return cls(Decimal(epsilon), Decimal(delta), Decimal(slack), found, Decimal(bound))

    def texts(self) -> tuple[str, str, str, str, str]:
        """Return epsilon, delta, slack, order ("none" without one) and bound as texts."""
        order = "none" if self.order is None else text(self.order)
        return text(self.epsilon), text(self.delta), text(self.slack), order, text(self.bound)

    @property
    def deltas(self) -> Decimal:
        """D - s: what the deltas of the releases may add up to."""
        return EXACT.subtract(self.delta, self.slack)

    def sums(self, charge: Charge) -> Sums:
        """Return what one charge adds."""
        return Sums.of(charge, self.order)

    def allows(self, sums: Sums) -> bool:
        """Return whether releases with these sums, the newest included, are within the budget."""
        if sums.delta > self.deltas:
            return False
        return sums.basic <= self.epsilon or (self.order is not None and sums.renyi <= self.bound)

    def spent(self, sums: Sums) -> Decimal:
        """Return min(sum r(inf), sum r(A) + conversion), which shows how far a budget has been used."""
        if self.order is None:
            return sums.basic
        return min(sums.basic, rounded_up(sums.renyi + conversion(self.order, self.slack)))

    def left(self, pieces: Iterable[Sums]) -> tuple[Decimal, Decimal]:
        """Return the largest epsilon and delta of one further release that all of these sums allow.

        Where only the curve allows a release, its epsilon is rounded down to 1e-6.
        """
        distinct = set(pieces) or {Sums()}
        delta = min(EXACT.subtract(self.deltas, each.delta) for each in distinct)
        if any(not self.allows(each) for each in distinct):
            return ZERO, max(delta, ZERO)
        basic = min(max(EXACT.subtract(self.epsilon, each.finite), ZERO) for each in distinct)
        low, high = 0, int(self.epsilon / SHOWN) + 1  # allowed, and not allowed, in units of 1e-6
        while high - low > 1:
            middle = (low + high) // 2
            charge = self.sums(Charge.pair(middle * SHOWN, ZERO))
            low, high = (
                (middle, high) if all(self.allows(each + charge) for each in distinct) else (low, middle)
            )
        unbounded = any(each.unbounded for each in distinct)
        return (low * SHOWN if unbounded else max(basic, low * SHOWN)), delta


@cache
def _best_order(epsilon: Decimal, slack: Decimal) -> tuple[Decimal, Decimal]:
    """Return the order A of the largest B / A, and B, rounded down."""
    order = max(ORDERS, key=lambda each: (epsilon - conversion(each, slack)) / each)
    return order, rounded_down(WIDE.subtract(epsilon, conversion(order, slack)))


@cache
def conversion(order: Decimal, slack: Decimal) -> Decimal:
    """Return ln(1 - 1/a) - ln(s a) / (a - 1): what an epsilon at delta s exceeds r(a) by."""
    above = WIDE.subtract(order, Decimal(1))
    share = WIDE.ln(WIDE.divide(above, order))
    return WIDE.subtract(share, WIDE.divide(WIDE.ln(WIDE.multiply(slack, order)), above))
