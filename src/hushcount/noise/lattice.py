"""What distributions on the integers share: exact parameters, formulas for one integer or many, quantiles."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Generic, Protocol, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError

Integers = npt.NDArray[np.integer[Any]]
Law = TypeVar("Law")

LEAST_PROBABILITY = 1e-300


class LatticeFunction(Protocol):
    """A real function of an integer, or of an array of integers."""

    @overload
    def __call__(self, argument: int, /) -> float: ...
    @overload
    def __call__(self, argument: Integers, /) -> Floats: ...


class on_lattice(Generic[Law]):  # noqa: N801 (used as a decorator)
    """A method written once for arrays, called with an integer (gives a float) or an integer array."""

    def __init__(self, formula: Callable[[Law, Floats], Floats]) -> None:
        self._formula = formula
        self.__doc__ = formula.__doc__

    @overload
    def __get__(self, law: None, owner: type[Law]) -> Self: ...
    @overload
    def __get__(self, law: Law, owner: type[Law]) -> LatticeFunction: ...
    def __get__(self, law: Law | None, owner: type[Law]) -> Self | LatticeFunction:
        if law is None:
            return self

        @overload
        def evaluate(argument: int, /) -> float: ...
        @overload
        def evaluate(argument: Integers, /) -> Floats: ...
        def evaluate(argument: int | Integers, /) -> float | Floats:
            values = _integers(argument)
            result = self._formula(law, np.atleast_1d(values))
            return result.reshape(values.shape) if isinstance(argument, np.ndarray) else float(result[0])

        return evaluate


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


def both_sides(upper: Callable[[Floats], Floats], m: Floats) -> Floats:
    """Return P[Z >= m] of a symmetric distribution for any m, given `upper`, the same for m >= 1."""
    tail = upper(np.where(m >= 1, m, 1 - m))
    return np.where(m >= 1, tail, 1 - tail)


def log_both_sides(log_upper: Callable[[Floats], Floats], m: Floats) -> Floats:
    """Return log P[Z >= m] of a symmetric distribution for any m, given `log_upper`, the same for m >= 1."""
    tail = log_upper(np.where(m >= 1, m, 1 - m))
    return np.where(m >= 1, tail, np.log1p(-np.exp(tail)))


def least_tail(tail: LatticeFunction, p: float) -> int:
    """Return the smallest integer m with tail(m) <= p."""
    p = _probability(p)
    return _least(lambda m: tail(m) <= p)


def two_sided(tail: LatticeFunction, p: float) -> int:
    """Return the smallest r >= 0 with 2 tail(r + 1) <= p, tail of a symmetric distribution."""
    p = _probability(p)
    return _least(lambda r: r >= 0 and 2 * tail(r + 1) <= p)


def _probability(p: float) -> float:
    """Return a probability that tails can be compared with, or raise."""
    if not LEAST_PROBABILITY <= p < 1:
        raise ParameterError(f"p must lie in [{LEAST_PROBABILITY:g}, 1), got {p}.")
    return float(p)


def _least(holds: Callable[[int], bool]) -> int:
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
