"""The truncated geometric: reference values, optimality, exact draws, what a release holds."""

from __future__ import annotations

import json
from bisect import bisect_right
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.stability import StabilityHistogram
from tests.seeded_bits import DictatedBits, SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.histograms.geometric_noise import TruncatedGeometricNoise
from hushcount.mechanisms.histograms.truncated_geometric import (
    PublicFloorRelease,
    TruncatedGeometric,
)
from hushcount.mechanisms.sampling.rows import values_grid
from hushcount.mechanisms.thresholds import laplace_threshold
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import FloorCounters, Histogram, Public

VECTORS = json.loads(Path("tests/vectors/weighted_sampling.json").read_text())
BUDGETS = [(1.0, 1e-6), (0.1, 1e-3), (0.5, 1e-9), (0.01, 1e-6), (3.0, 0.2)]


def histogram(counts: list[int]) -> Histogram:
    return Histogram(pa.array(range(len(counts))), np.array(counts, dtype=np.int64))


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"epsilon={case['epsilon']}")
def test_reporting_probabilities_equal_the_reference(case):
    law = TruncatedGeometric(Budget(case["epsilon"], case["delta_used"])).noise.cumulative()
    for count, expected in case["report_probability"].items():
        assert law[min(int(count), len(law) - 1)] == pytest.approx(expected, rel=1e-9)


def test_the_default_keeps_what_the_optimum_keeps():
    law = TruncatedGeometric(Budget(1.0, 1e-6)).noise.cumulative()
    for count, expected in VECTORS["keep_probability_reference"].items():
        assert law[int(count)] == pytest.approx(expected, rel=4e-3)


@pytest.mark.parametrize("budget", BUDGETS)
def test_publishes_a_key_at_least_as_often_as_any_baseline(budget):
    law = TruncatedGeometric(Budget(*budget)).noise.cumulative()
    counts = np.arange(1, len(law) + 50)
    optimal = law[np.minimum(counts, len(law) - 1)]
    assert (optimal >= StabilityHistogram(Budget(*budget)).reporting(counts) * (1 - 1e-12)).all()
    noise, threshold = DiscreteLaplace(budget[0]), laplace_threshold(*budget)
    lattice = np.array([noise.tail(threshold - int(count)) for count in counts])
    assert (optimal >= lattice * (1 - 1e-12)).all()


@pytest.mark.parametrize("budget", BUDGETS)
def test_the_law_rises_by_the_ratio_and_falls_by_it(budget):
    grid = values_grid(Budget(*budget))
    masses = [high - low for low, high in pairwise(TruncatedGeometricNoise.of(grid).masses)]
    ratio = Fraction(grid.ratio, 1 << grid.shift)
    assert masses[0] == grid.step
    assert masses[-1] <= grid.step
    for before, after in pairwise(masses[:-1]):
        assert after <= before * ratio + 2
        assert before <= after * ratio + grid.step


def test_draws_settle_ties_by_the_remaining_bits():
    law = TruncatedGeometric(Budget(1.0, 1e-6)).noise
    boundary = law.masses[3]
    head, rest = boundary >> 64, boundary & (2**64 - 1)
    bits = DictatedBits([[head, head, head + 1, 0, 2**64 - 1], [rest], [rest - 1]])
    assert law.sample(5, bits).tolist() == [3, 2, 3, 0, law.largest]
    assert bits.used_up


@pytest.mark.parametrize("budget", [*BUDGETS, (1 / 3, 1e-6 / 3)])
def test_draws_are_those_of_a_search_for_each_word(budget):
    """The table of first bits changes the speed alone: each word gives what the masses say, edges too."""
    law = TruncatedGeometric(Budget(*budget)).noise
    heads = [mass >> (law.width - 64) for mass in law.masses[1:-1]]
    edges = [word for head in heads for word in (head - 1, head + 1) if word not in heads]
    words = [*SeededBits(3).words(20_000).tolist(), *edges, 0, 2**64 - 1]
    searched = [bisect_right(law.masses, word << (law.width - 64)) - 1 for word in words]
    assert law.sample(len(words), DictatedBits([words])).tolist() == searched


