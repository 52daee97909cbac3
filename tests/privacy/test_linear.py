"""Noisy cells and the error envelope: exact divergences, and the printed versions that they refute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.privacy.envelope_reference import (
    OneRow,
    cells_divergence,
    envelope_divergence,
    gaussian_by_convolution,
    shifted,
    streams,
)
from tests.privacy.twins.papers import Printed, arrival_law, track

from hushcount.audit.laws import hockey_stick
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH
from hushcount.mechanisms.linear.calibration import (
    cell_noise,
    envelope_beta,
    envelope_of,
    gaussian_divergence,
    gaussian_sigma,
)
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

Estimate = Callable[[int, str, int], int]


@pytest.mark.parametrize("depth", [1, 2, 5, 20])
@pytest.mark.parametrize("weight", [1, 3])
def test_laplace_cells_are_pure(depth: int, weight: int) -> None:
    """One event moves `depth` cells, not twice as many: scale depth / epsilon is enough, and needed."""
    law = cell_noise(COUNT_MIN, depth, weight, 1.0, 0.0)
    assert isinstance(law, DiscreteLaplace)
    for moved in range(1, weight + 1):
        assert cells_divergence(law, [moved] * depth, 1.0, 40 * depth * weight) < 1e-14
    assert cells_divergence(law, [weight] * depth, 0.99, 40 * depth * weight) > 1e-9


@pytest.mark.parametrize("depth", [2, 5])
def test_laplace_cells_for_one_row_fewer_are_refuted(depth: int) -> None:
    law = DiscreteLaplace(Fraction(1, depth - 1))
    assert cells_divergence(law, [1] * depth, 1.0, 40 * depth) > 1e-2


@pytest.mark.parametrize(("depth", "weight"), [(1, 1), (2, 1), (3, 1), (5, 1), (8, 1), (3, 2), (5, 4)])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.25, 1e-4), (4.0, 1e-9)])
def test_gaussian_cells_keep_their_budget(depth: int, weight: int, epsilon: float, delta: float) -> None:
    """The chosen sigma, and no smaller one by half a percent, by convolution of the noises."""
    sigma = gaussian_sigma(depth, epsilon, delta, weight)
    for moved in range(1, weight + 1):
        assert gaussian_by_convolution(depth, sigma, epsilon, moved) <= delta
    assert gaussian_by_convolution(depth, 0.98 * sigma, epsilon, weight) > delta


@pytest.mark.parametrize("sigma", [1.0, 1.3, 2.0, 7.7])
@pytest.mark.parametrize("depth", [1, 2, 5, 9])
def test_the_closed_form_bounds_the_convolution_closely(depth: int, sigma: float) -> None:
    epsilon = 0.5 * math.sqrt(depth) / sigma
    exact = gaussian_by_convolution(depth, sigma, epsilon, 1)
    bound = gaussian_divergence(depth, sigma, epsilon)
    assert exact <= bound <= exact * (1 + 1e-2 if sigma < 1.2 else 1 + 1e-5)


def test_the_loss_of_gaussian_cells_depends_on_the_sum_only() -> None:
    """Two cells, moved up and down, enumerated in the plane."""
    law = DiscreteGaussian(3.0)
    up = shifted(law, 1, 40)
    down = (up[0][::-1], up[1][::-1])
    for pairs in ((up, up), (up, down)):
        joint = [np.outer(pairs[0][side], pairs[1][side]).ravel() for side in (0, 1)]
        divergence = hockey_stick((joint[0], joint[1]), 0.4)
        assert divergence == pytest.approx(gaussian_by_convolution(2, 3.0, 0.4, 1), rel=1e-9)


def test_the_continuous_sigma_is_refuted_on_the_integers() -> None:
    assert gaussian_by_convolution(1, 4.225, 1.0, 1) == pytest.approx(1.0187e-6, rel=1e-4)
    assert gaussian_by_convolution(1, 4.231, 1.0, 1) <= 1e-6


def one_row(
    kind: str, epsilon: float, delta: float, events: int, *, lower: int = 0, weights: tuple[int, int] = (1, 1)
) -> OneRow:
    """A release; `weights` are those that the noise and the threshold are for."""
    width, counters = 1 << 16, 2
    signed = kind == COUNT_SKETCH
    share = delta / 2 if signed else delta
    law = cell_noise(kind, 1, weights[0], epsilon, share)
    beta = envelope_beta(events, epsilon, share)
    plan = envelope_of((kind, 1, width), (events, counters), beta, law, weights[1])
    return OneRow(law, plan.threshold - lower, counters, width, epsilon, signed)


def worst(release: OneRow, length: int, signed: bool, heaviest: int = 1, most: int = 5) -> float:
    """The largest HS over streams of a length and their neighbours with one event fewer, both ways."""
    largest = 0.0
    sizes = [size for size in range(-heaviest, heaviest + 1) if size > 0 or (signed and size)]
    for keys in streams(length, 4):
        for weights in product(sizes, repeat=length):
            if sum(map(abs, weights)) > most:
                continue
            stream = tuple(zip(keys, weights, strict=True))
            for removed in range(length):
                other = stream[:removed] + stream[removed + 1 :]
                largest = max(
                    largest,
                    envelope_divergence(release, stream, other),
                    envelope_divergence(release, other, stream),
                )
    return largest


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.5, 0.01), (2.0, 1e-4)])
def test_the_corrected_envelope_keeps_its_budget(epsilon: float, delta: float) -> None:
    """Every stream of up to five additions over four keys in two counters, every partition into cells."""
    release = one_row(COUNT_MIN, epsilon, delta, 5)
    assert 0 < max(worst(release, length, signed=False) for length in (3, 4, 5)) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (2.0, 1e-3)])
def test_the_corrected_envelope_of_count_sketch_keeps_its_budget(epsilon: float, delta: float) -> None:
    """The same up to four additions, with every choice of signs."""
    release = one_row(COUNT_SKETCH, epsilon, delta, 4)
    assert 0 < max(worst(release, length, signed=False) for length in (2, 3, 4)) <= delta


@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
def test_the_corrected_envelope_keeps_its_budget_with_deletions(kind: str) -> None:
    release = one_row(kind, 1.0, 0.05, 4)
    lengths = (2, 3, 4) if kind == COUNT_MIN else (2, 3)
    assert 0 < max(worst(release, length, signed=True) for length in lengths) <= 0.05


@pytest.mark.parametrize(("kind", "signed"), [(COUNT_MIN, True), (COUNT_MIN, False), (COUNT_SKETCH, False)])
def test_the_envelope_of_weighted_events_keeps_its_budget(kind: str, signed: bool) -> None:
    """Events of weight up to 2, of at most 5 in all; with the noise for weight 1 it would not."""
    release = one_row(kind, 1.0, 0.05, 5, weights=(2, 2))
    lengths = (2, 3) if kind == COUNT_MIN else (2,)
    assert 0 < max(worst(release, length, signed, heaviest=2) for length in lengths) <= 0.05


@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
def test_noise_for_weight_1_is_refuted_by_an_event_of_weight_9(kind: str) -> None:
    made = (one_row(kind, 1.0, 0.01, 200, weights=(weight, 9)) for weight in (9, 1))
    right, light = (replace(each, threshold=60) for each in made)
    stream, other = ((0, 180), (0, 9)), ((0, 180),)
    assert envelope_divergence(right, stream, other) <= 0.01
    assert envelope_divergence(light, stream, other) > 0.5


def test_a_threshold_for_weight_1_is_refuted_by_an_event_of_weight_9() -> None:
    """A key that is new with one heavy event, in noise for it: it shows too often."""
    low = one_row(COUNT_MIN, 2.0, 1e-3, 20, weights=(9, 9))
    psi = low.law.least_tail(1e-3) - 1
    right, lower = replace(low, threshold=9 + psi), replace(low, threshold=1 + psi)
    stream, other = ((0, 9), (1, 9)), ((0, 9),)
    assert envelope_divergence(right, stream, other) <= 1e-3
    assert envelope_divergence(lower, stream, other) > 1e-3


@pytest.mark.parametrize("kind", [COUNT_MIN, COUNT_SKETCH])
def test_an_envelope_without_noise_in_it_is_refuted(kind: str) -> None:
    """The check can fail: the threshold without psi."""
    epsilon, delta = 1.0, 0.01
    psi = one_row(kind, epsilon, delta, 4).threshold - (4 // 2 + 1)
    assert worst(one_row(kind, epsilon, delta, 4, lower=psi), 4, signed=False) > delta


# Holland 2025, Theorem 3, (a): the threshold


PSI, OFFSET, CAPACITY, EACH = 12, 100, 20, 5


def offset_estimate(events: list[str], noise: dict[str, int], last: int) -> Estimate:
    """An estimator with the envelope OFFSET + PSI: counts, a noise for each key, and a public offset.

    The offset is -OFFSET for "y" before the time `last` and +OFFSET for everything else. It does not depend
    on the data, so the estimator is as private as its noise.
    """

    def estimate(time: int, key: str, _: int) -> int:
        offset = -OFFSET if key == "y" and time < last else OFFSET
        return events[:time].count(key) + noise[key[0]] + offset

    return estimate


@pytest.mark.parametrize("noise", list(product((-PSI, PSI), repeat=2)))
def test_the_printed_threshold_publishes_an_unstable_key(noise: tuple[int, int]) -> None:
    """(a): whatever the noise within the envelope, "y" is published for one neighbour only; HS >= 1 - delta.

    The corrected threshold is higher by twice the envelope and never publishes it.
    """
    longer = [f"a{index}" for index in range(CAPACITY)] * EACH + ["y"] * (EACH + 2 * OFFSET - 2 * PSI)
    upper, lower, length = OFFSET + PSI, -(OFFSET + PSI), len(longer) / CAPACITY
    printed, corrected = length + 2 * upper + lower, length + 2 * upper - lower
    assert corrected - printed == 2 * (OFFSET + PSI)
    for stream, published in ((longer, True), (longer[:-1], False)):
        estimate = offset_estimate(stream, {"a": noise[0], "y": noise[1]}, len(longer))
        assert ("y" in Printed(CAPACITY, printed).release(stream, estimate)) == published
        assert "y" not in Printed(CAPACITY, corrected, arrival_test=False).release(stream, estimate)


def test_the_printed_lemma_is_refuted_by_noise_alone() -> None:
    """Lemma 11: noise in [-3, 3], and a key is not tracked with a count above t/k~ + g1 + g2."""
    stream = [f"a{index}" for index in range(50)] * 4 + ["y"] * 10
    noise = {"a": 3, "y": -3}
    kept = set(track(stream, 50, lambda time, key, _: stream[:time].count(key) + noise[key[0]]))
    assert "y" not in kept
    bound = len(stream) / 50 + 3 - 3
    assert stream.count("y") > bound
    assert stream.count("y") <= len(stream) / 50 + 3 + 3


# Holland 2025, Theorem 3, (b): the test of estimates made before the end


def arrival_divergence(depth: int, arrival_test: bool) -> float:
    """y, z, y against y, z, which share every cell: HS over the least noise, at the worst threshold."""
    longer, shorter = (arrival_law(stream, depth, arrival_test) for stream in (["y", "z", "y"], ["y", "z"]))
    return sum(max(chance - math.e * shorter.get(out, 0.0), 0.0) for out, chance in longer.items())


@pytest.mark.parametrize(
    ("depth", "least", "continuous"), [(1, 0.46, 0.39), (5, 0.081, 0.082), (20, 0.0188, 0.019)]
)
def test_estimates_made_before_the_end_are_refuted(depth: int, least: float, continuous: float) -> None:
    """(b): C[x] > tau is not a function of the final noisy cells; without it the same release passes."""
    assert arrival_divergence(depth, arrival_test=True) > least
    assert arrival_divergence(depth, arrival_test=False) < 1e-12
    assert round(largest_unit_mass(depth), 3 if depth > 1 else 2) == continuous


def largest_unit_mass(depth: int) -> float:
    """The largest chance of an interval of length one, for the least of d draws of Laplace(d / epsilon)."""
    starts = np.linspace(-6 * depth, depth, 20001)

    def above(value: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        tail = np.where(value > 0, np.exp(-np.abs(value) / depth) / 2, 1 - np.exp(-np.abs(value) / depth) / 2)
        return tail**depth

    return float((above(starts) - above(starts + 1)).max())


def test_estimates_made_before_the_end_are_refuted_on_average_over_the_hash() -> None:
    """One row of four cells; twelve other keys arrive between the last two of "y"."""
    law = DiscreteLaplace(1.0)
    rise = np.array([math.comb(12, hits) * 0.25**hits * 0.75 ** (12 - hits) for hits in range(13)])
    values = np.arange(1, 80)  # published value above the threshold; "y" had `short` fewer than that before
    short = 3
    longer = sum(p * np.asarray(law.pmf(values + short - b - 1)) for b, p in enumerate(rise))
    shorter = sum(p * np.asarray(law.pmf(values + short - b)) * (values - b > 0) for b, p in enumerate(rise))
    assert hockey_stick((np.asarray(longer), np.asarray(shorter)), 1.0) > 0.3
    final_only = sum(p * np.asarray(law.pmf(values + short - b)) for b, p in enumerate(rise))
    assert hockey_stick((np.asarray(longer), np.asarray(final_only)), 1.0) < 1e-12


def test_the_kinds_have_their_noise() -> None:
    assert cell_noise(COUNT_MIN, 5, 2, 1.0, 0.0) == DiscreteLaplace(Fraction(1, 10))
    assert isinstance(cell_noise(COUNT_SKETCH, 5, 1, 1.0, 1e-6), DiscreteGaussian)
