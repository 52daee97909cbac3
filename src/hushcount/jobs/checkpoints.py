"""Sketch and source position in one file, so that a stopped run continues.

The last good file is replaced only by one that has been loaded and read back. While a batch is being counted
the sketch is `broken`, that is ahead of its position, and is never saved.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from hushcount import signals
from hushcount.accounting.windows import TimeWindow
from hushcount.errors import DataError, ParameterError, SketchFileError
from hushcount.files.atomic import PathLike, check_writable, replace_verified
from hushcount.files.container import Fields
from hushcount.keys.columns import KeyColumns
from hushcount.privacy import EVENT, RESULT_ROW, STREAM_ROW, USER, PrivacyUnit, check_count
from hushcount.sketches.base import SavedSketch
from hushcount.sketches.kinds import load_with_position
from hushcount.sources.source import Source
from hushcount.sources.wrapped import WindowedSource

SECONDS = 10.0
UNITS = {unit.name: unit for unit in (EVENT, USER, RESULT_ROW, STREAM_ROW)}


@dataclass(frozen=True, slots=True)
class Origin:
    """The key columns, the privacy unit and the public notes of a source.

    `window` is the time that its rows are from, and `clock` the column and the zone that tell it.
    """

    columns: KeyColumns
    unit: PrivacyUnit
    notes: tuple[str, ...]
    window: str | None = None
    clock: tuple[str, str] | None = None

    @classmethod
    def of(cls, source: Source) -> Origin:
        """Return the origin of the keys of a source, and the window of time that they are from."""
        told = (source.columns, source.unit, source.notes)
        if not isinstance(source, WindowedSource):
            return cls(*told)
        return cls(*told, source.words, (source.times.name, source.times.zone))

    @property
    def span(self) -> TimeWindow | None:
        """The time that is charged; all of it where nothing tells by which column a window is meant."""
        if self.window is None or self.clock is None:
            return None
        return TimeWindow.parse(self.window).by(*self.clock)

    def to_dict(self) -> Fields:
        """Return plain values for a sketch file."""
        columns = self.columns
        schema = pa.schema([(str(index), kind) for index, kind in enumerate(columns.types)])
        return {
            "names": list(columns.names),
            "key_names": list(columns.key_names),
            "key_type": columns.key_type,
            "inferred": list(columns.inferred),
            "types": base64.b64encode(schema.serialize().to_pybytes()).decode(),
            "unit": self.unit.name,
            "rows": self.unit.rows,
            "notes": list(self.notes),
            "window": self.window,
            "clock": self.clock and list(self.clock),
        }

    @classmethod
    def from_dict(cls, values: Fields) -> Origin:
        """Return the origin that `to_dict` described."""
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(values["types"])))
        columns = KeyColumns(
            tuple(values["names"]),
            tuple(values["key_names"]),
            values["key_type"],
            tuple(schema.types),
            inferred=tuple(values.get("inferred", ())),
        )
        unit = replace(UNITS[values["unit"]], rows=check_count("rows", values.get("rows", 1)))
        clock = values.get("clock")
        told = (columns, unit, tuple(values["notes"]), values.get("window"))
        return cls(*told, None if clock is None else (str(clock[0]), str(clock[1])))


@dataclass(frozen=True, slots=True)
class Position:
    """How far a sketch has read its source; `finished` when it has read all of it."""

    rows: int
    finished: bool
    fingerprint: str
    state: Mapping[str, str]
    origin: Origin

    def to_dict(self) -> Fields:
        """Return plain values for a sketch file."""
        return {
            "rows": self.rows,
            "finished": self.finished,
            "fingerprint": self.fingerprint,
            "state": dict(self.state),
            "origin": self.origin.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: Fields, name: str) -> Position:
        """Return the position that `to_dict` described."""
        try:
            origin = Origin.from_dict(values["origin"])
            return cls(values["rows"], values["finished"], values["fingerprint"], values["state"], origin)
        except (KeyError, TypeError, ValueError, pa.ArrowException):
            failure = SketchFileError(f"{name} has a position that this version cannot read.")
        raise failure


NOWHERE = Origin(KeyColumns.of(None, "auto"), EVENT, ())


@dataclass(slots=True)
class Checkpoint:
    """A file that is written every few seconds of work and when a run is stopped."""

    path: Path
    saved: float = field(default_factory=time.monotonic)

    @classmethod
    def at(cls, path: PathLike | None) -> Checkpoint | None:
        """Return a checkpoint at a path that can be written, or None."""
        if path is None:
            return None
        check_writable(path)
        return cls(Path(path))

    def restore(self) -> tuple[SavedSketch, Position] | None:
        """Return the sketch and position of a run that was stopped, if there is one."""
        if not self.path.exists():
            return None
        sketch, values = load_with_position(self.path)
        if values is None:
            raise ParameterError(f"{self.path} is a sketch file without a position, not a checkpoint.")
        position = Position.from_dict(values, str(self.path))
        signals.leaves(self._promise)
        return sketch, position

    def save(self, sketch: SavedSketch, position: Position) -> None:
        """Replace the file by this sketch and position, once they have been found whole."""
        with signals.held():
            data = sketch.to_bytes(position=position.to_dict())
            load_with_position(data)
            replace_verified(self.path, data)
            signals.leaves(self._promise)
        self.saved = time.monotonic()

    @property
    def _promise(self) -> str:
        return f"{signals.NOTHING} Run it again with --checkpoint {self.path} to continue."

    @property
    def due(self) -> bool:
        """Whether enough work would be lost by now."""
        return time.monotonic() - self.saved >= SECONDS

    def remove(self) -> None:
        """Delete the file: its work is done, and it holds raw data."""
        self.path.unlink(missing_ok=True)
        signals.withdraw(self._promise, signals.NOTHING)


def check_resumable(fingerprint: str) -> None:
    """Raise for a source that another run could not read again."""
    if not fingerprint:
        raise ParameterError(
            "checkpoint needs data that can be read again: files or a DuckDB query, not a pipe, memory or"
            " another database."
        )


def check_same(path: Path, stopped: tuple[SavedSketch, Position], fresh: SavedSketch, source: Source) -> None:
    """Raise unless a stopped run had the same data, column and sketch as this one."""
    sketch, position = stopped
    if position.fingerprint != source.fingerprint:
        raise DataError(
            f"{path} was saved for other data (file, modification time, column, type or query), so it"
            " cannot be resumed. Delete it to start again."
        )
    if any(position.state.get(place, time) != time for place, time in source.state.items()):
        raise DataError(
            f"{path} was saved before its data were changed, although their modification time says otherwise,"
            " so it cannot be resumed. Delete it to start again."
        )
    check_same_sketch(path, sketch, fresh)


def check_same_sketch(path: Path, sketch: SavedSketch, fresh: SavedSketch) -> None:
    """Raise unless a sketch that a file holds can go on as one that is asked for now."""
    if _settings(sketch) != _settings(fresh):
        raise DataError(
            f"{path} was saved for another sketch (mechanism, hierarchy, counters or budget), so it"
            " cannot be resumed. Delete it to start again."
        )


def _settings(sketch: SavedSketch) -> tuple[object, ...]:
    """Return what two sketches must share for one to continue the other: all that no data changes."""
    from hushcount.sketches.cells import LinearSketch
    from hushcount.sketches.dealt.key_shards import KeyShardSketch
    from hushcount.sketches.levels import HierarchySketch
    from hushcount.sketches.linear import TrackedSketch

    public = replace(sketch.public(), unit=EVENT)
    if isinstance(sketch, LinearSketch):
        return type(sketch), public, sketch.depth, sketch.width, sketch.max_weight, sketch.partial
    if isinstance(sketch, HierarchySketch):
        return type(sketch), public, sketch.hierarchy.name
    if isinstance(sketch, KeyShardSketch):
        return type(sketch), public, sketch.threads
    return type(sketch), public, sketch.size if isinstance(sketch, TrackedSketch) else None