def test_a_release_is_centred_sorted_and_bounded():
    mechanism = TruncatedGeometric(Budget(1.0, 1e-6))
    release = mechanism.release(histogram([1000, 5, 40, 40, 2000]), SeededBits(1))
    counts = release.counts.to_pylist()
    assert release.keys["key"].to_pylist()[:2] == [4, 0]
    assert counts == sorted(counts, reverse=True)
    truth = dict(enumerate([1000, 5, 40, 40, 2000]))
    accuracy = release.accuracy()
    assert accuracy.sentences[2] == (
        "The noise is bounded: every true count lies between count - 13 and count + 14."
    )
    for key, count in zip(release.keys["key"].to_pylist(), counts, strict=True):
        assert count - 13 <= truth[key] <= count + 14
    assert (accuracy.below, accuracy.above) == (3, 3)
    assert release.guarantee.parameters == {"largest_noise": 27, "offset": 13}
    assert release.guarantee.statement() == (
        "(1, 1e-06)-differential privacy for one event, not one person"
        " (neighbours: add or remove one event), by truncated geometric."
    )


def test_nothing_is_published_of_an_empty_histogram():
    release = TruncatedGeometric(Budget(1.0, 1e-6)).release(histogram([]), SeededBits(1))
    assert len(release) == 0
    assert release.table.num_rows == 0


def test_counts_above_a_public_floor():
    shape = FloorCounters(pa.array(["a", "b", "c"]), np.array([5000, 300, 105]), 90, 9, 10)
    public = Public(candidates=9, parts=10, max_events=1000)
    mechanism = PublicFloorRelease(Budget(1.0, 1e-6), public)
    release = mechanism.release(shape, SeededBits(2))
    assert mechanism.floor == 101
    assert release.keys["key"].to_pylist() == ["a", "b"]
    accuracy = release.accuracy()
    for count, above in zip(release.counts.to_pylist(), [5000, 300], strict=True):
        assert count - accuracy.simultaneous_below <= above - 100
        assert above <= count + accuracy.simultaneous_above


def test_a_table_of_long_integers_may_have_fewer_rows():
    """A smaller delta needs longer integers, so memory bounds their number: before, about 1 GB was taken."""
    with pytest.raises(ParameterError) as error:
        TruncatedGeometric(Budget(1e-3, 1e-280))
    assert str(error.value) == (
        "epsilon is too small for delta = 1e-280: the noise would need a table of 1.93e+06 rows, at most"
        " 945195 are allowed, got epsilon = 0.001."
    )


def test_bad_input_is_refused_in_one_sentence():
    with pytest.raises(ParameterError) as error:
        TruncatedGeometric(Budget(1.0, 0))
    assert str(error.value) == "delta must be strictly between 0 and 1, got 0."
    with pytest.raises(ParameterError) as error:
        TruncatedGeometric(Budget(1e-6, 1e-6))
    assert str(error.value) == (
        "epsilon is too small for delta = 1e-06: the noise would need a table of 3.11e+07 rows,"
        " at most 4194304 are allowed, got epsilon = 1e-06."
    )
    with pytest.raises(NotProvedError) as error:
        TruncatedGeometric(Budget(1.0, 1e-6)).release(
            FloorCounters(pa.array([1]), np.array([3]), 0, 2, 2), SeededBits(1)
        )
    assert str(error.value) == (
        "truncated-geometric is proved for exact counts, not for a single SpaceSaving or MisraGries stream; "
        'use mechanism="floor", count with Exact, or give max_events for "public-floor".'
    )
    with pytest.raises(ParameterError) as error:
        PublicFloorRelease(Budget(1.0, 1e-6), Public(parts=10))
    assert str(error.value) == "public-floor needs max_events, a public bound, got None."
