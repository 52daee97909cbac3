"""The error of an oracle's estimate as a function of the count, and normal quantiles. Pure but for arrays."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

from hushcount.ldp.law import ResponseLaw

if TYPE_CHECKING:
    from hushcount.ldp.decoding import Floats


@dataclass(frozen=True, slots=True)
class OracleError:
    """Noise of the responses, who was asked, and other items in the same cells (docs/ldp.md, section 3)."""

    law: ResponseLaw
    users: int
    asked: int
    collisions: float = 0.0  # the variance that other items add, at most

    def deviation(self, counts: Floats) -> Floats:
        """The standard deviation of the estimate of each count."""
        import numpy as np

        inside = np.clip(counts, 0, self.users)
        return np.asarray(np.sqrt(self.law.variance(inside, self.users, self.asked) + self.collisions))

    @property
    def of_absent(self) -> float:
        """The standard deviation of the estimate of an item that nobody has."""
        return float((self.law.variance(0.0, self.users, self.asked) + self.collisions) ** 0.5)

    def sentences(self) -> tuple[str, ...]:
        """What the deviation is made of."""
        return (
            f"The standard deviation of an estimate is {self.of_absent:.0f} for an item that nobody has;"
            " it is made of the noise of the responses, of who was asked, and of items in the same cells.",
        )


def upper_quantile(chance: float) -> float:
    """The z that a standard normal exceeds with this chance.

    >>> round(upper_quantile(0.025), 2)
    1.96
    """
    return -NormalDist().inv_cdf(min(max(chance, 1e-300), 1 - 1e-16))


def above(z: float) -> float:
    """The chance that a standard normal exceeds z.

    >>> round(above(1.96), 4)
    0.025
    """
    return NormalDist().cdf(-z)
