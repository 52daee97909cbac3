"""Likelihoods of many values at once: equal to those followed one value and one count at a time."""

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.privacy import Budget
from hushcount.shapes import Histogram

SCHEMES = [
    EVERY_KEY,
    Pps(0.01),
    Pps(1e-4, 2),
    Pps(0.05, 0.3),
    Ppswor(0.02),
    Ppswor(0.3, 0.5),
    Ppswor(1e-5, 2),
]


def one_by_one(known, value, failure):
    """The same estimates from whole rows, count by count."""
    likely = least = most = None
    best = 0.0
    for count in range(value, value + known.depth):
        (row,) = known.rows_at(np.array([count]))
        published, place = known.reporting([count])[0], known.depth - 1 - (count - value)
        if row[place] > best * (1 + 1e-9):
            best, likely = row[place], count
        if least is None and row[place:].sum() >= failure / 2 * published:
            least = count
        if row[: place + 1].sum() >= failure / 2 * published:
            most = count
    return likely, least, most


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_estimates_are_those_of_whole_rows(scheme):
    known = SampleDistribution.of(Budget(0.8, 1e-4), scheme)
    values = np.array([1, 2, 3, 7, 20, 40, 41, 97, 99, 100, 101, 130, 500])
    expected = [one_by_one(known, value, 0.05) for value in values.tolist()]
    assert np.transpose(known._estimates(values, 0.05)).tolist() == [list(each) for each in expected]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_reporting_is_that_of_the_integers(scheme):
    budget = Budget(0.8, 1e-4)
    rows, counts = (
        SampleRows(values_grid(budget), scheme),
        [1, 2, 5, 30, 31, 95, 99, 100, 101, 140, 10**4, 10**6],
    )
    exact = [rows.reporting(count, count)[0] / rows.grid.whole for count in counts]
    found = SampleDistribution.of(budget, scheme).reporting(counts)
    assert found == pytest.approx(exact, rel=5e-13, abs=5e-15)


def test_many_keys_for_which_no_formula_holds_are_published():
    """Counts that all need steps: the work of a key is bounded, and the kernels walk many keys at once."""
    mechanism = PrivateSample(Budget(1e-3, 1e-8), scheme=Pps(1e-5))
    counts = np.random.default_rng(1).integers(90_000, 130_000, 20_000)
    shape = Histogram(pa.array(np.arange(len(counts))), counts)
    assert mechanism.release(shape, SeededBits(2)).table.num_rows > 15_000
