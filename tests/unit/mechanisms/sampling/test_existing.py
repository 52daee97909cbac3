"""Existing samples: the draw given the sample equals the integers, calibration, refusals."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import DictatedBits, SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.registry import MECHANISMS, prepare
from hushcount.mechanisms.sampling.existing import SanitisedSample
from hushcount.mechanisms.sampling.filter import Uniforms, draw_values
from hushcount.mechanisms.sampling.rows import SampleRows, values_grid
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.privacy import USER, Budget
from hushcount.shapes import Public
from hushcount.shapes.samples import BottomKeys, SampledCounts

SCHEMES = [EVERY_KEY, Pps(0.01), Ppswor(0.001, 2), SamplingTable([0.0, 0.1, 0.1, 0.9])]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_bounds_of_the_uniforms_hold_the_integers(scheme):
    rows = SampleRows(values_grid(Budget(1.0, 1e-6)), scheme)
    counts = np.array([2, 3, 17, 400, 10**6, 10**12])
    words = SeededBits(3).words(len(counts))
    drawn = Uniforms(rows, counts, words, sampled=True)
    bounds = drawn.bounds()
    for place in range(len(counts)):
        below = scheme.integer_probability(int(counts[place]), rows.grid.width)
        for bits in (SeededBits(1), SeededBits(2)):
            exact = drawn.exactly(place, bits)
            assert 0 <= exact < below
            assert bounds.low[place] <= exact / rows.grid.whole <= bounds.high[place]


def test_values_are_those_of_the_integer_rows():
    rows = SampleRows(values_grid(Budget(1.0, 1e-3)), Pps(0.02))
    counts = np.arange(1, 60)
    words = SeededBits(7).words(len(counts))
    values = draw_values(rows, counts, DictatedBits([words[:0], words]), sampled=True)
    width = rows.grid.width
    for count, word, value in zip(counts.tolist(), words.tolist(), values.tolist(), strict=True):
        below = rows.scheme.integer_probability(count, width)
        ends = [(v * below) >> (width + 64) for v in (word << width, ((word + 1) << width) - 1)]
        assert value in {rows.draw(count, end) for end in ends}


def test_a_certain_sample_is_published_as_exact_counts_are():
    shape = SampledCounts(lambda: (pa.array(["a", "b"]), np.array([5000, 1])), EVERY_KEY)
    release = SanitisedSample(Budget(1.0, 1e-9), shape.public()).release(shape, SeededBits(1))
    assert release.table["key"].to_pylist() == ["a"]
    assert release.guarantee.parameters == {"scheme": "Poisson PPS (rate 1, power 0)"}


def test_the_rounding_of_probabilities_is_paid_for_each_key_of_a_user():
    public = Public(unit=USER, moved=None, scheme=Pps(0.1))
    assert SanitisedSample(Budget(1.0, 1e-6), public).each.delta == pytest.approx(
        1e-6 - (1 + math.e) * 2.0**-42, rel=1e-12
    )
    with pytest.raises(ParameterError) as error:
        SanitisedSample(Budget(1.0, 1e-12), public)
    assert str(error.value) == (
        "delta must be at least 1.7e-12 to sanitise a sample at this epsilon, since its probabilities are"
        " rounded, got 1e-12."
    )


def test_a_sample_needs_its_scheme():
    with pytest.raises(ParameterError) as error:
        SanitisedSample(Budget(1.0, 1e-6))
    assert str(error.value) == (
        "sanitise needs the scheme by which the sample was drawn: hc.Pps, hc.Ppswor or hc.SamplingTable."
    )


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_mechanism_takes_a_bottom_k_sample(name):
    with pytest.raises(NotProvedError) as error:
        prepare(name, Budget(1.0, 1e-6), BottomKeys().public())
    assert str(error.value).endswith(
        "not for bottom-k samples; their threshold depends on the data, so that one event changes what is"
        " said of all keys; draw a sample with hc.sample, whose rate is public."
    )
