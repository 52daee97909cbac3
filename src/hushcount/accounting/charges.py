"""What one release charges: a public delta and a curve of Rényi divergences, or a pair (epsilon, delta).

A charge is honest if, for all neighbouring data and in both directions, one pair of sub-measures p <= P and
q <= Q of the two output distributions has 1 - |p| <= delta, sum p^a q^(1-a) <= exp((a-1) r(a)) for every
order a > 1, and p <= exp(r(inf)) q. The theorem is in docs/proofs/accounting/filter.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from hushcount.accounting.decimals import (
    INFINITE,
    WIDE,
    ZERO,
    Number,
    exact_or_up,
    number,
    rounded_up,
    text,
    total,
    wide,
)
from hushcount.errors import ParameterError

# Relative error that tails computed with floats stay below.
SAFETY = 1e-8


class Curve(Protocol):
    """Rényi divergences of one family by their order, in both directions."""

    def at(self, order: Decimal) -> Decimal:
        """Return the divergence of a finite order above 1, computed with 60 digits."""
        ...

    def limit(self) -> Decimal:
        """Return the divergence of infinite order, which may be infinite."""
        ...

    def to_dict(self) -> dict[str, str]:
        """Return the curve as texts."""
        ...


@dataclass(frozen=True, slots=True)
class Response:
    """`times` independent randomised responses of `epsilon` each: no (epsilon, 0) mechanism has more.

    Parameters
    ----------
    epsilon : Fraction
        The privacy loss of one response.
    times : int
        How many of them one unit of privacy changes.

    Examples
    --------
    >>> Response(Fraction(1, 5), 5).limit()
    Decimal('1')
    """

    epsilon: Fraction
    times: int = 1

    def at(self, order: Decimal) -> Decimal:
        """Return times ln((exp(a e) + exp((1-a) e)) / (1 + exp(e))) / (a - 1)."""  # Kairouz et al. 2015
        epsilon, above = wide(self.epsilon), WIDE.subtract(order, Decimal(1))
        up = WIDE.exp(WIDE.multiply(order, epsilon))
        down = WIDE.exp(WIDE.minus(WIDE.multiply(above, epsilon)))
        odds = WIDE.divide(WIDE.add(up, down), WIDE.add(Decimal(1), WIDE.exp(epsilon)))
        return WIDE.multiply(Decimal(self.times), WIDE.divide(WIDE.ln(odds), above))

    def limit(self) -> Decimal:
        """Return times epsilon."""
        return exact_or_up(self.times * self.epsilon)

    def to_dict(self) -> dict[str, str]:
        """Return the curve as texts."""
        return {"response": str(self.epsilon), "times": str(self.times)}


@dataclass(frozen=True, slots=True)
class Normal:
    """Gaussian noise, on the integers or not, of a variance on each of `moved` counts that change by 1.

    Parameters
    ----------
    variance : Fraction
        The square of sigma.
    moved : int
        How many counts one unit of privacy changes.
    """

    variance: Fraction
    moved: int = 1

    def at(self, order: Decimal) -> Decimal:
        """Return a moved / (2 variance)."""  # Canonne et al. 2020, Proposition 5
        return WIDE.multiply(order, wide(self.moved / (2 * self.variance)))

    def limit(self) -> Decimal:
        """Return infinity."""
        return INFINITE

    def to_dict(self) -> dict[str, str]:
        """Return the curve as texts."""
        return {"variance": str(self.variance), "moved": str(self.moved)}


@dataclass(frozen=True, slots=True)
class Charge:
    """A public delta and curves that add up.

    Parameters
    ----------
    delta : Decimal
        The probability that p leaves out, exact.
    curves : tuple of Response or Normal
        Their sum is the curve of the release.
    """

    delta: Decimal
    curves: tuple[Curve, ...]

    @classmethod
    def pair(cls, epsilon: Decimal, delta: Decimal) -> Charge:
        """Return the charge of any (epsilon, delta)-private release (Kairouz et al. 2015).

        >>> Charge.pair(Decimal("0.1"), Decimal("1e-8")).basic
        Decimal('0.1')
        """
        return cls(delta, (Response(Fraction(epsilon)),))

    @property
    def basic(self) -> Decimal:
        """r(inf), the epsilon of basic composition."""
        return total(curve.limit() for curve in self.curves)

    def at(self, order: Decimal | None) -> Decimal:
        """Return r(order) rounded up to 1e-18; 0 without an order, where only basic composition counts."""
        if order is None:
            return ZERO
        return total(rounded_up(curve.at(order)) for curve in self.curves)

    def to_dict(self) -> dict[str, object]:
        """Return the charge as texts, from which it can be computed again."""
        return {"delta": text(self.delta), "curves": [curve.to_dict() for curve in self.curves]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> Charge:
        """Return the charge that `to_dict` has written."""
        delta, curves = stored["delta"], stored["curves"]
        if not isinstance(delta, str) or not isinstance(curves, list):
            raise TypeError
        return cls(Decimal(delta), tuple(_curve(each) for each in curves))


def probability_above(computed: float) -> Decimal:
    """Return a decimal that is surely not below a probability computed with floats.

    >>> probability_above(0.5)
    Decimal('0.500000005')
    """
    return number("delta", min(computed * (1 + SAFETY), 1.0))


def _curve(stored: Mapping[str, str]) -> Curve:
    """Return the curve of stored texts."""
    if "response" in stored:
        return Response(Fraction(stored["response"]), int(stored["times"]))
    return Normal(Fraction(stored["variance"]), int(stored["moved"]))


@dataclass(frozen=True, slots=True)
class Event:
    """What a release costs: the pair that it claims and, if there is a better one, a charge by curves.

    Parameters
    ----------
    epsilon, delta : Decimal
        The pair of the release, as the caller typed it.
    finer : Charge, optional
        A charge by a curve and a delta of its own, which is tried before the pair.

    Examples
    --------
    >>> Event.of(0.5, 1e-8).charges()[0].basic
    Decimal('0.5')
    """

    epsilon: Decimal
    delta: Decimal
    finer: Charge | None = None

    @classmethod
    def of(cls, epsilon: Number, delta: Number, finer: Charge | None = None) -> Event:
        """Return the event of a release with this pair, or raise."""
        pair = number("epsilon", epsilon), number("delta", delta)
        if not pair[0] > 0 or not pair[1] < 1:
            raise ParameterError("epsilon must be above 0 and delta below 1.")
        return cls(*pair, finer)

    def charges(self) -> tuple[Charge, ...]:
        """Return the charges to try, in this order: each of them is honest."""
        pair = Charge.pair(self.epsilon, self.delta)
        return (pair,) if self.finer is None else (self.finer, pair)
