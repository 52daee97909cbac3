"""Rows by their weights in a linear sketch; negative weights delete."""

from __future__ import annotations

from functools import partial
from typing import cast

import pyarrow as pa

from hushcount.errors import DataError
from hushcount.jobs.request import Progress
from hushcount.jobs.run import Run, TableAsk
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.linear import TrackedSketch


def count_weighed(sketch: LinearSketch, reading: Run, progress: Progress | None) -> None:
    """Add all keys by their weights; a deletion may come before what it deletes, but must not exceed it."""
    reading.add = partial(add_weighed, sketch)
    reading.count(progress)
    sketch.partial = False
    if sketch.below_zero():
        raise DataError(
            "The weights delete more of some key than they add, so nothing was released; this message itself"
            " reveals that, outside the guarantee."
        )


def add_weighed(sketch: LinearSketch | TrackedSketch, pairs: pa.Array) -> None:
    """Add a batch of pairs of weight and key."""
    sketch.update(pairs.field("key"), pairs.field("weight").to_numpy())


class WeighedAsk(TableAsk):
    """A table of keys by an error envelope, in which a row counts as much as its weight."""

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Add every key by its weight; negative weights delete."""
        reading.add = partial(add_weighed, cast("TrackedSketch", reading.sketch))
        reading.count(progress)
