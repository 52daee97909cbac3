"""Any budget and any non-decreasing sampling: neighbouring rows keep the budget, in integers."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushcount.mechanisms.sampling.filter import OPEN, uniform_bounds, walk
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import Budget

BUDGETS = st.builds(Budget, st.floats(0.2, 20), st.floats(-14, -0.05).map(lambda exponent: 10.0**exponent))


@st.composite
def sampling(draw) -> SamplingTable:
    steps = draw(st.lists(st.fractions(0, 1, max_denominator=1000), min_size=1, max_size=24))
    scale = draw(st.fractions(Fraction(1, 1000), 3, max_denominator=1000)) / max(sum(steps), 1)
    return SamplingTable(tuple(min(Fraction(1), total * scale) for total in accumulate(steps)))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(BUDGETS, sampling(), st.integers(1, 4))
def test_neighbouring_rows_keep_the_budget(budget, scheme, tokens):
    grid = values_grid(budget, tokens)
    rows = SampleRows(grid, scheme, tokens)
    laws = [rows.row(count) for count in range(28)]
    limit = Fraction(budget.delta) * grid.whole
    for count, (old, new) in enumerate(pairwise(laws), start=1):
        assert sum(new.values()) == grid.whole  # nothing is left below the depth
        assert max(grid.excess(new, old), grid.excess(old, new)) <= limit
        assert grid.whole - new.get(0, 0) <= scheme.integer_probability(count, grid.width)
        assert max(new) <= count * tokens


@settings(max_examples=40, deadline=None, derandomize=True)
@given(BUDGETS, sampling(), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), st.integers(1, 60))
def test_the_walk_between_bounds_agrees_with_the_integers(budget, scheme, words, count):
    rows = SampleRows(values_grid(budget), scheme)
    counts = np.full(len(words), count)
    values = walk(rows, counts, uniform_bounds(np.array(words, dtype=np.uint64)))
    shift = rows.grid.width - 64
    for word, value in zip(words, values.tolist(), strict=True):
        if value != OPEN:
            assert rows.draw(count, word << shift) == value
            assert rows.draw(count, ((word + 1) << shift) - 1) == value
