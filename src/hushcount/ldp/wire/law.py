"""The distribution of a response, and the error of the estimates made from responses. Pure Python.

Only the standard deviations of many counts at once need arrays; numpy is loaded when they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.response import ONE

if TYPE_CHECKING:
    from hushcount.ldp.arrays import Floats

Count = TypeVar("Count", float, "Floats")


@dataclass(frozen=True, slots=True)
class ResponseLaw:
    """The distribution of a response: one of q symbols is sent, the true one with probability p.

    >>> law = ResponseLaw(8, 0.5135)
    >>> round(law.absent, 3), round(law.present, 3)
    (0.725, 1.655)
    """

    symbols: int
    truthful: float

    @classmethod
    def of(cls, group: Group) -> ResponseLaw:
        """Return the distribution of a group's responses."""
        return cls(group.symbols, group.probability / ONE)

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

    law: ResponseLaw
    users: int
    asked: int
    collisions: float = 0.0  # the most variance that other items can add

    def deviation(self, counts: Floats) -> Floats:
        """Return the standard deviation of the estimate of each count."""
        import numpy as np

        inside = np.clip(counts, 0, self.users)
        return np.asarray(np.sqrt(self.law.variance(inside, self.users, self.asked) + self.collisions))

    @property
    def of_absent(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        return float((self.law.variance(0.0, self.users, self.asked) + self.collisions) ** 0.5)

    def sentences(self) -> tuple[str, ...]:
        """Say what the standard deviation is made of."""
        return (
            f"The standard deviation of an estimate is {self.of_absent:.0f} for an item that nobody holds. It"
            " comes from the randomised responses, from sampling, and from other items in the same cells.",
        )


def upper_quantile(chance: float) -> float:
    """Return the z that a standard normal variable exceeds with this probability.

    >>> round(upper_quantile(0.025), 2)
    1.96
    """
    return -NormalDist().inv_cdf(min(max(chance, 1e-300), 1 - 1e-16))


def above(z: float) -> float:
    """Return the probability that a standard normal variable exceeds z.

    >>> round(above(1.96), 4)
    0.025
    """
    return NormalDist().cdf(-z)
