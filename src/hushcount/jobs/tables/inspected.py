"""A sketch file described to its owner."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hushcount.errors import NotProvedError
from hushcount.jobs.sketch_files import opened_file

if TYPE_CHECKING:
    from hushcount.files.atomic import PathLike
    from hushcount.sketches.base import SavedSketch


def inspect_sketch(path: PathLike) -> dict[str, object]:
    """Describe a sketch file to its operator, without any key. It is raw data, and not private."""
    sketch, position = opened_file(path)
    return {
        "kind": type(sketch).__name__,
        "identity": sketch.id,
        "counters": sketch.contents().fields.get("counters"),
        "key_type": str(sketch.key_type) if sketch.key_type is not None else "none yet",
        "columns": position.origin.columns.names if position is not None else (),
        "events": int(sketch.total),
        "error_bound": _error_bound(sketch),
        "finished": position is None or position.finished,
        "size": Path(path).stat().st_size,
    }


def _error_bound(sketch: SavedSketch) -> int | None:
    """Return how far estimates are off; None if a part of a stream has no estimates."""
    try:
        return int(sketch.error_bound)
    except NotProvedError:
        return None
