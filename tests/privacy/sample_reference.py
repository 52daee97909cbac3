"""Algorithms 3, 4 and 5 of Cohen et al. 2021 in exact rationals: slow obvious oracles of private
weighted sampling.

A row is a dict from output to probability; output 0 is "not published".
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

Row = dict[object, Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


class Step(NamedTuple):
    """From the row of one count to the next: masses above each value are mapped by `moved`."""

    ratio: Fraction
    delta: Fraction
    before: Fraction
    after: Fraction
    rest: Fraction

    def moved(self, mass: Fraction) -> Fraction:
        lower = max(self.before - mass - self.rest, ZERO) / self.ratio
        return min(self.delta + self.ratio * mass, self.after - lower)

    def turning_points(self) -> list[Fraction]:
        """Masses from the top at which the slope changes: c, where the curves cross, and b."""
        # delta + E s = after - (before - s - rest) / E, or = after where the lower curve is flat
        cross = (self.ratio * (self.after - self.delta) - self.before + self.rest) / (self.ratio**2 - 1)
        flat = (self.after - self.delta) / self.ratio
        return sorted({point for point in (cross, flat, self.before - self.rest) if 0 < point < self.before})


def reporting(ratio: Fraction, delta: Fraction, sampling: Sequence[Fraction]) -> list[Fraction]:
    """Algorithm 3: pi_0, pi_1, ..."""
    masses = [ZERO]
    for probability in sampling:
        before = masses[-1]
        masses.append(min(probability, ratio * before + delta, 1 + (before + delta - 1) / ratio))
    return masses


def keys_only(ratio: Fraction, delta: Fraction, sampling: Sequence[Fraction]) -> list[Row]:
    return [{0: 1 - mass, 1: mass} for mass in reporting(ratio, delta, sampling)]


def algorithm_4(ratio: Fraction, delta: Fraction, sampling: Sequence[Fraction]) -> list[Row]:
    """Algorithm 4 as printed: lower bounds by prefix sums, then fill from the top."""
    published = reporting(ratio, delta, sampling)
    rows: list[list[Fraction]] = [[ONE]]
    for i in range(1, len(published)):
        old = rows[-1]
        row = [ZERO] * (i + 1)
        row[0] = 1 - published[i]
        extra = max(old[0] / ratio - row[0], ZERO)
        for j in range(1, i):
            row[j] = max((sum(old[1 : j + 1]) - delta) / ratio - sum(row[1:j]) + extra, ZERO)
        left = published[i] - sum(row[1:])
        for j in range(i, 0, -1):
            most = ratio * sum(old[j:]) + delta - sum(row[j + 1 :])
            added = min(most - row[j], left)
            row[j] += added
            left -= added
        rows.append(row)
    return [dict(enumerate(row)) for row in rows]


def algorithm_5(
    ratio: Fraction, delta: Fraction, sampling: Sequence[Fraction], printed: bool = False
) -> list[tuple[Row, Row]]:
    """Algorithm 5, discretised: each pair of neighbouring rows over their common breakpoints.

    A row is a list of cells from the top; cells are split where the slope changes. `printed` takes the
    breakpoint b as the paper prints it.
    """
    published = reporting(ratio, delta, sampling)
    cells: list[Fraction] = []
    pairs = []
    for before, after in pairwise(published):
        lost = max(1 - before - ratio * (1 - after), ZERO)
        rest = delta - (lost / ratio if printed else lost)
        step = Step(ratio, delta, before, after, rest)
        split = _split(cells, step.turning_points())
        moved = [step.moved(mass) for mass in _above(split)]
        new = [moved[0], *(high - low for low, high in pairwise(moved))]
        old_row: Row = dict(enumerate([1 - before, ZERO, *split]))
        new_row: Row = dict(enumerate([1 - after, *new]))
        pairs.append((old_row, new_row))
        cells = new
    return pairs


def excess(row: Row, other: Row, ratio: Fraction) -> Fraction:
    """The largest value of P(J) - E Q(J) over all sets J: the sum of the positive terms."""
    outputs = {*row, *other}
    return sum((max(row.get(x, ZERO) - ratio * other.get(x, ZERO), ZERO) for x in outputs), ZERO)


def worst_subset(row: Row, other: Row, ratio: Fraction) -> Fraction:
    """The same by trying every subset."""
    outputs = sorted({*row, *other}, key=str)
    return max(
        sum((row.get(x, ZERO) - ratio * other.get(x, ZERO) for x in chosen), ZERO)
        for size in range(len(outputs) + 1)
        for chosen in combinations(outputs, size)
    )


def _split(cells: list[Fraction], points: list[Fraction]) -> list[Fraction]:
    bounds = sorted({*_above(cells), *points})
    return [high - low for low, high in pairwise(bounds)]


def _above(cells: list[Fraction]) -> list[Fraction]:
    total, sums = ZERO, [ZERO]
    for cell in cells:
        total += cell
        sums.append(total)
    return sums
