"""The Gaussian sparse histogram: what it publishes for given noise, its intervals, its calibration."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_ndtr
from tests.unit.mechanisms.scripted import rows

from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms.gaussian import (
    GaussianSparseHistogram,
    blocks,
    calibrated,
    least_sigma,
    log_hockey_stick,
    log_peak,
    sparse_histogram,
)
from hushcount.mechanisms.histograms.laplace import LaplaceManyKeys, left_out
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.bits import system_bits
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.privacy import USER, Budget
from hushcount.shapes import ManyKeys, Public

BUDGET = Budget(1.0, 1e-6)
LAW = DiscreteGaussian(13.0)


class GivenNoise:
    """Hands out the given noise."""

    sigma = epsilon = 5.0

    def __init__(self, *noise: int) -> None:
        self.noise = noise

    def sample(self, size: int, bits: object) -> Any:
        assert size == len(self.noise)
        return np.array(self.noise, dtype=np.int64)


def shape(counts: dict[str, int], moved: int = 10) -> ManyKeys:
    values = np.array(list(counts.values()), dtype=np.int64)
    return ManyKeys(pa.array(list(counts)), values, moved, moved, moved + 1, USER)


@pytest.mark.parametrize(("kind", "threshold"), [(GaussianSparseHistogram, 71), (LaplaceManyKeys, 156)])
def test_publishes_from_the_threshold_on(kind: Any, threshold: int) -> None:
    mechanism = kind(BUDGET, Public(moved=10, unit=USER))
    assert mechanism.threshold == threshold
    mechanism.noise = GivenNoise(1, 0, -7)
    counts = {"at": threshold - 1, "under": threshold - 1, "far": 900}
    result = mechanism.release(shape(counts), system_bits())
    assert rows(result) == [("far", 893), ("at", threshold)]
    assert result.guarantee.parameters["threshold"] == threshold
    assert result.guarantee.parameters["moved"] == 10
    assert result.guarantee.unit == USER


@pytest.mark.parametrize("kind", [GaussianSparseHistogram, LaplaceManyKeys])
def test_another_size_than_calibrated_is_refused(kind: Any) -> None:
    with pytest.raises(ParameterError, match=r"needs moved, a public bound, got None\.$"):
        kind(BUDGET, Public())
    mechanism = kind(BUDGET, Public(moved=10))
    with pytest.raises(ParameterError, match=r"^moved must be 10 as calibrated, got 11\.$"):
        mechanism.release(shape({"a": 5}, moved=11), system_bits())


def error_of(counted: ManyKeys, public: Public) -> EstimateError:
    sizes = counted.public()
    return EstimateError(LAW, sizes.candidates, left_out(sizes, public))


def test_intervals_of_sketches_need_a_public_length_for_their_upper_end() -> None:
    counted = shape({"a": 500})
    below, above = error_of(counted, Public()).interval(0.95)
    assert above is None
    assert float(LAW.tail(below + 1)) <= 0.05 < float(LAW.tail(below))
    error = error_of(counted, Public(max_events=1100))
    assert error.left_out == 100
    below, above = error.interval(0.95)
    assert above == 100 + below
    assert 2 * float(LAW.tail(below + 1)) <= 0.05 < 2 * float(LAW.tail(below))
    together = error.simultaneous(0.95)
    assert together is not None
    assert 1 - (1 - 2 * float(LAW.tail(together[0] + 1))) ** 10 <= 0.05


def test_exact_counts_have_both_ends() -> None:
    exact = ManyKeys(pa.array(["a"]), np.array([500]), 3, unit=USER)
    error = error_of(exact, Public())
    below, above = error.interval(0.95)
    assert below == above
    assert error.simultaneous(0.95) is None
    assert error.sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result lies between"
        f" count - {below} and count + {above}.",
        "Counts are exact up to noise.",
    )


def test_sentences_name_what_was_left_out() -> None:
    assert EstimateError(LAW, 10, None).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result is at least"
        " count - 21.",
        "count is a lower estimate; max_events would bound what the sketch left out of it.",
    )
    assert EstimateError(LAW, 10, 100).sentences(0.95)[1] == (
        "count is a lower estimate; the sketch may have left out up to 100 of it, by max_events and its"
        " counters."
    )


VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "gaussian_sparse_histogram.json").read_text())[
    "cases"
]


def continuous_log_hs(j, epsilon, sigma):
    """log of the divergence of N(0, sigma^2 I_j) and its shift by one in every coordinate, in logs."""
    half, rest = np.sqrt(j) / (2 * sigma), epsilon * sigma / np.sqrt(j)
    upper, lower = log_ndtr(half - rest), epsilon + log_ndtr(-half - rest)
    return upper + np.log(-np.expm1(np.minimum(lower - upper, -1e-300)))


def continuous_delta(moved, epsilon, sigma, tau):
    """Lebeda and Tětek 2023, Theorem 23."""
    j = np.arange(1, moved + 1, dtype=float)
    gamma = (moved - j) * log_ndtr(tau / sigma)
    isolated = -np.expm1(gamma)
    second = isolated + np.exp(gamma + continuous_log_hs(j, epsilon - gamma, sigma))
    third = np.exp(continuous_log_hs(j, epsilon + gamma, sigma))
    return max(-math.expm1(moved * log_ndtr(tau / sigma)), second.max(), third.max())


def bisect(holds, low, high):
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def continuous(case):
    moved, epsilon, delta = case["l"], case["epsilon"], case["delta"]
    everything = np.array([float(moved)])
    sigma = bisect(lambda s: continuous_log_hs(everything, epsilon, s)[0] <= math.log(delta), 0.1, 1e6)
    used = 1.0005 * sigma
    tau = bisect(lambda t: continuous_delta(moved, epsilon, used, t) <= delta, used, 100 * used)
    return sigma, tau


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"l={case['l']}, delta={case['delta']}")
def test_the_continuous_calibration_equals_the_vectors(case):
    sigma, tau = continuous(case)
    assert sigma == pytest.approx(case["sigma_min"], rel=1e-3)
    assert tau == pytest.approx(case["tau_at_1_0005_sigma_min"], rel=1e-3)


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: f"l={case['l']}, delta={case['delta']}")
def test_the_integer_calibration_loses_next_to_nothing(case):
    sigma, tau = continuous(case)
    found = sparse_histogram(float(case["epsilon"]), case["delta"], case["l"])
    assert sigma * 0.999 < found.sigma < sigma * 1.003
    assert 1 + tau - 1 < found.threshold < 1 + 1.003 * tau + 1


@pytest.mark.parametrize("moved", [10_000, 100_000])
def test_many_keys(moved):
    """Convolutions do not reach so far; the lattice approaches the continuous formula."""
    sigma, tau = continuous({"l": moved, "epsilon": 1.0, "delta": 1e-6})
    found = sparse_histogram(1.0, 1e-6, moved)
    assert found.sigma == pytest.approx(1.0005 * sigma, rel=1e-4)
    assert found.threshold == pytest.approx(1 + tau, rel=1e-3)


def test_a_million_keys():
    assert sparse_histogram(1.0, 1e-6, 10**6).sigma == pytest.approx(4224.7 * 1.0005, rel=1e-4)


def test_logs_reach_where_naive_formulas_return_nothing():
    j = np.array([1.0])
    assert math.exp(log_hockey_stick(j, 1.0, 9.5)[0]) < 1e-18
    assert log_hockey_stick(j, 1.0, 60.0)[0] < -1000
    found = sparse_histogram(1.0, 1e-30, 100)
    assert 0 < found.sigma < 200


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.01), (0.01, 0.3), (1.0, 0.9), (3.0, 0.99)])
@pytest.mark.parametrize("moved", [1, 7, 5000])
def test_a_delta_that_is_large_beside_epsilon_is_not_used_up(epsilon, delta, moved):
    found = sparse_histogram(epsilon, delta, moved)
    hidden = moved * math.log1p(-float(found.noise.tail(found.threshold - 1)))
    everything = np.array([float(moved)])
    assert -math.expm1(hidden) <= delta
    assert math.exp(log_hockey_stick(everything, epsilon + hidden, found.sigma)[0]) <= delta


def test_the_least_sigma_of_one_key_is_that_of_the_lattice():
    assert least_sigma(1.0, 1e-6, 1) == pytest.approx(4.231, abs=1e-3)
    assert calibrated(1.0, 1e-6, 1, 4.2247) is None
    assert calibrated(1.0, 1e-6, 1, 4.24) is not None


@pytest.mark.parametrize("moved", [1, 2, 3, 10, 400, 5000, 10**6])
def test_blocks_cover_every_number_of_common_keys(moved):
    last, first = blocks(moved)
    assert first[0] == 0
    assert last[-1] == moved
    assert np.all(first[1:] == last[:-1] + 1)
    assert np.all(first <= last)
    if moved <= 10:
        assert np.array_equal(first, last)


@pytest.mark.parametrize("sigma", [0.3, 0.8, 1.5, 2.9, 3.1, 5.0])
@pytest.mark.parametrize("common", [1, 2, 3, 5, 17, 64])
def test_the_peak_of_a_sum_is_bounded_and_close(common, sigma):
    z = np.arange(-200, 201)
    pmf = np.exp(-z * z / (2 * sigma**2))
    pmf /= pmf.sum()
    total = np.ones(1)
    for _ in range(common):
        total = np.convolve(total, pmf)
    exact = math.log(total[len(total) // 2])
    bound = log_peak(np.array([float(common)]), sigma)[0]
    assert exact - 1e-12 <= bound <= exact + 1e-9


def test_every_probability_of_a_sum_is_below_the_peak_times_a_gaussian():
    """P[S_j = s] <= P[S_j = 0] exp(-s^2 / (2 j sigma^2)), equal where j divides s."""
    for sigma in (0.3, 0.5, 0.8, 2.0):
        z = np.arange(-60, 61)
        pmf = np.exp(-z * z / (2 * sigma**2))
        pmf /= pmf.sum()
        total = pmf
        for j in range(2, 6):
            total = np.convolve(total, pmf)
            s = np.arange(len(total)) - len(total) // 2
            near = (abs(s) <= 12) & (total > 1e-200)
            s, found = s[near], total[near]
            ratio = found / (total.max() * np.exp(-s * s / (2 * j * sigma**2)))
            assert np.all(ratio <= 1 + 1e-12)
            assert np.all(abs(ratio[s % j == 0] - 1) < 1e-10)


def test_an_epsilon_that_needs_too_much_noise_is_refused():
    with pytest.raises(ParameterError) as error:
        sparse_histogram(1e-7, 1e-9, 4_000_000)
    assert str(error.value) == (
        "epsilon is too small for 4000000 counts that change together: sigma would exceed 1e+08, got 1e-07."
    )
