"""What the authors of Cohen et al. 2021 test of their sanitiser, asked of ours: fourteen cases.

Their sampler gets one key after the other, ours all at once; a delta that constrains nothing stands for their
delta of 1. Chances of a false alarm are below 1e-9.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import hushcount as hc
from hushcount.mechanisms.sampling.existing import SanitisedSample
from hushcount.mechanisms.sampling.rows import SampleRows, keys_grid, values_grid
from hushcount.mechanisms.sampling.sample import PrivateSample, PrivateSampleKeys
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget
from hushcount.shapes import Histogram, Public

KINDS = [PrivateSampleKeys, PrivateSample]
LARGE_DELTA = 0.9  # above every sampling probability below, so that it takes nothing from them


def ones(keys: int) -> Histogram:
    """So many keys of count 1."""
    return Histogram(pa.array(np.arange(keys)), np.ones(keys, np.int64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", [Ppswor(100.0), Pps(100.0)], ids=["ppswor", "priority"])
def test_a_key_of_one_event_is_left_out_at_a_small_delta(kind, scheme):
    mechanism = kind(Budget(0.1, 1e-10), scheme=scheme)
    assert mechanism.rows.reporting(1, 1)[0] / mechanism.rows.grid.whole <= 1e-10
    assert len(mechanism.release(ones(1), system_bits())) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", [Ppswor(math.log(2)), Pps(0.5)], ids=["ppswor", "priority"])
def test_a_delta_that_constrains_nothing_leaves_the_sampling_probability(kind, scheme):
    keys = 20_000
    published = len(kind(Budget(0.1, LARGE_DELTA), scheme=scheme).release(ones(keys), system_bits()))
    least, most = (stats.binom(keys, 0.5).ppf(5e-10), stats.binom(keys, 0.5).isf(5e-10))
    assert least <= published <= most


@pytest.mark.parametrize("counted", [False, True], ids=["keys", "counts"])
@pytest.mark.parametrize("scheme", [Ppswor(0.5), Pps(0.5)], ids=["ppswor", "priority"])
def test_a_delta_that_constrains_nothing_leaves_an_existing_sample_as_it_is(counted, scheme):
    counts = hc.Exact()
    counts.update(np.arange(2000))
    sample = hc.WeightedSample.of(counts, scheme)
    release = SanitisedSample(Budget(0.1, LARGE_DELTA), sample.public()).release(
        sample.shape(), system_bits()
    )
    assert sorted(release.table["key"].to_pylist()) == sorted(sample.keys.to_pylist())
    assert 700 < len(release) < 1300
    if counted:  # a count of 1 can only be published as 1
        assert set(release.table["sanitised"].to_pylist()) == {1}


def test_reporting_probabilities_are_probabilities_and_grow_with_the_count():
    small = SampleRows(keys_grid(Budget(0.1, 0.5**30)), EVERY_KEY)
    assert small.reporting(1, 1)[0] == small.grid.step  # delta, as it is written in decimals
    assert small.grid.step / small.grid.whole == pytest.approx(0.5**30, rel=1e-15)
    large = SampleRows(keys_grid(Budget(0.1, LARGE_DELTA)), Pps(0.5))
    assert large.reporting(1, 1)[0] == large.grid.whole // 2
    rows = SampleRows(keys_grid(Budget(0.1, 0.5**10)), Ppswor(1.0))
    masses = [rows.reporting(count, count)[0] for count in range(0, 1000, 10)]
    assert masses[0] == 0
    assert all(before <= after <= rows.grid.whole for before, after in pairwise(masses))
    assert masses[-1] >= rows.grid.whole - (rows.grid.whole >> 60)


def test_every_row_of_sanitised_counts_is_a_distribution():
    rows = SampleRows(values_grid(Budget(0.1, 0.5**20)), Ppswor(0.5))
    for count in range(100, 1001, 300):
        row = rows.row(count)
        assert sum(row.values()) == rows.grid.whole
        assert all(mass > 0 for mass in row.values())
        assert max(row) <= count


def test_the_scheme_of_an_existing_sample_is_the_one_it_is_sanitised_by():
    assert SanitisedSample(Budget(1.0, 1e-6), Public(scheme=Pps(0.5))).scheme == Pps(0.5)
