"""An oracle of a sketch that was counted before, in memory or in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from hushcount.errors import NotProvedError, ParameterError
from hushcount.files.atomic import refuse_same
from hushcount.files.container import is_container
from hushcount.files.fingerprint import content_digest
from hushcount.jobs.checkpoints import NOWHERE, Origin
from hushcount.jobs.run import drawn
from hushcount.jobs.sketch_files import finished
from hushcount.jobs.trust.dry_run import DryRun
from hushcount.keys.memory import Data
from hushcount.mechanisms.linear.cells import NO_BOUND, CellSizes, NoisyCells
from hushcount.privacy import weaknesses
from hushcount.sketches.cells import LinearSketch

if TYPE_CHECKING:
    from hushcount.accounting.runs import RunPlan
    from hushcount.jobs.oracle import OracleSettings
    from hushcount.jobs.request import Request
    from hushcount.jobs.trust.spending import Recorded
    from hushcount.mechanisms.base import Mechanism
    from hushcount.releases.oracle import Oracle
    from hushcount.shapes import Shape


@dataclass(frozen=True, slots=True)
class CountedCells:
    """A sketch of cells, where its keys came from, and the file that holds it, if one does."""

    sketch: LinearSketch
    origin: Origin = NOWHERE
    path: str | None = None

    @classmethod
    def of(cls, data: Data) -> CountedCells | None:
        """Return the sketch that is given in place of data, None for data, or raise for another sketch."""
        if isinstance(data, LinearSketch):
            return cls(data)
        if not isinstance(data, str | os.PathLike) or not is_container(data):
            return None
        path = os.fspath(data)
        sketch, origin, _ = finished(path)
        if not isinstance(sketch, LinearSketch):
            raise ParameterError(
                f"{path} is a sketch of another kind. An oracle takes one of kind count-min or count-sketch;"
                " hushcount release publishes the others."
            )
        return cls(sketch, origin, path)

    def oracle(self, request: Request, settings: OracleSettings, dry: bool) -> Oracle:
        """Return the oracle, drawn now or stored by a ledger; or what it would be, if that is asked for."""
        refuse_same(settings.outputs, [] if self.path is None else [self.path])
        mechanism = self._mechanism(settings)
        plan = self._planned(mechanism, request)
        if dry:
            known = cast("Mechanism[Shape, Oracle]", mechanism)
            told = DryRun.of(known, self._origin, int(self.path is not None), settings, "events")
            return cast("Oracle", replace(told, ledger=request.preview(plan)))
        recorded: Recorded[Oracle] = request.reserve(plan)
        return settings.finished(
            recorded.stored() or recorded.drawn(lambda: self._drawn(mechanism, settings))
        )

    @property
    def _origin(self) -> Origin:
        """Where the keys came from, with the unit of the sketch."""
        return replace(self.origin, unit=self.sketch.unit)

    def _mechanism(self, settings: OracleSettings) -> NoisyCells:
        """Return the mechanism, calibrated for the size of the sketch; without a bound on weights refused."""
        sketch, weight = self.sketch, self.sketch.shape().max_weight
        if weight is None:
            raise NotProvedError(NO_BOUND)
        sizes = CellSizes(sketch.kind, sketch.depth, weight)
        return NoisyCells(settings.budget, sizes=sizes)

    def _drawn(self, mechanism: NoisyCells, settings: OracleSettings) -> Oracle:
        """Draw the noise of all cells; a file says what its keys are and what was dropped."""
        made = drawn(mechanism, self.sketch.shape())
        return replace(made, notes=(*made.notes, *self.origin.notes, *weaknesses(settings.budget)))

    def _planned(self, mechanism: NoisyCells, request: Request) -> RunPlan | None:
        """Return what the release asks of the ledger: a file can be recognised, a sketch in memory cannot."""
        sketch = self.sketch
        law = (mechanism.name, mechanism.sizes, repr(sketch.hashing))
        if self.path is None:
            return request.planned_sketch(mechanism.event(), sketch.unit, law)
        question: Mapping[str, object] = {"command": "oracle", "law": law}
        source = content_digest(self.path)
        return request.planned(mechanism.event(), sketch.unit, question, source, self.origin.span)
