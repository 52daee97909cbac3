"""Noisy cells of a linear sketch: what makes a frequency oracle private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hushcount.accounting.charges import Charge, Curve, Event, Normal, Response
from hushcount.accounting.decimals import ZERO
from hushcount.accounting.zcdp import zcdp_sigma
from hushcount.errors import NotProvedError, ParameterError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, check_cells
from hushcount.mechanisms.base import NOT_GAUSSIAN, Claim, Mechanism
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.histograms.gaussian import check_sigma
from hushcount.mechanisms.linear.calibration import LEAST_SIGMA, cell_noise, estimate_tail
from hushcount.noise.bits import Bits
from hushcount.noise.gaussian import DiscreteGaussian, Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, Guarantee, PrivacyUnit, unwarned
from hushcount.releases.oracle import Oracle
from hushcount.shapes import NOTHING_PUBLIC, Cells, Public

NO_BOUND = "noisy cells need a public bound on weights; make the sketch with max_weight=1 (or more)."


@dataclass(frozen=True, slots=True)
class CellSizes:
    """The kind of a linear sketch, its number of rows, and the largest weight of an event."""

    kind: str
    depth: int
    max_weight: int


class NoisyCells(Mechanism[Cells, Oracle]):
    """Every cell of a linear sketch with its own noise.

    Theorem: for any hash key, Count-Min with DLap(epsilon / (depth max_weight)) is (epsilon, 0)-DP, and
        CountSketch with discrete Gaussian noise is (epsilon, delta)-DP. So is Count-Min that counts each user
        once per cell, with either noise for the cells that one user changes.
    Neighbours: add or remove one event, an addition or a deletion; or one user of at most m keys.
    Assumes: a public bound on weights; a hash key that does not depend on the data.
    Parameters: the noise of each cell, calibration.cell_noise.
    Proof: docs/proofs/linear/cells.md, sections 2 and 6. Checked by: tests/privacy/test_linear.py and
        tests/privacy/test_linear_users.py
    """

    name = "noisy-cells"
    gaussian = True
    weighted = True
    accepts = (Cells,)
    sketch = COUNT_SKETCH
    way_out = "count with CountMin or CountSketch"
    claim = Claim(
        "noisy cells of a linear sketch",
        "Noise on every cell: Count-Min with discrete Laplace noise is (epsilon, 0)-DP, and CountSketch with"
        " discrete Gaussian noise is (epsilon, delta)-DP.",
        "docs/proofs/linear/cells.md",
        ("the hash key does not depend on the data", "one event has a weight of at most max_weight"),
    )
    count_min = replace(
        claim,
        mechanism="noisy cells of Count-Min",
        theorem="Noisy cells: discrete Laplace noise of scale depth max_weight / epsilon is (epsilon, 0)-DP.",
    )
    count_sketch = replace(
        claim,
        mechanism="noisy cells of CountSketch",
        theorem="Noisy cells: discrete Gaussian noise for l2 sensitivity sqrt(depth) max_weight is"
        " (epsilon, delta)-DP.",
    )

    users = replace(
        claim,
        mechanism="noisy cells of Count-Min, each user once per cell",
        theorem="Noisy cells: each user counts once per cell, and noise for the depth min(max_keys, width)"
        " cells that one user changes is (epsilon, delta)-DP.",
        proof="docs/proofs/linear/cells.md, docs/proofs/sources/bounding.md",
        assumptions=(claim.assumptions[0], "one user has at most max_keys keys, and is in one oracle"),
    )

    def __init__(
        self, budget: Budget, public: Public = NOTHING_PUBLIC, sizes: CellSizes | None = None
    ) -> None:
        self.sizes = sizes
        super().__init__(budget, public)

    def calibrate(self) -> None:
        """Raise if the noise for the stated sizes needs a delta; without them `draw` finds the noise."""
        if self.sizes is not None:
            self.cell = self.noise(self.sizes.kind, self.sizes.depth, self.sizes.max_weight)

    def noise(self, kind: str, depth: int, max_weight: int) -> Distribution:
        """Return the noise of each cell; only CountSketch needs, and spends, a delta."""
        if self.budget.rho is not None:
            if kind == COUNT_MIN:
                raise ParameterError(NOT_GAUSSIAN.format(COUNT_MIN))
            units = self.public.moved or depth * max_weight**2
            check_sigma(sigma := zcdp_sigma(self.budget.rho, units), units)
            return DiscreteGaussian(max(sigma, LEAST_SIGMA))
        if self.public.moved is not None:
            return self._user_noise(self.public.moved)
        if kind == COUNT_MIN:
            return cell_noise(kind, depth, max_weight, self.budget.epsilon, 0.0)
        if not self.budget.delta:
            raise ParameterError("delta must be given for count-sketch; count-min needs none.")
        return cell_noise(kind, depth, max_weight, self.budget.epsilon, self.budget.delta)

    def _user_noise(self, changed: int) -> Distribution:
        """Return the noise if one user changes so many cells by 1: the weaker of two, by public numbers."""
        laplace = DiscreteLaplace.shared(self.budget.epsilon, changed, "cells of one user")
        if not self.budget.delta:
            return laplace
        gaussian = cell_noise(COUNT_SKETCH, changed, 1, self.budget.epsilon, self.budget.delta)
        return min(laplace, gaussian, key=lambda noise: noise.variance)

    def event(self) -> Event:
        """Return what noise on the cells costs: one event changes `depth` of them by up to `max_weight`."""
        if self.sizes is None:
            return super().event()
        cell, weight, depth = self.cell, self.sizes.max_weight, self.public.moved or self.sizes.depth
        if isinstance(cell, DiscreteLaplace):
            by_cell: Curve = Response(cell.exact_epsilon * weight, depth)
            return Event.of(self.budget.epsilon, 0, Charge(ZERO, (by_cell,)))
        by_cell = Normal(cell.exact_sigma**2, depth * weight**2)
        return Event.of(self.budget.epsilon, self.budget.delta, Charge(ZERO, (by_cell,)))

    def forecast(self) -> KeyForecast:
        """Return how far noise will move an answer, or raise without sizes; other keys add more to it."""
        if self.sizes is None:
            return super().forecast()
        added = partial(estimate_tail, self.sizes.kind, self.sizes.depth, self.cell)
        return KeyForecast(0, np.ones_like, added, every_key=True)

    def draw(self, shape: Cells, bits: Bits) -> Oracle:
        """Add noise to every cell."""
        hashing, weight = shape.hashing, shape.max_weight
        if weight is None:
            raise NotProvedError(NO_BOUND)
        check_cells(shape.cells, hashing)  # a sum with noise would wrap
        cell = self.noise(hashing.kind, hashing.depth, weight)
        noise = cell.sample(shape.cells.size, bits).reshape(shape.cells.shape)
        sizes = {"depth": hashing.depth, "width": hashing.width, "max_weight": weight}
        promise = self._promise(shape.unit, cell, sizes)
        return Oracle(shape.cells + noise, hashing, shape.key_type, (promise,), partial=shape.partial)

    def foretold(self, unit: PrivacyUnit) -> Guarantee:
        """Return what a release of the stated sizes will promise."""
        if self.sizes is None:
            return super().foretold(unit)
        sizes = {"depth": self.sizes.depth, "max_weight": self.sizes.max_weight}
        return self._promise(unit, self.cell, sizes)

    def _promise(self, unit: PrivacyUnit, cell: Distribution, sizes: dict[str, int]) -> Guarantee:
        """Return the guarantee of one release; only Gaussian noise spends delta."""
        count_min, count_sketch = self.count_min, self.count_sketch
        if self.public.moved is not None:
            count_min = count_sketch = self.users
            sizes = {**sizes, "max_keys": self.public.unit.rows}
        if isinstance(cell, DiscreteLaplace):
            budget = unwarned(self.budget.epsilon, 0.0)
            return count_min.guarantee(budget, unit, **sizes, noise=float(cell.epsilon))
        stated = {} if self.budget.rho is None else {"rho": self.budget.rho}
        return count_sketch.guarantee(self.budget, unit, **sizes, sigma=float(cell.sigma), **stated)
