"""A table of keys together with the noisy number of all that was counted.

Proof: docs/proofs/histograms/total.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Calibrated, Claim, Mechanism, check_calibrated
from hushcount.mechanisms.forecast import KeyForecast, noise_words
from hushcount.noise.laplace import LEAST_EPSILON, DiscreteLaplace
from hushcount.noise.lattice import typed
from hushcount.privacy import Budget, Guarantee, PrivacyUnit, unwarned
from hushcount.releases.other import NoisyTotal
from hushcount.releases.release import Release
from hushcount.shapes import NOTHING_PUBLIC, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

SHARE = 0.05  # of epsilon, unless another share is asked for
PROOF = "docs/proofs/histograms/total.md"


@dataclass(frozen=True, slots=True)
class WithTotal:
    """A summary, and the number of all that was counted: one unit changes it by at most its rows."""

    summary: Shape
    total: int
    words: ClassVar[str] = "a summary with its total"

    @property
    def unit(self) -> PrivacyUnit:
        """What is protected."""
        return self.public().unit

    def public(self) -> Public:
        """Return the public numbers of the summary; the total is raw data."""
        return self.summary.public()


class TotalRelease(Mechanism[WithTotal, Release]):
    """A table of keys, and a noisy total from which follows how much the table does not show.

    Theorem: (epsilon, delta)-DP.
    Neighbours: those of the table; one unit has at most m rows.
    Assumes: one unit changes the total by at most m; what the table assumes.
    Parameters: discrete Laplace noise of scale m / (share epsilon) on the total; the table at
        (1 - share) epsilon and all of delta.
    Proof: docs/proofs/histograms/total.md. Checked by: tests/privacy/test_total.py
    """

    name = "total"
    accepts = (WithTotal,)
    sketch = "space-saving"
    way_out = "ask for the total with hc.top(other=True)"
    gaussian = True  # so that a budget in rho is refused here, with a reason
    claim = Claim(
        "a table with a noisy total",
        "The total of all that is counted is released at a share of epsilon, with discrete Laplace noise,"
        " and the table with the rest: (epsilon, delta)-DP by basic composition.",
        PROOF,
        ("one unit changes the total by at most its rows",),
    )

    def __init__(
        self,
        budget: Budget,
        public: Public = NOTHING_PUBLIC,
        mechanism: str | None = None,
        share: float = SHARE,
    ) -> None:
        self.mechanism, self.share = mechanism, share
        super().__init__(budget, public)

    def calibrate(self) -> None:
        """Set the noise of the total, and calibrate the mechanism of the table."""
        from hushcount.mechanisms.registry import prepare

        self.noise = total_noise(self.budget, self.share, self.public.unit.rows)
        rest = rest_of(self.budget, self.share)
        self.table: Calibrated = prepare(self.mechanism, rest, self.public)

    def check_sizes(self, shape: WithTotal) -> None:
        """Raise unless one unit has as many rows as was calibrated for."""
        super().check_sizes(shape)
        check_calibrated("rows of one unit", shape.unit.rows, self.public.unit.rows)

    def foretold(self, unit: PrivacyUnit) -> Guarantee:
        """Return what the table promises, and what table and total promise together."""
        return self._together(self.table.foretold(unit))

    def forecast(self) -> KeyForecast:
        """Return what the table will publish."""
        return self.table.forecast()

    def draw(self, shape: WithTotal, bits: Bits) -> Release:
        """Publish the table, and the total with its noise."""
        whole = self.table.release(shape.summary, bits)
        noisy = NoisyTotal(shape.total + int(self.noise.sample(1, bits)[0]), self.noise)
        return replace(whole, guarantee=self._together(whole.guarantee), total=noisy)

    def _together(self, own: Guarantee) -> Guarantee:
        """Return the guarantee of the table as one of table and total."""
        stated: dict[str, int | float | str] = {
            "table_epsilon": self.table.budget.epsilon,
            "total_epsilon": float(_part(self.budget, self.share)),
            "total_noise": noise_words(self.noise),
        }
        return replace(
            own,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            mechanism=f"{own.mechanism}, with a noisy total",
            theorem=f"{own.theorem} {self.claim.theorem}",
            proof=f"{own.proof}, {PROOF}",
            parameters={**own.parameters, **stated},
            assumptions=(*own.assumptions, *self.claim.assumptions),
        )


def _part(budget: Budget, share: float) -> Fraction:
    """Return what the total spends of epsilon, exactly."""
    return typed(budget.epsilon) * typed(share)


def rest_of(budget: Budget, share: float) -> Budget:
    """Return what is left for the table, rounded down."""
    _refuse_rho(budget)
    rest = typed(budget.epsilon) - _part(budget, share)
    return unwarned(float(rest) * (1 - 2.0**-52), budget.delta)


def _refuse_rho(budget: Budget) -> None:
    """Raise for a budget in rho, which cannot be divided as an epsilon can."""
    if budget.rho is not None:
        raise ParameterError(
            "other cannot be combined with rho: the noise of its total is not Gaussian; give epsilon and"
            " delta."
        )


def total_noise(
    budget: Budget, share: float, rows: int, asked: tuple[str, str] = ("other", "other_share")
) -> DiscreteLaplace:
    """Return the noise of a total that one unit changes by at most `rows`, or raise.

    `asked` has the options that ask for the total and for its share.
    """
    _refuse_rho(budget)
    each = _part(budget, share) / rows
    if each < Fraction(LEAST_EPSILON):
        least = rows * Fraction(LEAST_EPSILON)
        if share < SHARE and least < typed(budget.epsilon) * typed(SHARE):
            smallest = float(least / typed(budget.epsilon))
            raise ParameterError(f"{asked[1]} must be at least {smallest:.3g} here, got {share:g}.")
        needed = float(least / typed(max(share, SHARE)))
        raise ParameterError(f"{asked[0]} needs an epsilon of at least {needed:g}, got {budget.epsilon:g}.")
    return DiscreteLaplace(each)
