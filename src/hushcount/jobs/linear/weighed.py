"""Rows by their weights in a linear sketch; negative weights delete."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.jobs.request import Progress
from hushcount.jobs.run import Run
from hushcount.sketches.cells import LinearSketch


def count_weighed(sketch: LinearSketch, reading: Run, progress: Progress | None) -> None:
    """Add all keys by their weights; a deletion may come before what it deletes, but must not exceed it."""
    reading.add = partial(_add, sketch)
    reading.count(progress)
    sketch.partial = False
    if sketch.below_zero():
        raise DataError(
            "The weights delete more of some key than they add, so nothing was released; this message itself"
            " reveals that, outside the guarantee."
        )


def _add(sketch: LinearSketch, pairs: pa.Array) -> None:
    """Add a batch of pairs of weight and key."""
    sketch.update(pairs.field("key"), pairs.field("weight").to_numpy())
