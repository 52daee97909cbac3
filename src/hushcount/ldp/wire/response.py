"""The randomised response of a client: its probability, rounded towards privacy, its draw and its error.

Pure Python. Only the standard deviations of many counts at once need arrays; numpy is loaded for them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Self, TypeVar

from hushcount.errors import ParameterError
from hushcount.ldp.wire.versions import DRAWN, Wire
from hushcount.privacy import LARGEST_EPSILON, check_count, check_epsilon
from hushcount.secure import ByteSource

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Floats

Count = TypeVar("Count", float, "Floats")

ONE = 1 << 64  # probabilities are integers out of this
_SCALE = 1 << 192
_LAST_PLACE = Decimal("1e-18")
_DECIMAL = re.compile(r"(0|[1-9][0-9]?)(\.[0-9]{0,17}[1-9])?", re.ASCII)


def epsilon_text(epsilon: float | str | Decimal) -> str:
    """Return epsilon as a manifest writes it: no exponent, no needless zeros, at most 18 decimal places.

    >>> epsilon_text(2.0), epsilon_text(0.1), epsilon_text("0.5")
    ('2', '0.1', '0.5')
    """
    if isinstance(epsilon, str):
        text = epsilon
    else:
        check_epsilon(float(epsilon) if isinstance(epsilon, Decimal) else epsilon)
        text = format(epsilon if isinstance(epsilon, Decimal) else Decimal(repr(float(epsilon))), "f")
        text = text.rstrip("0").rstrip(".") if "." in text else text
    if not _DECIMAL.fullmatch(text) or not 0 < Fraction(text) <= Fraction(LARGEST_EPSILON):
        shown = text if text.isprintable() else repr(text)  # it may come from somebody else's manifest
        raise ParameterError(
            f"epsilon must be a plain decimal above 0 and at most {LARGEST_EPSILON:g}"
            f" with at most 18 places, got {shown}."
        )
    return text


def epsilon_part(epsilon: str, parts: int) -> str:
    """Return an equal part of epsilon as a decimal, rounded down to 18 places.

    >>> epsilon_part("2", 2), epsilon_part("0.5", 2), epsilon_part("1", 1)
    ('1', '0.25', '1')
    """
    with localcontext() as context:
        context.prec, context.rounding = 40, ROUND_DOWN
        return epsilon_text((Decimal(epsilon) / parts).quantize(_LAST_PLACE))


def exp_below(exponent: Fraction) -> Fraction:
    """Return a lower bound of exp(exponent), exponent >= 0, within a factor of 1 - 2^-150 up to exponent 20.

    It sums the power series in multiples of 2^-192, every term rounded down, until a term vanishes.
    """
    term = total = _SCALE
    count = 0
    while term:
        count += 1
        term = term * exponent.numerator // (exponent.denominator * count)
        total += term
    return Fraction(total, _SCALE)


def response_probability(epsilon: str, symbol_bits: int) -> int:
    """Return P, out of 2^64: the probability of answering truthfully with one of q = 2^symbol_bits symbols.

    P = floor(2^64 E / (E + q - 1)) with E <= exp(epsilon), so P / ((2^64 - P) / (q - 1)) <= exp(epsilon)
    exactly: the real epsilon is never above the stated one.

    >>> response_probability("2", 3)
    9472756646864840604
    """
    growth = exp_below(Fraction(epsilon))
    symbols = 1 << symbol_bits
    probability = math.floor(ONE * growth / (growth + symbols - 1))
    if probability * symbols <= ONE:
        raise ParameterError(f"epsilon must be large enough for a response to carry anything, got {epsilon}.")
    return probability


def best_symbol_bits(epsilon: float, most: int = DRAWN.most_symbol_bits) -> int:
    """Return the bits of a symbol with the smallest variance: log2(exp(epsilon) + 1), rounded, from 1 to 10.

    >>> [best_symbol_bits(epsilon) for epsilon in (0.5, 1, 2, 3, 4, 6, 20)]
    [1, 2, 3, 4, 6, 9, 10]
    """
    return min(max(round(math.log2(math.exp(epsilon) + 1)), 1), most)


def check_symbol_bits(symbol_bits: int) -> int:
    """Return the bits of a symbol, 1 to 10, or raise."""
    return check_count("symbol_bits", symbol_bits, most=DRAWN.most_symbol_bits)


def respond(
    truth: int | None, symbol_bits: int, probability: int, bits: ByteSource, wire: Wire = DRAWN
) -> int:
    """Return the truth with the given probability, otherwise one of the other symbols, uniformly.

    Without a truth (no item, or one that cannot be encoded) a uniform symbol takes its place, so the answer
    is uniform.

    Theorem: epsilon-DP for any two truths, and for a truth against none (docs/proofs/ldp.md).
    It draws a 64-bit coin (little-endian), one word for a missing truth and seven for the replacement; the
    version of the wire says how long a word is. The first of the seven with nonzero low bits is xored to the
    truth; if there is none, eight more words are drawn.
    Checked by: tests/privacy/test_ldp.py
    """
    draw = bits.bytes(wire.draw_bytes)
    mask = (1 << symbol_bits) - 1
    missing, *words = _words(draw[8:], wire.symbol_bytes, mask)
    if truth is None:
        truth = missing
    if int.from_bytes(draw[:8], "little") < probability:
        return truth
    while True:
        for word in words:
            if word:
                return truth ^ word
        words = _words(bits.bytes(wire.more_bytes), wire.symbol_bytes, mask)


def _words(octets: bytes, size: int, mask: int) -> list[int]:
    """Return the low bits of each word of `size` bytes, little-endian."""
    starts = range(0, len(octets), size)
    return [int.from_bytes(octets[start : start + size], "little") & mask for start in starts]


@dataclass(frozen=True, slots=True)
class ResponseDistribution:
    """The distribution of a response: one of q symbols is sent, the true one with probability p.

    >>> response = ResponseDistribution(8, 0.5135)
    >>> round(response.absent, 3), round(response.present, 3)
    (0.725, 1.655)
    """

    symbols: int
    truthful: float

    @classmethod
    def of(cls, epsilon: str, symbol_bits: int) -> Self:
        """Return the distribution of a response with this epsilon."""
        return cls(1 << symbol_bits, response_probability(epsilon, symbol_bits) / ONE)

    @property
    def gain(self) -> float:
        """q p - 1: what a holder's report adds on average to the matches of its cell."""
        return self.symbols * self.truthful - 1

    @property
    def absent(self) -> float:
        """V0, the variance that a report of another item adds: (1/q)(1 - 1/q) / (p - 1/q)^2."""
        return (self.symbols - 1) / self.gain**2

    @property
    def present(self) -> float:
        """V1, the variance that a report of the item adds: p (1 - p) / (p - 1/q)^2."""
        return self.truthful * (1 - self.truthful) * (self.symbols / self.gain) ** 2

    def variance(self, count: Count, users: float, asked: float) -> Count:
        """Return the variance of the estimate of a count, if `asked` of `users` users were asked.

        (n / n_l) [(n - f) V0 + f V1] + f (n / n_l - 1): noise of the responses, then sampling error.
        """
        inverse = users / asked
        return inverse * ((users - count) * self.absent + count * self.present) + count * (inverse - 1)


@dataclass(frozen=True, slots=True)
class OracleError:
    """The error of an estimate: responses, sampling, other items in its cells (docs/ldp.md, section 3)."""

    response: ResponseDistribution
    users: int
    asked: int
    collisions: float = 0.0  # the most variance that other items can add

    def deviation(self, counts: Floats) -> Floats:
        """Return the standard deviation of the estimate of each count."""
        inside = counts.clip(0, self.users)
        return (self.response.variance(inside, self.users, self.asked) + self.collisions) ** 0.5

    @property
    def of_absent(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        return float((self.response.variance(0.0, self.users, self.asked) + self.collisions) ** 0.5)

    def sentences(self) -> tuple[str, ...]:
        """Say what the standard deviation is made of."""
        return (
            f"The standard deviation of an estimate is {self.of_absent:.0f} for an item that nobody holds. It"
            " comes from the randomised responses, from sampling, and from other items in the same cells.",
        )
