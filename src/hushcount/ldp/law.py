"""The law of a response and what it does to an estimate. Pure Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushcount.ldp.groups import Group
from hushcount.ldp.response import ONE


@dataclass(frozen=True, slots=True)
class ResponseLaw:
    """One of q symbols is sent; the true one with probability p.

    >>> law = ResponseLaw(8, 0.5135)
    >>> round(law.absent, 3), round(law.present, 3)
    (0.725, 1.655)
    """

    symbols: int
    truthful: float

    @classmethod
    def of(cls, group: Group) -> ResponseLaw:
        """The law of a group's responses."""
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

    def variance(self, count: Any, users: float, asked: float) -> Any:
        """The variance of the estimate of a count, or an array, among `users` of whom `asked` were asked.

        (n / n_l) [(n - f) V0 + f V1] + f (n / n_l - 1): noise of the response, then who was asked.
        """
        inverse = users / asked
        return inverse * ((users - count) * self.absent + count * self.present) + count * (inverse - 1)
