"""With what probability a key of a given count is sampled: ppswor, Poisson PPS, or any table.

A scheme is public. Probabilities do not decrease with the count; count 0 is never sampled.
Integer probabilities are monotone by construction: docs/proofs/sampling/sample.md, section 4.
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.privacy import check_count, check_number

LARGEST_POWER = 2.0
LARGEST_COUNT = 2**63 - 1
LARGEST_LOGARITHM = 1000  # of a power of max_events, so that a rate is a float above 0
SAFE = 1 - 2.0**-30  # outweighs the rounding of a limit
RELATIVE_ERROR = 2.0**-44  # of `probability`, which is a few roundings of 2^-53 from the real number


class Scheme(ABC):
    """A probability for every count that does not decrease with it."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the scheme with its public numbers."""

    @abstractmethod
    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probabilities as floats."""

    @abstractmethod
    def integer_probability(self, count: int, width: int) -> int:
        """Return the probability times 2^width as an integer that never decreases with the count."""

    @abstractmethod
    def certain_from(self, width: int) -> int | None:
        """Return a count from which the integer probability is 2^width; None where there is none."""

    @abstractmethod
    def gentle(self, growth: float) -> tuple[int, int]:
        """Return the first and last count of a stretch in which q varies slowly, (1, 0) if none is known.

        In it q(w) / q(w-1), the ratio of a step of q to the step before and (1 - q(w-1)) / (1 - q(w)) are all
        at most `growth`.
        """

    @abstractmethod
    def fields(self) -> dict[str, object]:
        """Return the scheme for the header of a file: its name in SCHEMES, and what it is made of."""


@dataclass(frozen=True, slots=True)
class PowerScheme(Scheme):
    """A function of rate * count^power.

    Parameters
    ----------
    rate : float
        The sampling rate, above 0: the tau of threshold sampling.
    power : float
        The power of the count, 0 to 2.
    """

    rate: float
    power: float = 1.0

    words: ClassVar[str]
    kind: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _rate(self.rate))
        object.__setattr__(self, "power", check_power(self.power))

    @property
    def name(self) -> str:
        """The name of the scheme with its public numbers."""
        return f"{self.words} (rate {self.rate:g}, power {self.power:g})"

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probabilities as floats.

        Parameters
        ----------
        counts : array of int
            The counts; those below 1 have probability 0.
        """
        sizes = np.maximum(np.asarray(counts, dtype=np.float64), 0.0)
        return np.where(sizes >= 1, self._of_sizes(self.rate * sizes**self.power), 0.0)

    def integer_probability(self, count: int, width: int) -> int:
        """Return the probability times 2^width as an integer that never decreases with the count."""
        if count < 1:
            return 0
        context = _context(width)
        size = context.multiply(Decimal(self.rate), _power(count, self.power, context))
        return _scaled(self._exactly(size, context), width, context)

    def fields(self) -> dict[str, object]:
        """Return the scheme for the header of a file."""
        return {"name": self.kind, "rate": self.rate, "power": self.power}

    @abstractmethod
    def _of_sizes(self, sizes: Floats) -> Floats:
        """Return the probabilities at values of rate * count^power."""

    @abstractmethod
    def _exactly(self, size: Decimal, context: decimal.Context) -> Decimal:
        """Return the probability at one value, up to 1, in monotone decimal operations."""


class Ppswor(PowerScheme):
    """Sampled when an exponential variable is below rate * count^power (without replacement, by size).

    Examples
    --------
    >>> Ppswor(0.01).probability([1, 100, 1000]).round(4).tolist()
    [0.01, 0.6321, 1.0]
    """

    words = kind = "ppswor"

    def certain_from(self, width: int) -> int | None:
        """Return the count from which exp(-rate * count^power) is rounded away."""
        return _reaches((_digits(width) + 2) * math.log(10) / self.rate, self.power)

    def gentle(self, growth: float) -> tuple[int, int]:
        """Steps of rate * count^power are at most rate * power * (count - 1 or count)^(power - 1)."""
        first, last, power = _slow_from(self.power, growth), LARGEST_COUNT, self.power
        if self.power == 0:
            return first, last
        steep = self.rate * power / (math.log(growth) * SAFE)
        if power == 1:
            return (first, last) if steep <= 1 else (1, 0)
        limit = math.log2(steep) / (1 - power)  # the count at which both sides are equal
        if power > 1:
            return first, math.floor(2.0**limit) if limit < 62 else last
        return (max(first, math.ceil(2.0**limit) + 2), last) if limit < 62 else (1, 0)

    def _of_sizes(self, sizes: Floats) -> Floats:
        """Return 1 - exp(-size)."""
        return -np.expm1(-sizes)

    def _exactly(self, size: Decimal, context: decimal.Context) -> Decimal:
        """Return 1 - exp(-size)."""
        return context.subtract(Decimal(1), context.exp(-size))


