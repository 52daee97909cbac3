"""Many keys at once: the walk of `SampleRows.draw` followed between bounds in floating point.

The distribution is that of the integer rows. A decision is taken here only if lower and upper bound of the
walk agree on it; every bound is widened by more than its rounding error, so the integer walk decides alike.
The keys left open (about one in 10^10) are drawn by the integer walk.
Proof: docs/proofs/sampling/sample.md, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hushcount.compiled.arrays import Counts, Mask, Words
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.sampling.bounds import (
    WIDEN,
    Bounds,
    Window,
    entered_bounds,
    sampling_bounds,
)
from hushcount.mechanisms.sampling.gentle import GentleRows, draw_gentle
from hushcount.mechanisms.sampling.rows import SampleRows
from hushcount.noise.bits import WORD, uniform_from

if TYPE_CHECKING:
    from hushcount.noise.bits import Bits


BLOCK = 1 << 20  # floats in memory at once
LARGEST_BLOCK = 1 << 16  # keys walked at once
OPEN = -1


@dataclass(frozen=True, slots=True)
class Uniforms:
    """A uniform number for each key of some counts, by its first 64 bits.

    Of keys that are `sampled` already it is uniform below the probability of having been sampled.
    """

    rows: SampleRows
    counts: Counts
    words: Words
    sampled: bool = False

    def where(self, chosen: Mask | Counts | slice) -> Uniforms:
        """Return the numbers of some keys."""
        return replace(self, counts=self.counts[chosen], words=self.words[chosen])

    def bounds(self) -> Bounds:
        """Return bounds of the numbers."""
        whole = uniform_bounds(self.words)
        if not self.sampled:
            return whole
        below, unit = sampling_bounds(self.rows, self.counts), 2.0 ** (2 - self.rows.grid.width)
        low = np.maximum(whole.low * below.low * (1 - 2.0**-50) - unit, 0.0)
        return Bounds(low, whole.high * below.high * (1 + 2.0**-50))

    def exactly(self, place: int, bits: Bits) -> int:
        """Return one number times 2^width, an integer, from further bits."""
        width, word = self.rows.grid.width, int(self.words[place])
        if not self.sampled:
            return uniform_from(word, width, bits)
        below = self.rows.scheme.integer_probability(int(self.counts[place]), width)
        return uniform_from(word, width + WORD, bits) * below >> (width + WORD)


def draw_values(rows: SampleRows, counts: Counts, bits: Bits, sampled: bool = False) -> Counts:
    """Return tokens of independent keys with these counts; 0 is not published.

    Keys that are `sampled` already get them given that they were sampled.
    """
    values = np.zeros(len(counts), dtype=np.int64)
    steady = _steady(rows, counts)
    noise = TruncatedGeometricNoise.of(rows.grid).sample(int(steady.sum()), bits)
    values[steady] = np.maximum(counts[steady] - noise, 0)
    places = np.flatnonzero(~steady)
    drawn = Uniforms(rows, counts[places], bits.words(len(places)), sampled)
    reached = drawn.bounds().low < sampling_bounds(rows, drawn.counts).high
    places, drawn = places[reached], drawn.where(reached)
    values[places] = _gentle(drawn)
    unsettled = values[places] == OPEN
    places, drawn = places[unsettled], drawn.where(unsettled)
    order = np.argsort(drawn.counts, kind="stable")
    places, drawn = places[order], drawn.where(order)
    for block in _blocks(rows, drawn.counts):
        values[places[block]] = _settled(drawn.where(block), bits)
    return values


def draw_published(rows: SampleRows, counts: Counts, bits: Bits) -> Mask:
    """Return whether independent keys with these counts are published."""
    words = bits.words(len(counts))
    published, unsettled = _gentle_published(rows, counts, uniform_bounds(words))
    order = unsettled[np.argsort(counts[unsettled], kind="stable")]
    for block in _blocks(rows, counts[order]):
        places = order[block]
        after, uniforms = Window.of(rows, counts[places]).at(counts[places]), uniform_bounds(words[places])
        published[places] = uniforms.high < after.low
        for place in places[~published[places] & (uniforms.low < after.high)].tolist():
            (mass,) = rows.reporting(int(counts[place]), int(counts[place]))
            published[place] = uniform_from(int(words[place]), rows.grid.width, bits) < mass
    return published


def _gentle_published(rows: SampleRows, counts: Counts, uniforms: Bounds) -> tuple[Mask, Counts]:
    """Return which keys are published for sure, and the places of those that a window has to decide.

    Where the sampling probability varies slowly, a key is published with that probability.
    """
    inside = GentleRows.of(rows.grid, rows.scheme, rows.warm_up).within(counts, counts)
    sampling = sampling_bounds(rows, counts)
    published = inside & (uniforms.high < sampling.low)
    return published, np.flatnonzero(~published & (uniforms.low < sampling.high))


def uniform_bounds(words: Words) -> Bounds:
    """Return bounds of uniform numbers whose first 64 bits are given."""
    low = words.astype(np.float64) * 2.0**-64
    return Bounds(low * (1 - 2.0**-52), (low + 2.0**-64) * (1 + 2.0**-51))


def walk(rows: SampleRows, counts: Counts, uniforms: Bounds) -> Counts:
    """Return tokens where the bounds agree, OPEN elsewhere."""
    window = Window.of(rows, counts)
    after = window.at(counts)
    published = uniforms.high < after.low
    values = np.full(len(counts), OPEN, dtype=np.int64)
    values[uniforms.low >= after.high] = 0
    alive = np.flatnonzero(published)
    ends, heights, mass = window.back(rows, counts[alive], uniforms.where(published))
    alive, heights, mass = alive[ends], heights[ends], mass.where(ends)
    values[alive] = heights
    if rows.tokens > 1:
        entered = entered_bounds(rows, window.at(heights - 1), window.at(heights))
        values[alive] = _tokens(rows.tokens, heights, mass, entered)
    return values


def _tokens(tokens: int, heights: Counts, mass: Bounds, entered: Bounds) -> Counts:
    """Return the tokens at these masses from the top of the highest value, OPEN where the bounds disagree."""
    with np.errstate(divide="ignore"):
        least = np.floor(tokens * mass.low / entered.high * (1 - WIDEN))
        most = np.floor(tokens * mass.high / entered.low * (1 + WIDEN))
    part = np.clip(least, 0, tokens - 1)
    agreed = part == np.clip(most, 0, tokens - 1)
    return np.where(agreed, heights * tokens - part.astype(np.int64), OPEN)


def _steady(rows: SampleRows, counts: Counts) -> Mask:
    """Return which counts lie so high that their rows are the stationary one."""
    start = rows.stationary_from
    if start is None or rows.tokens > 1:
        return np.zeros(len(counts), dtype=np.bool_)
    return counts >= start


def _gentle(drawn: Uniforms) -> Counts:
    """Return values where the sampling probability varies slowly, OPEN elsewhere or if bounds disagree."""
    rows, counts = drawn.rows, drawn.counts
    values = np.full(len(counts), OPEN, dtype=np.int64)
    if rows.tokens > 1:
        return values
    gentle = GentleRows.of(rows.grid, rows.scheme, rows.warm_up)
    places = np.flatnonzero(gentle.within(counts - rows.warm_up, counts))
    for first in range(0, len(places), LARGEST_BLOCK):
        block = places[first : first + LARGEST_BLOCK]
        values[block] = draw_gentle(gentle, counts[block], drawn.where(block).bounds(), OPEN)
    return values


def _blocks(rows: SampleRows, counts: Counts) -> Iterator[slice]:
    """Yield slices of sorted counts that a window of bounded size serves."""
    if not len(counts):
        return
    pieces = counts // rows.warm_up
    number = np.cumsum(np.diff(pieces, prepend=pieces[0]) > 0)
    groups = number // max(1, BLOCK // (4 * rows.warm_up))
    cuts = [0, *(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(counts)]
    for start, stop in pairwise(cuts):
        for first in range(start, stop, LARGEST_BLOCK):
            yield slice(first, min(first + LARGEST_BLOCK, stop))


def _settled(drawn: Uniforms, bits: Bits) -> Counts:
    """Return tokens of one block; keys that the bounds leave open are drawn by the integer walk."""
    rows = drawn.rows
    values = walk(rows, drawn.counts, drawn.bounds())
    for place in np.flatnonzero(values == OPEN).tolist():
        values[place] = rows.draw(int(drawn.counts[place]), drawn.exactly(place, bits))
    return values
