"""Closed-form output distributions for counts whose sampling probability varies slowly.

There a row depends on the probabilities of three counts alone, so rows before it need not be computed.
Proof: docs/proofs/sampling/sample.md, section 8.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Mask
from hushcount.mechanisms.sampling.bounds import Bounds
from hushcount.mechanisms.sampling.rows import Grid
from hushcount.mechanisms.sampling.schemes import Scheme

RELATIVE = 2.0**-40  # of masses: q has 2^-44, powers of E 2^-46, a peak missed by a tie 2^-42
ABSOLUTE = 2.0**-56  # of the integers, which lie within 2^-60 of the real numbers


@dataclass(frozen=True, slots=True)
class GentleRows:
    """S_i(h), the mass of values above h in row i, for rows between the pairs of counts in `stretches`.

    With c = step / (E - 1): S = min{c (E^n - 1), q_i - max(A E^-n - c, 0)}, n = i - h, where A is the peak of
    (q_(h+m) + 2 c - c E^m) E^m over m <= n.
    """

    grid: Grid
    scheme: Scheme
    warm_up: int
    stretches: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, grid: Grid, scheme: Scheme, warm_up: int) -> GentleRows:
        """Return the stretches of counts in which a scheme varies slowly; the last is that of q = 1."""
        found = [scheme.gentle((1 + grid.floats[0]) / 2)]
        certain = scheme.certain_from(grid.width)
        if certain is not None:
            found.append((certain + 1, np.iinfo(np.int64).max))
        settled = tuple((first + warm_up, last) for first, last in found if last - first > 2 * warm_up)
        return cls(grid, scheme, warm_up, settled if rounding(grid, warm_up) <= ABSOLUTE / 16 else ())

    @property
    def constants(self) -> tuple[float, float, float]:
        """E - 1, log E and c = step / (E - 1)."""
        _, excess, step = self.grid.floats
        return excess, math.log1p(excess), step / excess

    def within(self, lowest: Counts, highest: Counts) -> Mask:
        """Return whether all rows from `lowest` to `highest` lie in one stretch."""
        inside = [(lowest >= first) & (highest <= last) for first, last in self.stretches]
        return np.logical_or.reduce(inside) if inside else np.zeros(len(lowest), dtype=np.bool_)

    def above(self, heights: Counts, counts: Counts) -> Floats:
        """Return S at pairs of a height and a count."""
        rising, falling = self.branches(heights, counts)
        return np.minimum(rising, falling)

    def branches(self, heights: Counts, counts: Counts) -> tuple[Floats, Floats]:
        """Return the two terms of which S is the smaller one."""
        _, _, scale = self.constants
        _, inverse, rising = _powers(self.grid, self.warm_up)
        steps = counts - heights
        published = self.scheme.probability(counts)
        peak, size = self._peak(heights, steps, published)
        below = np.maximum(size * inverse[steps - peak] - scale, 0.0)
        return rising[steps], published - below

    def peak(self, heights: Counts) -> Counts:
        """Return the m of the peak above each height."""
        far = np.full(len(heights), self.warm_up)
        peak, _ = self._peak(heights, far, self.scheme.probability(heights))
        return peak

    def steps_to(self, counts: Counts, masses: Floats) -> Counts:
        """Return the first n with S_i(i - n) above each mass, for probabilities that do not change."""
        _, rate, scale = self.constants
        power, _, _ = _powers(self.grid, self.warm_up)
        published = self.scheme.probability(counts)
        peak = self._turn(published)
        size = published + 2 * scale - scale * power[peak]
        beyond = np.maximum(size, scale) / (np.maximum(published - masses, 0.0) + scale)
        falling = peak + np.log(beyond) / rate
        rising = np.log1p(masses / scale) / rate
        steps = np.where(rising < peak, rising, np.maximum(rising, falling))
        first: Counts = np.clip(np.floor(steps) + 1, 1, self.warm_up).astype(np.int64)
        return first

    def margin(self, published: Floats) -> Floats:
        """Return how far the second term may lie from the integers."""
        margins: Floats = RELATIVE * (published + 4 * self.constants[2]) + ABSOLUTE
        return margins

    def _peak(self, heights: Counts, steps: Counts, guess: Floats) -> tuple[Counts, Floats]:
        """Return the m of the peak, climbed to from a guess of the probability, and its size over E^m."""
        peak = np.minimum(self._turn(guess), steps)
        peak = np.minimum(self._turn(self.scheme.probability(heights + peak)), steps)
        size = self._size(heights, peak)
        climbing = np.arange(len(peak))
        while len(climbing):
            here, bottom, end = peak[climbing], heights[climbing], steps[climbing]
            move = self._way_up(bottom, here, end, size[climbing])
            peak[climbing] = here + move
            climbing = climbing[move != 0]
            size[climbing] = self._size(heights[climbing], peak[climbing])
        return peak, size

    def _way_up(self, heights: Counts, peak: Counts, steps: Counts, size: Floats) -> Counts:
        """Return 1 or -1 if that neighbour is larger by more than rounding, else 0.

        There is one peak only.
        """
        _, _, scale = self.constants
        power, inverse, _ = _powers(self.grid, self.warm_up)
        limit = size + 2.0**-43 * (np.abs(size) + 2 * scale)
        ahead = (self._size(heights, peak + 1) * power[1] > limit) & (peak < steps)
        behind = (self._size(heights, np.maximum(peak - 1, 0)) * inverse[1] > limit) & (peak > 0)
        return np.where(ahead, 1, np.where(behind, -1, 0))

    def _size(self, heights: Counts, place: Counts) -> Floats:
        """Return the size of the peak at some places over E^m."""
        power, _, _ = _powers(self.grid, self.warm_up)
        _, _, scale = self.constants
        sizes: Floats = self.scheme.probability(heights + place) + scale * (2 - power[place])
        return sizes

    def _turn(self, published: Floats) -> Counts:
        """Return the m of the peak for a constant probability."""
        excess, rate, scale = self.constants
        turn = np.ceil(np.log((published + 2 * scale) / (scale * (excess + 2))) / rate)
        return np.clip(turn, 0, self.warm_up).astype(np.int64)


def rounding(grid: Grid, steps: int) -> float:
    """Return how far integers and real numbers may lie apart after `steps`: 5 (E^steps - 1)/(E - 1) units."""
    excess = grid.floats[1]
    exponent = steps * math.log1p(excess) - grid.width * math.log(2)  # E^steps alone may be too large a float
    return math.exp(min(math.log(5 / excess) + exponent, 0.0))


def draw_gentle(rows: GentleRows, counts: Counts, uniforms: Bounds, unknown: int) -> Counts:
    """Return values at uniforms between bounds, 0 for not published.

    `unknown` where the bounds do not decide.
    """
    low, high = uniforms.low, uniforms.high
    published = rows.scheme.probability(counts)
    slack = rows.margin(published)
    values = np.full(len(counts), unknown, dtype=np.int64)
    values[low >= published + slack] = 0
    alive = np.flatnonzero(high < published - slack)
    steps = rows.steps_to(counts[alive], low[alive])
    for _ in range(6):
        bottom, top = _cell(rows, counts[alive], steps, slack[alive])
        under, over = high[alive] < bottom[0], low[alive] >= top[1]
        inside = (low[alive] >= bottom[1]) & (high[alive] < top[0])
        values[alive[inside]] = counts[alive[inside]] - steps[inside] + 1
        moved = np.clip(steps + over.astype(np.int64) - under, 1, rows.warm_up)
        again = moved != steps
        alive, steps = alive[again], moved[again]
        if not len(alive):
            break
    return values


def _cell(
    rows: GentleRows, counts: Counts, steps: Counts, slack: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return bounds of the masses above the value `steps - 1` below the count, and above the next lower."""
    bounds = []
    for down in (steps - 1, steps):
        rising, falling = rows.branches(counts - down, counts)
        lower = np.minimum(rising * (1 - RELATIVE), falling - slack)
        bounds.append((lower, np.minimum(rising * (1 + RELATIVE), falling + slack)))
    return bounds[0], bounds[1]


@lru_cache(maxsize=8)
def _powers(grid: Grid, last: int) -> tuple[Floats, Floats, Floats]:
    """Return E^m, E^-m and c (E^m - 1) for m = 0..last + 3; infinite where no float is large enough.

    Peaks lie where c E^m is at most 1. Only the third is read where it is infinite, beside a smaller number.
    """
    _, excess, step = grid.floats
    main, rest = (np.arange(last + 4) * part for part in _logarithm(grid))
    with np.errstate(over="ignore", under="ignore"):
        power = np.exp(main) * np.exp(rest)
        rising = np.expm1(main) * np.exp(rest) + np.expm1(rest)
        return power, np.exp(-main) * np.exp(-rest), step / excess * rising


def _logarithm(grid: Grid) -> tuple[float, float]:
    """Return log E as a float of 35 bits, whose multiples up to 2^17 are exact, and the small rest of it."""
    with decimal.localcontext(prec=60):
        rate = (Decimal(grid.ratio) / (1 << grid.shift)).ln()
        fraction, exponent = math.frexp(rate)
        main = math.ldexp(round(fraction * 2**35), exponent - 35)
        return main, float(rate - Decimal(main))
