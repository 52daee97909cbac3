"""Rows in closed form where sampling is gentle: they decide as the integers do, and only where they may."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate, pairwise, product

import mpmath
import numpy as np
import pytest

from hushcount.mechanisms.sampling.distribution import SampleDistribution, gentle_values
from hushcount.mechanisms.sampling.filter import OPEN, _gentle_published, uniform_bounds
from hushcount.mechanisms.sampling.gentle import GentleRows, _powers, draw_gentle, rounding
from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, values_grid
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor, Scheme
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import Budget

BUDGETS = [(1.0, 1e-6), (0.5, 1e-9), (3.0, 0.2), (20.0, 1e-3), (0.2, 0.3)]
TINY = [(20.0, 1e-280), (20.0, 1e-200), (15.0, 1e-121)]
SCHEMES: list[Scheme] = [
    EVERY_KEY,
    Ppswor(0.01),
    Ppswor(1e-6),
    Ppswor(1e-9, 2),
    Ppswor(3.0, 0.5),
    Ppswor(0.2, 0),
    Pps(1e-3),
    Pps(1e-9, 2),
    Pps(1e-3, 0.5),
    Pps(1e-9, 1.5),
    SamplingTable((0.0, 0.1, 0.1, 0.9)),
]


def gentle_rows(budget: tuple[float, float], scheme: Scheme) -> tuple[SampleRows, GentleRows]:
    rows = SampleRows(values_grid(Budget(*budget)), scheme)
    return rows, GentleRows.of(rows.grid, scheme, rows.warm_up)


def counts_inside(gentle: GentleRows) -> np.ndarray:
    """The first and last counts of every stretch and some between."""
    found = []
    for first, last in gentle.stretches:
        start, end = first + gentle.warm_up, min(last, 10**12)
        found += [start, start + 1, *np.geomspace(start, end, 4).astype(np.int64)[1:-1].tolist(), end]
    return np.array([count for count in found if count > 0], dtype=np.int64)


class IntegerRow:
    """One row of the integers: what a uniform integer draws, and words close to its boundaries."""

    def __init__(self, rows: SampleRows, count: int) -> None:
        cells = sorted(rows.row(count).items(), reverse=True)
        self.values = [value for value, _ in cells]
        self.ends = list(accumulate(mass for _, mass in cells))
        self.shift = rows.grid.width - 64

    def draws(self, word: int) -> set[int]:
        """The values that uniforms with these first 64 bits can have."""
        first, last = word << self.shift, ((word + 1) << self.shift) - 1
        return {self.values[bisect_right(self.ends, uniform)] for uniform in (first, last)}

    def boundary_words(self) -> list[int]:
        """The first 64 bits just beside every boundary between two values."""
        heads = [end >> self.shift for end in self.ends[:-1]]
        near = [head + away for head in heads for away in (-(head >> 35) - 9, (head >> 35) + 9)]
        return [word for word in near if 0 <= word < 2**64]

    def middle_words(self) -> list[int]:
        """The first 64 bits in the middle of every value."""
        return [(low + high) >> (self.shift + 1) for low, high in pairwise([0, *self.ends])]


EVERYWHERE = [*product(BUDGETS, SCHEMES), *product(TINY, SCHEMES[:3])]


@pytest.mark.parametrize(("budget", "scheme"), EVERYWHERE)
def test_the_closed_form_decides_as_the_integers_do(budget, scheme):
    rows, gentle = gentle_rows(budget, scheme)
    counts = counts_inside(gentle)
    assert len(counts)
    for count in counts.tolist():
        row = IntegerRow(rows, count)
        words = row.boundary_words() + row.middle_words()
        uniforms = uniform_bounds(np.array(words, dtype=np.uint64))
        values = draw_gentle(gentle, np.full(len(words), count), uniforms, OPEN).tolist()
        assert all(
            value == OPEN or row.draws(word) == {value} for word, value in zip(words, values, strict=True)
        )
        assert sum(value != OPEN for value in values) >= 2  # not all left open


def test_outside_its_stretch_the_closed_form_is_wrong():
    """The twin: the rows just below certain sampling are not gentle."""
    rows, gentle = gentle_rows((1.0, 1e-6), Pps(1e-3))
    row, counts = IntegerRow(rows, 1003), np.array([1003])
    assert not gentle.within(counts - rows.warm_up, counts)[0]
    words = row.boundary_words()
    uniforms = uniform_bounds(np.array(words, dtype=np.uint64))
    values = draw_gentle(gentle, np.full(len(words), 1003), uniforms, OPEN).tolist()
    assert any(
        value != OPEN and row.draws(word) != {value} for word, value in zip(words, values, strict=True)
    )


@pytest.mark.parametrize("growth", [1.0005, 1.05, 2.0, 1e8])
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_sampling_is_gentle_where_it_says_so(growth, scheme):
    first, last = scheme.gentle(growth)
    width, slack = 512, 1 << 256
    between = np.geomspace(first, max(first, min(last, 10**9)), 20).astype(np.int64).tolist()
    for count in {*range(first, first + 20), *between, *range(min(last, 10**9) - 20, min(last, 10**9) + 1)}:
        if not first <= count <= last:
            continue
        q = [scheme.integer_probability(w, width) for w in (count - 1, count, count + 1)]
        assert q[1] <= growth * q[0] + slack
        assert (1 << width) - q[0] <= growth * ((1 << width) - q[1]) + slack
        assert q[2] - q[1] <= growth * (q[1] - q[0]) + slack


def test_steep_sampling_is_nowhere_gentle():
    assert Ppswor(0.5).gentle(1.05) == (1, 0)
    assert Ppswor(1e300, 0.99).gentle(1.05) == (1, 0)
    assert Pps(1.0).gentle(1.05)[1] == 0


@pytest.mark.parametrize(("budget", "scheme"), EVERYWHERE)
def test_likely_counts_and_bounds_equal_those_found_count_by_count(budget, scheme):
    law = SampleDistribution.of(Budget(*budget), scheme)
    values = counts_inside(law.gentle) - law.warm_up
    values = values[gentle_values(law.gentle, values) & (values > 0)]
    assert len(values)
    for failure in (0.05, 1e-4):
        likely, *slow = law._estimates(values, failure).tolist()
        assert law.most_likely(values).tolist() == likely
        assert [side.tolist() for side in law.bounds(values, failure)] == slow


@pytest.mark.parametrize("epsilon", [0.003, 0.1, 0.7, 1.9, 5.0, 20.0])
@pytest.mark.parametrize("delta", [1e-280, 1e-200, 1e-121, 1e-31, 1e-9, 1e-3, 0.3, 0.99])
def test_the_integers_are_close_to_the_real_rows(epsilon, delta):
    rows, gentle = gentle_rows((epsilon, delta), Ppswor(1e-9))
    assert rounding(rows.grid, rows.warm_up) <= 2.0**-60
    assert gentle.stretches
    coarse = replace(rows.grid, width=8, step=1)
    assert rounding(coarse, rows.warm_up) > 2.0**-60
    assert GentleRows.of(coarse, Ppswor(1e-9), rows.warm_up).stretches == ()


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 20.0])
@pytest.mark.parametrize("delta", [1e-280, 1e-200, 1e-121, 1e-8])
def test_powers_have_the_precision_that_the_margins_grant(epsilon, delta):
    rows, _ = gentle_rows((epsilon, delta), EVERY_KEY)
    mp = mpmath.mp.clone()
    mp.dps = 60
    ratio = mp.mpf(rows.grid.ratio) / (1 << rows.grid.shift)
    scale = mp.mpf(rows.grid.step) / rows.grid.whole / (ratio - 1)
    found = _powers(rows.grid, rows.warm_up)
    for m in range(1, rows.warm_up + 4, 1 + rows.warm_up // 50):
        power = ratio**m
        limits = (1e290, 1.1, 10.0)  # masses above 1 are read beside smaller ones only
        for each, real, limit in zip(found, (power, 1 / power, scale * (power - 1)), limits, strict=True):
            if 1e-290 < real < limit:
                assert abs(mp.mpf(float(each[m])) / real - 1) <= 2.0**-46
            elif real >= limit:
                assert each[m] >= limit * 0.99


@pytest.mark.parametrize(("budget", "scheme"), EVERYWHERE)
def test_keys_alone_are_decided_in_closed_form_as_the_integers_do(budget, scheme):
    rows = SampleRows(keys_grid(Budget(*budget)), scheme)
    counts = counts_inside(GentleRows.of(rows.grid, scheme, rows.warm_up))
    shift = rows.grid.width - 64
    for count in counts.tolist():
        (mass,) = rows.reporting(count, count)
        near = (mass >> shift) + np.array([-(mass >> shift + 30) - 9, (mass >> shift + 30) + 9], dtype=object)
        words = np.array([word for word in near.tolist() if 0 <= word < 2**64], dtype=np.uint64)
        published, unsettled = _gentle_published(rows, np.full(len(words), count), uniform_bounds(words))
        assert not len(unsettled)
        assert published.tolist() == [word < mass >> shift for word in words.tolist()]
