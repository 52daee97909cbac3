"""The correlated sparse histogram: outputs enumerated, reference values, every broken twin refuted."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

import hushcount as hc
from hushcount.audit.moved import (
    ISOLATED,
    RAISED,
    STILL,
    Halves,
    divergences,
    gaussian_divergence,
    output_law,
)
from hushcount.errors import NotProvedError
from hushcount.mechanisms.histograms.correlated import (
    CorrelatedSparseHistogram,
    correlated_noise,
    divergence,
    hockey_stick,
    shown,
)
from hushcount.mechanisms.histograms.gaussian import sparse_histogram
from hushcount.noise.gaussian import DiscreteGaussian, GaussianSum
from hushcount.privacy import Budget
from hushcount.shapes import LimitedKeys, ManyKeys, Public

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "users.json").read_text())
LARGE = VECTORS["correlated"]
CASES = VECTORS["correlated_enumerated"]["cases"]
TWO = [case for case in CASES if case["held"] == 2]
SCALE = VECTORS["correlated_twins_at_scale"]


def halves(case: dict) -> Halves:
    sigmas = (case["sigma_own_half_units"], case["sigma_shared_half_units"])
    return Halves(*map(DiscreteGaussian, sigmas), case["threshold_half_units"])


def worst(noise: Halves, case: dict, stored: int | None = None) -> float:
    """The largest divergence at both base counts, over delta."""
    bases = (1, case["high_base_count"])
    found = [
        spent
        for base in bases
        for spent, _ in divergences(noise, stored or case["held"], case["epsilon"], base)
    ]
    return max(found) / case["delta"]


def spent_by(noise: Halves, case: dict, kinds: tuple[int, ...], base: int) -> float:
    """The larger divergence of one pair of neighbours, over delta."""
    sides = {STILL: (base, base), RAISED: (base + 1, base), ISOLATED: (1, 0)}
    last = 2 * base + 2 + math.ceil(12 * (float(noise.own.sigma) + float(noise.shared.sigma)))
    p, q = (output_law(noise, tuple(sides[kind][side] for kind in kinds), last) for side in (0, 1))
    ratio = math.exp(case["epsilon"])
    return (
        max(float(np.maximum(p - ratio * q, 0).sum()), float(np.maximum(q - ratio * p, 0).sum()))
        / case["delta"]
    )


@pytest.mark.parametrize("case", TWO, ids=lambda case: f"{case['epsilon']} {case['delta']}")
def test_two_keys_are_enumerated_and_twins_refuted(case: dict) -> None:
    """All outputs, both ways, every split; figures of the reference to 1e-4."""
    noise = halves(case)
    assert worst(noise, case) == pytest.approx(case["worst_over_delta"], rel=1e-4)
    assert worst(noise, case) <= 1
    lower = worst(noise._replace(threshold=noise.threshold - 2), case)
    assert lower == pytest.approx(case["threshold_two_lower_over_delta"], rel=1e-4)
    assert lower > 1.9


@pytest.mark.parametrize("case", TWO, ids=lambda case: f"{case['epsilon']} {case['delta']}")
def test_independent_noise_of_the_same_deviation_is_refuted(case: dict) -> None:
    own, shared, threshold = halves(case)
    deviation = math.hypot(float(own.sigma), float(shared.sigma))
    alone = Halves(DiscreteGaussian(deviation), DiscreteGaussian(1e-3), threshold)
    found = worst(alone, case)
    assert found == pytest.approx(case["independent_twin_over_delta"], rel=1e-3)
    assert found > 2.2


@pytest.mark.parametrize("case", TWO, ids=lambda case: f"{case['epsilon']} {case['delta']}")
def test_a_key_more_than_the_sketch_may_store_is_refuted(case: dict) -> None:
    """Calibrated for two keys, one key that stays and two that are raised: nothing of it is allowed."""
    found = spent_by(halves(case), case, (STILL, RAISED, RAISED), case["high_base_count"])
    assert found == pytest.approx(case["three_held_two_moved_over_delta"], rel=1e-3)
    assert found > 1.9


def test_three_keys_are_enumerated() -> None:
    (case,) = (case for case in CASES if case["held"] == 3)
    found = spent_by(halves(case), case, (STILL, RAISED, RAISED), case["high_base_count"])
    assert found == pytest.approx(case["worst_over_delta"], rel=1e-4)
    for kinds in ((RAISED,) * 3, (ISOLATED,) * 3, (RAISED, ISOLATED, ISOLATED), (STILL, STILL, ISOLATED)):
        assert spent_by(halves(case), case, kinds, 1) <= 1


@pytest.mark.parametrize("row", LARGE, ids=lambda row: f"{row['held']} {row['delta']}")
def test_calibration_reaches_the_reference(row: dict) -> None:
    noise = GaussianSum(row["sigma_own_half_units"], row["sigma_shared_half_units"])
    keys = np.array([float(row["held"])])
    common = divergence(keys, row["epsilon"], noise, row["delta"])
    assert common[0] == pytest.approx(row["divergence_all_common"], rel=1e-9)
    isolated = shown(keys, row["threshold_half_units"], noise, row["delta"])
    assert isolated[0] == pytest.approx(row["shown_all_isolated"], rel=1e-9)
    found = correlated_noise(float(row["epsilon"]), row["delta"], row["held"])
    assert abs(found.reliable - row["reliable"]) <= max(1, 0.001 * row["reliable"])
    independent = sparse_histogram(float(row["epsilon"]), row["delta"], row["held"]).reliable
    assert abs(independent - row["independent_reliable"]) <= max(1, 0.001 * independent)


def test_the_reliable_counts_that_are_promised() -> None:
    assert [correlated_noise(1.0, 1e-6, stored).reliable for stored in (100, 1000, 10_000)] == [
        170,
        529,
        1711,
    ]


@pytest.mark.parametrize(("stored", "delta"), [(1, 1e-6), (2, 1e-3), (7, 1e-9), (100, 1e-6), (333, 1e-4)])
def test_the_condition_holds_for_every_number_of_common_keys(stored: int, delta: float) -> None:
    """Not only at the ends of blocks."""
    found = correlated_noise(1.0, delta, stored)
    common = np.arange(stored + 1.0)
    spent = divergence(common, 1.0, found.sum, delta)
    isolated = shown(np.maximum(stored - common, 1e-300), 2 * found.threshold, found.sum, delta)
    assert (spent + np.where(common < stored, isolated, 0) <= delta).all()
    assert spent[-1] >= 0.7 * delta


@pytest.mark.parametrize("own", [2.0, 2.7, 9.1])
@pytest.mark.parametrize("common", [1, 2, 5, 20])
def test_the_closed_form_is_the_convolution(common: int, own: float) -> None:
    for epsilon in (-1.5, -0.01, 0.02, 0.7, 3.0):
        exact = gaussian_divergence(DiscreteGaussian(own), common, epsilon)
        found = float(hockey_stick(float(common), np.array([epsilon]), own)[0])
        assert found == pytest.approx(exact, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("row", SCALE, ids=lambda row: str(row["held"]))
def test_twins_at_scale_spend_thousands_of_times_delta(row: dict) -> None:
    """Independent noise of the same deviation, the shared noise left out, more keys than may be stored."""
    (own,) = (one for one in LARGE if (one["held"], one["delta"]) == (row["held"], row["delta"]))
    sigma, shared = own["sigma_own_half_units"], own["sigma_shared_half_units"]
    keys, delta = float(row["held"]), row["delta"]
    # of counts, which change by 2 half units: the same as half the noise and one unit
    for deviation, name in (
        (math.hypot(sigma, shared), "independent_same_deviation"),
        (sigma, "shared_draw_left_out"),
    ):
        spent = float(hockey_stick(keys, np.array([1.0]), deviation / 2)[0])
        assert spent / delta == pytest.approx(row[f"{name}_over_delta"], rel=1e-3)
    for times, name in ((2, "held_twice"), (10, "held_ten_times")):
        spent = held_more(sigma, shared, keys, times * keys)
        assert spent / delta == pytest.approx(row[f"{name}_over_delta"], rel=1e-3)


def held_more(own: float, shared: float, moved: float, stored: float) -> float:
    """Of `stored` keys far above the threshold `moved` change: Gaussians of this covariance at epsilon 1."""
    along = moved - (moved * shared) ** 2 / (own**2 + stored * shared**2)  # inverse by Sherman and Morrison
    mu = 2 * math.sqrt(along) / own
    return float(ndtr(mu / 2 - 1 / mu) - math.e * ndtr(-mu / 2 - 1 / mu))


def test_exact_counts_are_refused_by_their_type() -> None:
    with pytest.raises(NotProvedError) as error:
        CorrelatedSparseHistogram.check_kind(ManyKeys)
    assert str(error.value) == (
        "correlated is proved for sketches that store a limited number of keys, not for exact counts,"
        ' which may store any number; use mechanism="gaussian".'
    )
    for sketch, proved in ((hc.Exact(), False), (hc.UserMisraGries(counters=4), True)):
        sketch.update([1, 2], **({"users": [1, 1]} if proved else {}))
        if proved:
            assert hc.release(sketch, epsilon=1.0, delta=1e-6, mechanism="correlated").guarantee.delta == 1e-6
        else:
            with pytest.raises(
                NotProvedError, match="correlated is proved for merged and user-level sketches"
            ):
                hc.release(sketch, epsilon=1.0, delta=1e-6, mechanism="correlated")


def test_the_charge_is_that_of_both_noises() -> None:
    mechanism = CorrelatedSparseHistogram(
        Budget(1.0, 1e-6), Public(moved=10, candidates=10, shape=LimitedKeys)
    )
    finer, _ = mechanism.event().charges()
    assert [(curve.moved, float(curve.variance) ** 0.5) for curve in finer.curves] == [
        (10, float(mechanism.own.sigma)),
        (1, float(mechanism.shared.sigma)),
    ]
    assert 0 < float(finer.delta) <= 1e-6
