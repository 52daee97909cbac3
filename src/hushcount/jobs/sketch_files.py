"""Sketch files as a job: write one, release one, look at one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushcount import signals
from hushcount.errors import DataError, NotProvedError
from hushcount.files.atomic import check_writable, refuse_same
from hushcount.files.container import ORACLE, read
from hushcount.files.fingerprint import check_disjoint
from hushcount.jobs.origin import NOWHERE, Origin, Position
from hushcount.jobs.release import check_total, shape_of
from hushcount.jobs.run import Progress, Request, open_run
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, new_sketch
from hushcount.noise.bits import system_bits
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.releases.oracle import Oracle
from hushcount.sketches.kinds import load_with_position

if TYPE_CHECKING:
    from hushcount.releases.release import Release


def write_sketch(
    request: Request,
    output: str | os.PathLike[str],
    *,
    kind: str = "space-saving",
    counters: int = COUNTERS,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> None:
    """Count the keys of `request` into a sketch file. The file is raw data (0600), not a release."""
    sketch = new_sketch(kind, counters)
    check_writable(output)
    with signals.handled():
        run = open_run(request, sketch, checkpoint, [output])
        run.count(progress)
        with signals.held():
            run.sketch.save(output, position=run.position(finished=True).to_dict())
            run.finish()


def release_sketch(path: str | os.PathLike[str], settings: ReleaseSettings) -> Release:
    """Release a finished sketch file. Every release of it spends again."""
    return release_sketches([path], settings)


def release_sketches(paths: Sequence[str | os.PathLike[str]], settings: ReleaseSettings) -> Release:
    """Release a finished sketch file, or several of disjoint parts of the data together (shards)."""
    refuse_same([settings.output], paths)
    opened = [_finished(path) for path in paths]
    sketches, origins = [sketch for sketch, _, _ in opened], [origin for _, origin, _ in opened]
    assumed = check_disjoint([(str(path), data) for path, (_, _, data) in zip(paths, opened, strict=True)])
    for path, origin in zip(paths, origins, strict=True):
        if (origin.columns, origin.unit) != (origins[0].columns, origins[0].unit):
            raise DataError(f"{path} has other key columns or another unit than {paths[0]}.")
    settings = settings.with_domain(origins[0].columns.key_type)
    settings.check_domain(origins[0].columns)
    notes = dict.fromkeys(note for origin in origins for note in origin.notes)
    origin = replace(origins[0], notes=(*notes, *assumed))
    return settings.written(settings.finished(_released(sketches, origin.unit, settings), origin))


def _released(sketches: list[Any], unit: PrivacyUnit, settings: ReleaseSettings) -> Release:
    """Draw the noise for one sketch, or for several of disjoint parts of the data together."""
    for sketch in sketches:
        if sketch.unit == EVENT:  # files of earlier versions keep the unit beside the sketch only
            sketch.unit = unit
    whole = sketches[0] if len(sketches) == 1 else sketches
    shape = shape_of(whole)
    mechanism = settings.prepared(shape.public())
    check_total(whole, shape, settings.max_events)
    return mechanism.release(shape, system_bits())


def _finished(path: str | os.PathLike[str]) -> tuple[Any, Origin, str]:
    """Return the sketch of a finished run, where it came from, and the fingerprint of its data."""
    sketch, position = _opened(path)
    if position is not None and not position.finished:
        raise DataError(f"{path} is the checkpoint of an unfinished run; finish that run first.")
    if position is None:
        return sketch, NOWHERE, ""
    return sketch, position.origin, position.fingerprint


@dataclass(frozen=True, slots=True)
class SketchFacts:
    """What the operator may see of a sketch file. It describes raw data and is not private."""

    kind: str
    identity: str
    counters: int | None
    key_type: str
    columns: tuple[str, ...]
    events: int
    error_bound: int | None
    finished: bool
    size: int

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def inspect_sketch(path: str | os.PathLike[str]) -> SketchFacts:
    """Look into a sketch file without showing a key."""
    sketch, position = _opened(path)
    contents = sketch.contents()
    return SketchFacts(
        kind=type(sketch).__name__,
        identity=str(sketch.id),
        counters=contents.fields.get("counters"),
        key_type=str(sketch.key_type) if sketch.key_type is not None else "none yet",
        columns=position.origin.columns.names if position is not None else (),
        events=int(sketch.total),
        error_bound=_error_bound(sketch),
        finished=position is None or position.finished,
        size=Path(path).stat().st_size,
    )


def inspect_oracle(path: str | os.PathLike[str]) -> dict[str, object]:
    """Describe an oracle file, which may be published."""
    oracle = Oracle.load(path)
    return {
        "kind": f"oracle of {oracle.hashing.kind}",
        "depth": oracle.hashing.depth,
        "width": oracle.hashing.width,
        "key_type": str(oracle.key_type),
        "privacy": oracle.guarantee.statement(),
        "notes": oracle.notes,
        "size": Path(path).stat().st_size,
    }


def is_oracle(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is an oracle; raise if it is no file of hushcount."""
    return read(path).kind == ORACLE


def _error_bound(sketch: Any) -> int | None:
    """How far estimates are off; None where a part of a stream has no estimates."""
    try:
        return int(sketch.error_bound)
    except NotProvedError:
        return None


def _opened(path: str | os.PathLike[str]) -> tuple[Any, Position | None]:
    sketch, values = load_with_position(path)
    return sketch, Position.from_dict(values, str(path)) if values is not None else None
