"""Laws whose draws are written down, and shapes to try them on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hushcount.shapes import FloorCounters

FLOOR = 20


@dataclass(frozen=True)
class ScriptedLaw:
    """Hands out the given noise, once."""

    noise: tuple[int, ...]
    epsilon: float = 1.0

    def sample(self, size: int, bits: object) -> Any:
        assert size == len(self.noise), "one draw for each value that needs noise, no more, no fewer"
        return np.array(self.noise, dtype=np.int64)


def scripted(mechanism: Any, *noise: int) -> Any:
    mechanism.noise = ScriptedLaw(noise)
    return mechanism


def floored(**heights: int) -> FloorCounters:
    counts = np.array([FLOOR + height for height in heights.values()], dtype=np.int64)
    return FloorCounters(pa.array(list(heights)), counts, FLOOR, candidates=7, parts=8)


def rows(release: Any) -> list[tuple[str, int]]:
    keys = release.keys["key"].to_pylist()
    return list(zip(keys, release.counts.to_pylist(), strict=True))
