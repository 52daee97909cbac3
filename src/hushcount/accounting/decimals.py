"""Exact decimals: epsilon and delta as they were typed, sums without rounding, curves rounded up.

A float is taken by its shortest decimal text, so that 0.1 means one tenth and ten times 0.1 is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction

from hushcount.errors import ParameterError

# Sums are exact: whatever would round is an error. Typed numbers have at most DIGITS digits after the point.
DIGITS = 400
EXACT = Context(prec=3 * DIGITS, traps=[Inexact, InvalidOperation, Overflow])
# Exponentials and logarithms; their errors are far below MARGIN, which is added before rounding up.
WIDE = Context(prec=60, Emin=-999_999, Emax=999_999)
STEP = Decimal("1e-18")
MARGIN = Decimal("1e-40")
ZERO = Decimal(0)
INFINITE = Decimal("Infinity")
Number = str | int | float | Decimal


def number(name: str, value: Number) -> Decimal:
    """Return a number as it was typed, or raise; a float stands for its shortest text.

    >>> number("epsilon", 0.1), number("delta", "1e-8")
    (Decimal('0.1'), Decimal('1E-8'))
    """
    try:
        if isinstance(value, bool):
            raise InvalidOperation
        found = Decimal(repr(value) if isinstance(value, float) else value)
    except (InvalidOperation, TypeError, ValueError):
        raise ParameterError(f"{name} must be a number, got {value!r}.") from None
    if not found.is_finite() or found < 0:
        raise ParameterError(f"{name} must be a finite number and not below 0, got {value}.")
    if len(found.as_tuple().digits) > DIGITS or not -DIGITS <= found.adjusted() <= DIGITS:
        raise ParameterError(f"{name} must have at most {DIGITS} digits.")
    return found


def total(values: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of numbers, infinite if one of them is.

    >>> total([Decimal("0.1")] * 10)
    Decimal('1.0')
    """
    found = ZERO
    for value in values:
        found = EXACT.add(found, value)
    return found


def rounded_up(value: Decimal) -> Decimal:
    """Return the next multiple of 1e-18 that is surely not below a number computed with 60 digits."""
    return WIDE.add(value, MARGIN).quantize(STEP, ROUND_CEILING, WIDE)


def rounded_down(value: Decimal) -> Decimal:
    """Return the next multiple of 1e-18 that is surely not above a number computed with 60 digits."""
    return WIDE.subtract(value, MARGIN).quantize(STEP, ROUND_FLOOR, WIDE)


def wide(value: Fraction) -> Decimal:
    """Return a fraction with 60 digits."""
    return WIDE.divide(Decimal(value.numerator), Decimal(value.denominator))


def exact_or_up(value: Fraction) -> Decimal:
    """Return a fraction as a decimal, rounded up to 1e-18 if it has no short decimal text.

    >>> exact_or_up(Fraction(1, 8)), exact_or_up(Fraction(1, 3))
    (Decimal('0.125'), Decimal('0.333333333333333334'))
    """
    found = wide(value)
    return found if Fraction(found) == value else rounded_up(found)


def fitting(value: Decimal) -> str:
    """Return a number in few digits for a sentence about what would fit, rounded down.

    >>> fitting(Decimal("4.98343185484258071e-7")), fitting(Decimal("0.3"))
    ('4.98343185e-7', '0.3')
    """
    return text(Context(9, ROUND_FLOOR).create_decimal(value))


def text(value: Decimal) -> str:
    """Return a number in the one way it is stored and shown.

    >>> text(Decimal("1.50")), text(Decimal("0.0000001")), text(Decimal("Infinity"))
    ('1.5', '1e-7', 'inf')
    """
    if value.is_infinite():
        return "inf"
    if value == 0:
        return "0"
    short = EXACT.divide(value, Decimal(1)).normalize(EXACT)
    return f"{short:f}" if -4 <= short.adjusted() < 20 else f"{short:e}"