class Pps(PowerScheme):
    """Sampled when a uniform variable is below rate * count^power (Poisson PPS, priority sampling).

    Examples
    --------
    >>> Pps(0.01).probability([1, 20, 1000]).tolist()
    [0.01, 0.2, 1.0]
    """

    words, kind = "Poisson PPS", "pps"

    def certain_from(self, width: int) -> int | None:  # the same at any width
        """Return the count from which rate * count^power is at least 1."""
        return _reaches(1 / self.rate, self.power)

    def gentle(self, growth: float) -> tuple[int, int]:
        """Where power q / ((count - 1) (1 - q)) is at most growth - 1, which holds between two counts."""
        if self.power == 0:
            return 2, LARGEST_COUNT
        certain = self.certain_from(0) or LARGEST_COUNT
        first, slope = _slow_from(self.power, growth), (growth - 1) / self.power * SAFE
        while first < certain and not self._slow_at(first, slope):
            first *= 2
        if first >= certain:
            return 1, 0
        beyond = bisect_left(range(first, certain), True, key=lambda count: not self._slow_at(count, slope))
        return first, first + beyond - 1

    def _slow_at(self, count: int, slope: float) -> bool:
        """Return whether the probability of being left out falls slowly at a count."""
        odds: float = self.rate * float(count) ** self.power / SAFE
        return odds < 1 and odds / (1 - odds) <= slope * (count - 1)

    def _of_sizes(self, sizes: Floats) -> Floats:
        """Return the sizes, at most 1."""
        return np.minimum(1.0, sizes)

    def _exactly(self, size: Decimal, context: decimal.Context) -> Decimal:
        """Return the size itself; whatever is above 1 is scaled as 1."""
        return size


def rate_for_size(size: int, power: float, max_events: int) -> float:
    """Return a rate whose expected sample is at most `size` keys, by a public bound on the number of events.

    The sum of count^power over all keys is at most max_events^max(1, power).

    >>> rate_for_size(1000, 1.0, 1_000_000)
    0.001
    """
    wanted = check_count("size", size)
    bound = check_count("max_events", max_events)
    exponent = max(1.0, check_power(power))
    if math.log2(bound) * exponent > LARGEST_LOGARITHM:
        raise ParameterError(
            f"max_events must be below 2^{LARGEST_LOGARITHM / exponent:g}, got a larger one."
        )
    rate: float = wanted / float(bound) ** exponent
    return min(1.0, rate)


def check_power(power: float) -> float:
    """Return the power of the count in [0, 2], or raise."""
    number = check_number("power", power)
    if not 0 <= number <= LARGEST_POWER:
        raise ParameterError(f"power must lie between 0 and 2, got {power}.")
    return number


def _rate(rate: float) -> float:
    """Return a finite rate above 0, or raise."""
    number = check_number("rate", rate)
    if not 0 < number < math.inf:
        raise ParameterError(f"rate must be a finite number above 0, got {rate}.")
    return number


def _reaches(size: float, power: float) -> int | None:
    """Return a count whose power is certainly at least `size`, or None where no count's is."""
    if size <= 1:
        return 1
    if power == 0 or math.log2(size) / power > 62:
        return None
    least: float = size ** (1 / power)
    return math.ceil(least * (1 + 2.0**-40)) + 1


def _slow_from(power: float, growth: float) -> int:
    """Return the count from which exp(power / (count - 1)) is at most `growth`."""
    return math.ceil(power / (math.log(growth) * SAFE)) + 2


def _digits(width: int) -> int:
    """Return decimal digits that hold 2^-width with 20 to spare."""
    return math.ceil(width * math.log10(2)) + 20


@lru_cache(maxsize=16)
def _context(width: int) -> decimal.Context:
    """Return the decimal arithmetic that is precise enough for probabilities of this width."""
    return decimal.Context(prec=_digits(width), rounding=decimal.ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)


def _power(count: int, power: float, context: decimal.Context) -> Decimal:
    """Return count^power, a composition of monotone operations (libmpdec rounds exp and ln correctly)."""
    if power == int(power):
        return context.create_decimal(count ** int(power))
    return context.exp(context.multiply(Decimal(power), context.ln(Decimal(count))))


def _scaled(probability: Decimal, width: int, context: decimal.Context) -> int:
    """Return a probability times 2^width as an integer."""
    if probability >= 1:
        return 1 << width
    return int(context.multiply(probability, Decimal(1 << width)))


EVERY_KEY = Pps(1.0, 0.0)
"""No sampling: every key with probability 1."""
