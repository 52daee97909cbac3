"""The shapes of a summary: how two neighbouring summaries can differ.

A sketch hands a mechanism one of these values and nothing else; a mechanism accepts only the shapes
it is proved for. Neighbours: add or remove one event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """One key moves by one: keys with their counts, all at least 1."""

    keys: pa.Array
    counts: Counts


@dataclass(frozen=True, slots=True)
class FloorCounters:
    """One key or the floor moves by one, plus at most two isolated keys a side at height at most 1.

    `keys` are the candidates of one stream (a full SpaceSaving sketch leaves out the key next in line
    for eviction), `counts` their absolute counts: count - floor <= true <= count. At most `candidates`
    keys, a public number. `floor` <= n / `parts` for a stream of n events.
    """

    keys: pa.Array
    counts: Counts
    floor: int
    candidates: int
    parts: int
