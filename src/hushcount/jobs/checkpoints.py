"""Sketch and source position in one file, so that a stopped run continues.

The last good file is replaced only by one that has been loaded and read back. While a batch is being counted
the sketch is `broken`, that is ahead of its position, and is never saved.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, cast

from hushcount import signals
from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import check_writable, replace_verified
from hushcount.files.container import Fields
from hushcount.jobs.origin import Position
from hushcount.privacy import EVENT
from hushcount.shapes import Sketch
from hushcount.sketches.kinds import load_with_position

SECONDS = 10.0


class Resumable(Sketch, Protocol):
    """A sketch that can be written to a file."""

    def to_bytes(self, position: Fields | None = None) -> bytes:
        """Return the bytes of a file, with the position in the source."""
        ...


@dataclass(slots=True)
class Checkpoint:
    """A file that is written every few seconds of work and when a run is stopped."""

    path: Path
    saved: float = field(default_factory=time.monotonic)

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None) -> Checkpoint | None:
        """Return a checkpoint at a path that can be written, or None."""
        if path is None:
            return None
        check_writable(path)
        return cls(Path(path))

    def restore(self) -> tuple[Resumable, Position] | None:
        """Return the sketch and position of a run that was stopped, if there is one."""
        if not self.path.exists():
            return None
        sketch, values = load_with_position(self.path)
        if values is None:
            raise ParameterError(f"{self.path} is a sketch file without a position, not a checkpoint.")
        position = Position.from_dict(values, str(self.path))
        signals.leaves(self._promise)
        return cast(Resumable, sketch), position

    def save(self, sketch: Resumable, position: Position) -> None:
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
        signals.withdraw(self._promise)


def check_resumable(fingerprint: str) -> None:
    """Raise for a source that another run could not read again."""
    if not fingerprint:
        raise ParameterError(
            "checkpoint needs data that can be read again: files or a SQL query, not a pipe or memory."
        )


def check_same(path: Path, stopped: tuple[Resumable, Position], fresh: Resumable, fingerprint: str) -> None:
    """Raise unless a stopped run had the same data, column and sketch as this one."""
    sketch, position = stopped
    if position.fingerprint != fingerprint:
        raise DataError(
            f"Checkpoint {path} is of other data (file, modification time, column, type or query);"
            " remove it to start anew."
        )
    if _settings(sketch) != _settings(fresh):
        raise DataError(
            f"Checkpoint {path} is of another sketch (mechanism, hierarchy, counters or budget);"
            " remove it to start anew."
        )


def _settings(sketch: Resumable) -> tuple[object, ...]:
    """Return what two sketches must share for one to continue the other: all that no data changes."""
    from hushcount.sketches.levels import HierarchySketch
    from hushcount.sketches.tracked import TrackedSketch

    public = replace(sketch.public(), unit=EVENT)
    if isinstance(sketch, HierarchySketch):
        return type(sketch), public, sketch.hierarchy.name
    return type(sketch), public, sketch.size if isinstance(sketch, TrackedSketch) else None
