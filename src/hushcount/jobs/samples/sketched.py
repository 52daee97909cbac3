"""`sample` of a sketch, in memory or in a file: exact counts are sampled, existing samples sanitised."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, cast

from hushcount.errors import ParameterError
from hushcount.files.container import MAGIC
from hushcount.jobs.checkpoints import NOWHERE, Origin
from hushcount.jobs.release import Released, shape_of
from hushcount.jobs.request import kept_counts
from hushcount.jobs.samples.settings import SampleSettings
from hushcount.jobs.settings import ReleaseSettings, taken
from hushcount.jobs.sketch_files import open_sketches
from hushcount.jobs.trust.spending import Spending
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.privacy import USER
from hushcount.releases.accuracy import EVENTS
from hushcount.releases.key_list import KeyList
from hushcount.shapes.samples import SampledCounts
from hushcount.sketches.base import SavedSketch

if TYPE_CHECKING:
    from hushcount.accounting.runs import RunPlan
    from hushcount.jobs.trust.dry_run import DryRun
    from hushcount.mechanisms.base import Calibrated
    from hushcount.releases.release import Release
    from hushcount.shapes import Histogram, Sketch

# How data are read, which says nothing about a sketch.
READING = (
    "column",
    "user",
    "max_keys",
    "format",
    "sql",
    "relation",
    "checkpoint",
    "window",
    "time",
    "time_zone",
)
DRAWING = ("rate", "size", "total_share", "probabilities")
COUNTED = "keys_only and tokens cannot be combined with a sample: its counts are sanitised as they are."


def is_sketch(data: object) -> bool:
    """Return whether data are a sketch, or the file of one."""
    if isinstance(data, str | os.PathLike):
        if not os.path.isfile(data):
            return False
        with open(data, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    return isinstance(data, SavedSketch)


def sample_sketch(values: Mapping[str, object]) -> Release | DryRun:
    """Do what the parameters of `sample` ask for, of a sketch."""
    for name in READING:
        if values.get(name) is not None:
            raise ParameterError(f"{name} cannot be combined with a sketch, whose keys were counted before.")
    spending = taken(Spending, values)
    asked, origin = _opened(values)
    if values.get("dry_run"):
        return asked.dry(spending)
    return asked.settings.finished(asked.publish(spending, lambda drawn: _published(asked, drawn, origin)))


def _published(asked: Released, drawn: Release, origin: Origin) -> Release:
    """Return the release with its keys as columns, and what it counts."""
    unit = asked.shape.public().unit
    counted = EVENTS if unit != USER else kept_counts("users", unit.rows)
    counted = drawn.counted if isinstance(drawn, KeyList) else counted
    return asked.settings.published(drawn.counting(counted), origin)


def _opened(values: Mapping[str, object]) -> tuple[Released, Origin]:
    """Return what is about to be released, and where it came from."""
    data = values["data"]
    plain = taken(ReleaseSettings, values)
    if isinstance(data, str | os.PathLike):
        found, origin = open_sketches([data], plain)
    else:
        sketch = cast("Sketch", data)
        found, origin = Released(sketch, shape_of(sketch), plain), NOWHERE
    if isinstance(found.shape, SampledCounts):
        for name in DRAWING:
            if values.get(name) is not None:
                raise ParameterError(f"{name} cannot be combined with a sample, which its own scheme drew.")
        if values.get("keys_only") or values.get("tokens", 1) != 1:
            raise ParameterError(COUNTED)
        return found, origin
    made_of = {each.name: getattr(found, each.name) for each in fields(Released)}
    PrivateSample.check_kind(type(found.shape))
    settings, total = taken(SampleSettings, values), int(cast("Histogram", found.shape).counts.sum())
    shape = settings.summary(found.shape, total)
    return SampledRelease(**made_of | {"settings": settings, "shape": shape}), origin


@dataclass(frozen=True)
class SampledRelease(Released):
    """Exact counts of which a sample is about to be released."""

    settings: SampleSettings

    def mechanism(self) -> Calibrated:
        """Return the mechanism that draws the sample, or raise."""
        return cast("Calibrated", self.settings.calibrated(self.shape.public()))

    def planned(self, mechanism: Calibrated, spending: Spending) -> RunPlan | None:
        """Return what the release asks of the ledger, None without one."""
        question = {
            "command": "sample",
            "public": mechanism.public,
            "scheme": self.settings.drawn_by.fields(),
            "tokens": self.settings.tokens,
            "keys_only": self.settings.keys_only,
        }
        return spending.planned(mechanism.event(), mechanism.public.unit, question, self.source, self.window)
