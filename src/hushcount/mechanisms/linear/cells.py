"""Noisy cells of a linear sketch: what makes a frequency oracle private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from hushcount.errors import NotProvedError, ParameterError
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
from hushcount.mechanisms.base import Claim, check_shape
from hushcount.mechanisms.linear.calibration import cell_law
from hushcount.noise.gaussian import Distribution
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, Guarantee
from hushcount.releases.oracle import Oracle
from hushcount.shapes import NOTHING_PUBLIC, Cells, Public, Shape

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits

PROOF = "docs/proofs/linear/cells.md"
ASSUMPTIONS = (
    "the hash key does not depend on the data",
    "one event has a weight of at most max_weight",
)


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Every cell of a linear sketch with its own noise.

    Theorem: for any hash key, Count-Min with DLap(epsilon / (depth max_weight)) is (epsilon, 0)-DP, and
        CountSketch with discrete Gaussian noise is (epsilon, delta)-DP.
    Neighbours: add or remove one event, an addition or a deletion.
    Assumes: a public bound on weights; a hash key that does not depend on the data.
    Parameters: the noise of each cell, calibration.cell_law.
    Proof: docs/proofs/linear/cells.md, section 2. Checked by: tests/privacy/test_linear.py
    """

    budget: Budget
    public: Public = NOTHING_PUBLIC

    name: ClassVar[str] = "noisy-cells"
    accepts: ClassVar[tuple[type[Shape], ...]] = (Cells,)
    sketch: ClassVar[str] = COUNT_SKETCH
    way_out: ClassVar[str] = "count with CountMin or CountSketch"
    claim: ClassVar[Claim] = Claim(
        "noisy cells of a linear sketch",
        "Noise on every cell: Count-Min with discrete Laplace noise is (epsilon, 0)-DP, and CountSketch with"
        " discrete Gaussian noise is (epsilon, delta)-DP.",
        PROOF,
        ASSUMPTIONS,
    )
    count_min: ClassVar[Claim] = replace(
        claim,
        mechanism="noisy cells of Count-Min",
        theorem="Noisy cells: discrete Laplace noise of scale depth max_weight / epsilon is (epsilon, 0)-DP.",
    )
    count_sketch: ClassVar[Claim] = replace(
        claim,
        mechanism="noisy cells of CountSketch",
        theorem="Noisy cells: discrete Gaussian noise for l2 sensitivity sqrt(depth) max_weight is"
        " (epsilon, delta)-DP.",
    )

    def law(self, kind: str, depth: int, max_weight: int) -> Distribution:
        """Return the noise of each cell; only CountSketch needs, and spends, a delta."""
        if kind == COUNT_MIN:
            return cell_law(kind, depth, max_weight, self.budget.epsilon, 0.0)
        if not self.budget.delta:
            raise ParameterError("delta must be given for count-sketch; count-min needs none.")
        return cell_law(kind, depth, max_weight, self.budget.epsilon, self.budget.delta)

    def release(self, shape: Cells, bits: Bits) -> Oracle:
        """Add noise to every cell."""
        weight = _public_weight(shape)
        hashing = shape.hashing
        law = self.law(hashing.kind, hashing.depth, weight)
        noise = law.sample(shape.cells.size, bits).reshape(shape.cells.shape)
        promise = self._guarantee(shape, law, weight)
        return Oracle(shape.cells + noise, hashing, shape.key_type, (promise,), partial=shape.partial)

    def _guarantee(self, shape: Cells, law: Distribution, weight: int) -> Guarantee:
        """Return the guarantee of one release; only Gaussian noise spends delta."""
        hashing = shape.hashing
        parameters = {"depth": hashing.depth, "width": hashing.width, "max_weight": weight}
        if isinstance(law, DiscreteLaplace):
            budget = Budget.pure(self.budget.epsilon)
            return self.count_min.guarantee(budget, shape.unit, parameters | {"noise": float(law.epsilon)})
        return self.count_sketch.guarantee(self.budget, shape.unit, parameters | {"sigma": float(law.sigma)})


def _public_weight(shape: Cells) -> int:
    """Return the public bound on weights, or raise if there is none."""
    check_shape(NoisyCells, shape)
    if shape.max_weight is None:
        raise NotProvedError(
            "noisy cells need a public bound on weights; make the sketch with max_weight=1 (or more)."
        )
    return shape.max_weight
