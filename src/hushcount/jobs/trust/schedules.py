"""The cost of equal releases whose number is fixed beforehand, by the exact composition of their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from hushcount.accounting.charges import Curve, Event, Normal, Response
from hushcount.accounting.decimals import Number, exact_or_up, number, text, total
from hushcount.accounting.runs import Preview
from hushcount.accounting.schedule import Schedule, composed_epsilon
from hushcount.accounting.zcdp import zcdp_budget
from hushcount.errors import ParameterError
from hushcount.jobs.settings import ONE_BUDGET
from hushcount.jobs.trust.spending import Spending
from hushcount.keys.row_hash import COUNT_SKETCH
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.histograms.gaussian import SAFETY, GaussianSparseHistogram, log_hockey_stick
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.privacy import Budget, check_count, check_epsilon, unwarned
from hushcount.shapes import Public

LARGEST = 1e6  # an epsilon beyond which nothing is looked for
CLOSE = 1e-7  # relative width to which an epsilon is found, rounded up


@dataclass(frozen=True, slots=True)
class Releases:
    """A number of releases as it is asked for: numbers are taken as they are typed.

    Parameters
    ----------
    releases : int
        How many there are at most.
    delta, epsilon, rho : str, int, float or Decimal
        What each of them may spend: epsilon, or rho for Gaussian noise, and delta.
    total_delta : str, int, float or Decimal
        The delta of all of them together.
    mechanism : str, optional
        "gaussian", "noisy-cells" or "hierarchy-streaming", if all releases have the noise of this mechanism;
        without it they may be any releases of this epsilon and delta.
    counts : int, optional
        For a mechanism: how many noisy counts one unit of privacy changes.
    window, time, time_zone : str, optional
        The time that the rows of all of them are from, and the column and zone that tell it.
    question : str, optional
        The question that all of them ask, as `--dry-run --json` names it, or "any"; without it the first
        run decides.
    """

    releases: int
    delta: Number
    total_delta: Number
    epsilon: Number | None = None
    rho: Number | None = None
    mechanism: str | None = None
    counts: int | None = None
    window: str | None = None
    time: str | None = None
    time_zone: str | None = None
    question: str | None = None

    def schedule(self, name: str) -> Schedule:
        """Return the schedule whose runs are NAME/..., with its exact cost, or raise."""
        span = Spending(window=self.window, time=self.time, time_zone=self.time_zone).span
        return replace(self._priced(name), window=span, question=self.question or "")

    def _priced(self, name: str) -> Schedule:
        """Return the schedule for rows of all times and any question, with its exact cost, or raise."""
        if self.mechanism is None:
            if self.epsilon is None or self.rho is not None or self.counts is not None:
                raise ParameterError(
                    "rho and counts need mechanism, because their cost depends on the noise."
                )
            pair = Event.of(self.epsilon, self.delta)
            check_epsilon(float(pair.epsilon))
            return Schedule.of(name, self.releases, pair, self.total_delta)
        if self.counts is None:
            raise ParameterError("mechanism needs counts, the number of noisy counts that one unit changes.")
        if self.mechanism not in EVENTS:
            raise ParameterError(f"mechanism must be one of {', '.join(EVENTS)}, got {self.mechanism}.")
        each = EVENTS[self.mechanism](self._budget(), check_count("counts", self.counts))
        return Schedule.of_equals(name, self.releases, each, self.total_delta, composed)

    def _budget(self) -> Budget:
        """Return what each release spends, or raise."""
        delta = float(number("delta", self.delta))
        if (self.epsilon is None) == (self.rho is None):
            raise ParameterError(ONE_BUDGET)
        if self.rho is not None:
            return zcdp_budget(float(number("rho", self.rho)), delta)
        return unwarned(float(number("epsilon", self.epsilon or 0)), delta)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a schedule costs, in two ways of adding up, and what a ledger would do with it if it was asked."""

    schedule: Schedule
    preview: Preview | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as texts."""
        plan = self.schedule
        return {
            "name": plan.name,
            "releases": str(plan.releases),
            "each": {"epsilon": text(plan.each.epsilon), "delta": text(plan.each.delta)},
            "basic_epsilon": text(total([plan.each.epsilon] * plan.releases)),
            "epsilon": text(plan.whole.epsilon),
            "delta": text(plan.whole.delta),
            "window": None if plan.window is None else str(plan.window),
            "question": plan.question or None,
            "ledger": None if self.preview is None else self.preview.to_dict(),
        }


# What one release costs, by its mechanism, its budget and the counts that one unit changes.
EVENTS = {
    GaussianSparseHistogram.name: lambda budget, counts: GaussianSparseHistogram(
        budget, Public(moved=counts)
    ).event(),
    NoisyCells.name: lambda budget, counts: NoisyCells(
        budget, sizes=CellSizes(COUNT_SKETCH, counts, 1)
    ).event(),
    LevelFloorRelease.name: lambda budget, counts: LevelFloorRelease(
        budget, Public(height=counts - 1)
    ).event(),
}


def composed(curve: Curve, releases: int, delta: Decimal) -> Decimal:
    """Return an epsilon at which so many releases with this noise are (epsilon, delta)-private.

    k releases with Gaussian noise on l counts are one with the same noise on k l counts, and k times l
    responses are as many responses.
    """
    if isinstance(curve, Response):
        return composed_epsilon(exact_or_up(curve.epsilon), releases * curve.times, delta)
    if not isinstance(curve, Normal):
        raise ParameterError("mechanism must be one whose noise is charged by its own curve.")
    counts, sigma = float(releases * curve.moved), math.sqrt(curve.variance)
    spare = float(delta) * (1 - SAFETY)

    def private(epsilon: float) -> bool:
        return math.exp(log_hockey_stick(np.array([counts]), epsilon, sigma)[0]) <= spare

    low, high = 0.0, 1.0
    while not private(high):
        low, high = high, 2 * high
        if high > LARGEST:
            raise ParameterError("total_delta is too small for these releases; give a larger one.")
    while high - low > CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return number("epsilon", high)
