"""What distributions on the integers share: exact parameters, formulas for one integer or many, quantiles."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Generic, Protocol, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError

Integers = npt.NDArray[np.integer]
Owner = TypeVar("Owner")

LEAST_PROBABILITY = 1e-300


class LatticeFunction(Protocol):
    """A real function of an integer, or of an array of integers."""

    @overload
    def __call__(self, argument: int, /) -> float: ...
    @overload
    def __call__(self, argument: Integers, /) -> Floats: ...


class on_lattice(Generic[Owner]):  # noqa: N801 (used as a decorator)
    """A method written once for arrays, called with an integer (gives a float) or an integer array."""

    def __init__(self, formula: Callable[[Owner, Floats], Floats]) -> None:
        self._formula = formula
        self.__doc__ = formula.__doc__

    def __get__(self, instance: Owner, owner: type[Owner]) -> LatticeFunction:
        def evaluate(argument: int | Integers, /) -> float | Floats:
            values = _integers(argument)
            result = self._formula(instance, np.atleast_1d(values))
            return result.reshape(values.shape) if isinstance(argument, np.ndarray) else float(result[0])

        return cast(LatticeFunction, evaluate)


def _integers(argument: int | Integers) -> Floats:
    """Return one integer or an array of integers as floats, or raise."""
    if not isinstance(argument, np.ndarray):
        return np.asarray(operator.index(argument), dtype=np.float64)
    if argument.dtype.kind not in "iu":
        raise TypeError(f"a distribution on the integers takes integers, got dtype {argument.dtype}.")
    return argument.astype(np.float64)


def exact(name: str, value: float | Fraction, least: float, largest: float) -> Fraction:
    """Return the rational a parameter stands for (a float is a rational), or raise."""
    try:
        if isinstance(value, bool | str):
            raise TypeError
        ratio = value if isinstance(value, Fraction | float) else operator.index(value)
        number = Fraction(*ratio.as_integer_ratio())
    except TypeError:
        raise ParameterError(f"{name} must be a rational number, got {value!r}.") from None
    except (ValueError, OverflowError):
        number = Fraction(0)
    if not Fraction(least) <= number <= Fraction(largest):
        shown = f"{float(value):g}" if isinstance(value, Fraction) else value
        raise ParameterError(f"{name} must lie between {least:g} and {largest:g}, got {shown}.")
    return number


def typed(value: float | Fraction) -> Fraction:
    """Return a number as it was typed, and never more than the float that holds it: 0.1 is one tenth.

    A rate that is drawn at this number costs no more than a ledger charges for it.

    >>> typed(0.1)
    Fraction(1, 10)
    """
    exactly = Fraction(value)
    return min(exactly, Fraction(repr(value))) if isinstance(value, float) else exactly


def both_sides(upper: Callable[[Floats], Floats], m: Floats) -> Floats:
    """Return P[Z >= m] of a symmetric distribution for any m, given `upper`, the same for m >= 1."""
    tail = upper(np.where(m >= 1, m, 1 - m))
    return np.where(m >= 1, tail, 1 - tail)


def log_both_sides(log_upper: Callable[[Floats], Floats], m: Floats) -> Floats:
    """Return log P[Z >= m] of a symmetric distribution for any m, given `log_upper`, the same for m >= 1."""
    tail = log_upper(np.where(m >= 1, m, 1 - m))
    return np.where(m >= 1, tail, np.log1p(-np.exp(tail)))


class Symmetric(ABC):
    """A symmetric distribution on the integers: quantiles from its tail."""

    @property
    @abstractmethod
    def tail(self) -> LatticeFunction:
        """P[Z >= m]."""

    def least_tail(self, p: float) -> int:
        """Return the smallest integer m with P[Z >= m] <= p."""
        bound = _probability(p)
        return smallest_integer(lambda m: self.tail(m) <= bound)

    def two_sided(self, p: float) -> int:
        """Return the smallest r >= 0 with P[|Z| > r] <= p."""
        bound = _probability(p)
        return smallest_integer(lambda r: r >= 0 and 2 * self.tail(r + 1) <= bound)


def _probability(p: float) -> float:
    """Return a probability that tails can be compared with, or raise."""
    if not LEAST_PROBABILITY <= p < 1:
        raise ParameterError(f"p must lie in [{LEAST_PROBABILITY:g}, 1), got {p}.")
    return float(p)


def smallest_integer(holds: Callable[[int], bool]) -> int:
    """Return the smallest integer where `holds`, which is false below some integer and true from there on."""
    fails, works = -1, 1
    while holds(fails):
        fails, works = 2 * fails, fails
    while not holds(works):
        fails, works = works, 2 * works
    while works - fails > 1:
        middle = (fails + works) // 2
        fails, works = (fails, middle) if holds(middle) else (middle, works)
    return works
