"""Many keys at once: the walk of `Rows.draw` followed between bounds in floating point.

The law is that of the integer rows. A decision is taken here only where lower and upper bound of the walk
agree on it; every bound is widened by more than its rounding error, so the integer walk decides alike. The
keys left open (about one in 10^10) are drawn by the integer walk. Proof: docs/proofs/sample.md, section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hushcount.mechanisms.sample_rows import Rows
from hushcount.mechanisms.truncated_geometric import TruncatedGeometricLaw, uniform_from
from hushcount.sketches.sampling_schemes import RELATIVE_ERROR

if TYPE_CHECKING:
    from hushcount.randomness import Bits

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

WIDEN = 2.0**-48  # a step makes fewer than sixteen roundings of 2^-53, of numbers up to 1 + E
BLOCK = 1 << 21  # floats held at once
OPEN = -1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower and upper bounds, element by element."""

    low: Floats
    high: Floats

    def where(self, chosen: Mask | npt.NDArray[np.intp]) -> Bounds:
        """The bounds of some elements."""
        return Bounds(self.low[chosen], self.high[chosen])


def draw_values(rows: Rows, counts: Counts, bits: Bits) -> Counts:
    """Sanitised values of independent keys with these counts; 0 is not published."""
    values = np.zeros(len(counts), dtype=np.int64)
    steady = _steady(rows, counts)
    noise = TruncatedGeometricLaw.of(rows.grid).sample(int(steady.sum()), bits)
    values[steady] = np.maximum(counts[steady] - noise, 0)
    places = np.flatnonzero(~steady)
    words = bits.words(len(places))
    sampled = uniform_bounds(words).low < sampling_bounds(rows, counts[places]).high
    places, words = places[sampled], words[sampled]
    size = max(1, BLOCK // (2 * rows.warm_up + 4))
    for start in range(0, len(places), size):
        block = slice(start, start + size)
        values[places[block]] = _settled(rows, counts[places[block]], words[block], bits)
    return values


def uniform_bounds(words: Words) -> Bounds:
    """Bounds of uniform numbers whose first 64 bits are given."""
    low = words.astype(np.float64) * 2.0**-64
    return Bounds(low * (1 - 2.0**-52), (low + 2.0**-64) * (1 + 2.0**-51))


def sampling_bounds(rows: Rows, counts: Counts) -> Bounds:
    """Bounds of the integer sampling probabilities."""
    probability = rows.scheme.probability(counts)
    low = np.maximum(probability * (1 - RELATIVE_ERROR) - 2.0 ** (2 - rows.grid.width), 0.0)
    certain = rows.scheme.certain_from
    if certain is not None:
        low = np.where(counts >= certain, 1.0, low)
    return Bounds(low, np.minimum(probability * (1 + RELATIVE_ERROR), 1.0))


def walk(rows: Rows, counts: Counts, uniforms: Bounds) -> Counts:
    """Values where the bounds agree, OPEN elsewhere."""
    reporting = _reporting(rows, counts)
    published = uniforms.high < reporting[-1].low
    values = np.full(len(counts), OPEN, dtype=np.int64)
    values[uniforms.low >= reporting[-1].high] = 0
    alive, mass = np.flatnonzero(published), uniforms.where(published)
    for step in range(1, len(reporting)):
        mass = _back(rows, mass, reporting[-1 - step].where(alive), reporting[-step].where(alive))
        ends, goes_on = mass.high < 0, mass.low >= 0
        values[alive[ends]] = counts[alive[ends]] - step + 1
        alive, mass = alive[goes_on], mass.where(goes_on)
        if not len(alive):
            break
    return values


def _steady(rows: Rows, counts: Counts) -> Mask:
    start = rows.stationary_from
    return np.zeros(len(counts), dtype=np.bool_) if start is None else counts >= start


def _settled(rows: Rows, counts: Counts, words: Words, bits: Bits) -> Counts:
    values = walk(rows, counts, uniform_bounds(words))
    for place in np.flatnonzero(values == OPEN).tolist():
        uniform = uniform_from(int(words[place]), rows.grid.width, bits)
        values[place] = rows.draw(int(counts[place]), uniform)
    return values


def _constants(rows: Rows) -> tuple[float, float]:
    return rows.grid.ratio / (1 << rows.grid.shift), rows.grid.step / rows.grid.whole


def _reporting(rows: Rows, counts: Counts) -> list[Bounds]:
    """Bounds of pi at the counts and at the `warm_up` counts before each, the last entry being the counts."""
    zero = np.zeros(len(counts))
    bounds, kept = Bounds(zero, zero), []
    for back in range(2 * rows.warm_up, -1, -1):
        bounds = _report(rows, bounds, sampling_bounds(rows, counts - back))
        if back <= rows.warm_up:
            kept.append(bounds)
    return kept


def _report(rows: Rows, before: Bounds, sampling: Bounds) -> Bounds:
    """Grid.report between bounds: relative widening where values are small, absolute near 1."""
    ratio, step = _constants(rows)
    low = np.minimum(
        (step + ratio * before.low) * (1 - WIDEN), 1 - np.maximum(1 - before.low - step, 0.0) / ratio - WIDEN
    )
    high = np.minimum(
        (step + ratio * before.high) * (1 + WIDEN),
        1 - np.maximum(1 - before.high - step, 0.0) / ratio + WIDEN,
    )
    full = before.low + step >= 1 + WIDEN  # nothing is left to withhold
    low = np.where(full, 1.0, np.maximum(low, 0.0))
    return Bounds(np.minimum(sampling.low, low), np.minimum(sampling.high, high))


def _back(rows: Rows, mass: Bounds, before: Bounds, after: Bounds) -> Bounds:
    """Grid.back between bounds."""
    ratio, step = _constants(rows)
    margin = WIDEN * (1 + ratio)
    least = np.clip(step - (1 - before.low) + ratio * (1 - after.high) - margin, 0.0, step)
    most = np.clip(step - (1 - before.high) + ratio * (1 - after.low) + margin, 0.0, step)
    rising_low = (mass.low - step) / ratio - WIDEN * (mass.low + step)
    rising_high = (mass.high - step) / ratio + WIDEN * (mass.high + step)
    falling_low = before.low - most - ratio * (after.high - mass.low) - margin
    falling_high = before.high - least - ratio * (after.low - mass.high) + margin
    return Bounds(np.maximum(rising_low, falling_low), np.maximum(rising_high, falling_high))
