"""Releases of keys without counts: reference values, outputs enumerated, every broken twin refuted."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from hushcount.audit.moved import common_key
from hushcount.mechanisms.keys import calibration
from hushcount.mechanisms.keys.calibration import (
    SIPS,
    STEERED,
    KeyRound,
    mu_of,
    one_round,
    several_rounds,
)
from hushcount.noise.gaussian import DiscreteGaussian, gaussian_delta
from hushcount.noise.tails import any_of, one_of

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "users.json").read_text())
WEIGHTS = VECTORS["weights"]
SHARES = {"sips": SIPS, "steered": STEERED}
SMALL = WEIGHTS["steered_enumerated"]


def test_weights_are_the_reference() -> None:
    found = calibration.weights(1000)
    for size, weight in WEIGHTS["weight_by_set_size"].items():
        assert found[int(size) - 1] == weight
    assert (np.arange(1, 1001) * found.astype(object) ** 2 <= calibration.UNIT**2).all()


@pytest.mark.parametrize("row", WEIGHTS["rounds"], ids=lambda row: f"{row['name']} {row['delta']}")
def test_rounds_are_the_reference(row: dict) -> None:
    rounds = several_rounds(1.0, row["delta"], 1000, SHARES[row["name"]])
    assert [one.sigma for one in rounds] == row["sigma"]
    assert [one.threshold for one in rounds] == row["threshold"]
    assert [one.cut for one in rounds[:-1]] == row.get("cut", [None])
    assert rounds[-1].cut is None


@pytest.mark.parametrize("row", WEIGHTS["weighted_gaussian"], ids=lambda row: str(row["delta"]))
def test_one_round_is_no_worse_than_the_reference_and_keeps_every_condition(row: dict) -> None:
    (found,) = one_round(1.0, row["delta"], row["largest_set"])
    assert 0.999 * row["sigma"] <= found.sigma <= row["sigma"]
    assert 0.999 * row["threshold"] <= found.threshold <= row["threshold"]
    assert float(gaussian_delta(mu_of(1024, found.sigma), 1.0)) <= row["delta"]
    spent = [conditions(found, row["delta"], size) for size in (1, 2, 3, 10, 137, 1000)]
    assert max(spent) <= 1
    reliable = found.threshold + found.noise.least_tail(0.05) - 1
    assert reliable == pytest.approx(row["reliable_weight"], rel=1e-3)


def conditions(found: KeyRound, delta: float, size: int) -> float:
    """The largest sum of both parts over all numbers of isolated keys, over delta."""
    weight = int(calibration.weights(size)[-1])
    isolated = np.arange(1, size + 1)
    common = gaussian_delta(mu_of(weight * np.sqrt(size - isolated), found.sigma), 1.0)
    tail = float(found.noise.tail(found.threshold - weight))
    return float((common - np.expm1(isolated * math.log1p(-tail))).max()) / delta


def test_a_threshold_for_sets_of_one_key_is_refuted() -> None:
    """A user of many new keys shows one of them 313 times as often as delta allows."""
    noise = DiscreteGaussian(4329)
    threshold = 1024 + noise.least_tail(1e-6)
    assert abs(threshold - 21603) <= 1
    shown = [
        any_of(size, float(noise.tail(threshold - int(weight))))
        for size, weight in enumerate(calibration.weights(1000), 1)
    ]
    assert max(shown) / 1e-6 == pytest.approx(313, abs=1)


@pytest.mark.parametrize("row", VECTORS["gaussian_cells"]["rows"], ids=lambda row: str(row["sigma"]))
def test_noise_on_the_integers_is_gaussian_differentially_private(row: dict) -> None:
    """Every cell of the normal distribution that stands for an integer is at most (1 + eta) / sigma long."""
    sigma = row["sigma"]
    tails = np.asarray(DiscreteGaussian(sigma).tail(np.arange(-5 * sigma, 5 * sigma + 1)))
    longest = float(np.diff(-ndtri(tails)).max()) * sigma - 1
    assert longest == pytest.approx(row["longest_times_sigma_minus_1"], rel=1e-4)
    assert longest <= row["root_times_sigma_minus_1"] <= 1 / (12 * sigma**2)


def one_key(case: dict, base: int) -> float:
    """A user whose only key others hold too, with both noisy weights as output, over delta."""
    first, second = case["sigma"]
    rounds = KeyRound(first, case["threshold"][0], case["cut"]), KeyRound(second, case["threshold"][1])
    return common_key(rounds, case["unit"], case["epsilon"], base) / case["delta"]


def common_and_new(case: dict, base: int) -> float:
    """A user of one key that others hold and one that nobody else does: the larger divergence."""
    first, second = (DiscreteGaussian(sigma) for sigma in case["sigma"])
    cut, (high, last), ratio = case["cut"], case["threshold"], math.exp(case["epsilon"])
    alone, both = (math.isqrt(case["unit"] ** 2 // size) for size in (1, 2))
    leaves = 1 - float(first.tail(cut - both))
    stays = float(first.tail(cut - both)) - float(first.tail(high - both))
    hidden = {weight: 1 - float(second.tail(last - weight)) for weight in (alone, both)}
    reach = math.ceil(12 * float(first.sigma))
    y1, y2 = (np.arange(base - reach, base + alone + reach + 1) for _ in range(2))
    more, less = np.asarray(first.pmf(y1 - base - both)), np.asarray(first.pmf(y1 - base))
    goes_on = (y1 >= cut) & (y1 < high)
    later = [np.asarray(second.pmf(y2 - base - weight)) for weight in (alone, both, 0)]
    x_end, y_end = more[~goes_on] * (leaves + stays * hidden[alone]), less[~goes_on]
    x_on = np.outer(more[goes_on], leaves * later[0] + stays * hidden[both] * later[1])
    y_on = np.outer(less[goes_on], later[2])
    shown = 1 - x_end.sum() - x_on.sum()
    larger = shown + np.maximum(x_end - ratio * y_end, 0).sum() + np.maximum(x_on - ratio * y_on, 0).sum()
    smaller = np.maximum(y_end - ratio * x_end, 0).sum() + np.maximum(y_on - ratio * x_on, 0).sum()
    return float(max(larger, smaller)) / case["delta"]


def by_true_weight(case: dict) -> float:
    """Hopeless keys leave by their true weight: below the cut always, one user more and never."""
    base = case["cut"] - 1
    return (1 - float(DiscreteGaussian(case["sigma"][0]).tail(case["threshold"][0] - base))) / case["delta"]


def whole_budget_each_round(case: dict) -> tuple[float, float]:
    """The twin that calibrates each of two rounds as if it were the only one, over delta.

    Its noise is that of round 1 at three times the share of mu^2, on the reference's grid of 1/64; thresholds
    and cut are those of this noise. (At the thresholds and base weights of the honest rounds the same noise
    spends 3.91 and 9.53.) First at the four base weights of the reference, then at every one.
    """
    unit, delta = case["unit"], case["delta"]
    sigma = math.ceil(64 * case["sigma"][0] / math.sqrt(sum(STEERED.squares))) / 64
    added, isolated = calibration.weights(case["largest_set"], unit), (1 - STEERED.common) * delta
    thresholds = []
    for share in STEERED.isolated:
        part = isolated * share / sum(STEERED.isolated)
        tails = np.array([one_of(size, part) for size in range(1, case["largest_set"] + 1)])
        thresholds.append(calibration.hiding(DiscreteGaussian(sigma), added, tails))
    cut, high = math.floor(1.5 * sigma), thresholds[0]
    rounds = KeyRound(sigma, high, cut), KeyRound(sigma, thresholds[1])
    spent = [
        common_key(rounds, unit, case["epsilon"], base) / delta
        for base in range(1, high + 3 * math.ceil(sigma))
    ]
    places = (cut - 1, cut + round(sigma), (cut + high) // 2, high)
    return max(spent[base - 1] for base in places), max(spent)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: str(case["unit"]))
def test_steered_selection_is_enumerated_and_its_twins_are_refuted(case: dict) -> None:
    bases = range(1, case["threshold"][0] + 3 * math.ceil(case["sigma"][0]))
    worst = max(one_key(case, base) for base in bases)
    assert worst == pytest.approx(case["worst_one_key_over_delta"], rel=1e-3)
    assert worst <= 1
    new = max(common_and_new(case, base) for base in bases)
    assert new == pytest.approx(case["worst_common_and_new_key_over_delta"], rel=5e-3)
    twin, everywhere = whole_budget_each_round(case)
    assert twin == pytest.approx(case["twin_whole_budget_each_round"], rel=1e-3)
    assert everywhere >= twin > 3.6
    assert by_true_weight(case) == pytest.approx(case["twin_steered_by_true_weight"], rel=1e-3)


@pytest.mark.parametrize("case", SMALL, ids=lambda case: str(case["unit"]))
def test_new_keys_are_shown_as_rarely_as_claimed(case: dict) -> None:
    laws = [DiscreteGaussian(sigma) for sigma in case["sigma"]]
    total = 0.0
    for law, threshold in zip(laws, case["threshold"], strict=True):
        shown = [
            any_of(size, float(law.tail(threshold - math.isqrt(case["unit"] ** 2 // size))))
            for size in range(1, case["largest_set"] + 1)
        ]
        total += max(shown)
    assert total / case["delta"] == pytest.approx(case["isolated_bound_over_delta"], abs=1e-3)


def test_one_round_is_enumerated_on_small_weights() -> None:
    """Sets of up to four keys, of which some are new: exact on the integers, both ways."""
    (case,) = WEIGHTS["enumerated"]
    law, worst = DiscreteGaussian(case["sigma"]), 0.0
    for size in range(1, case["largest_set"] + 1):
        weight = math.isqrt(case["unit"] ** 2 // size)
        for isolated in range(size + 1):
            hidden = (1 - float(law.tail(case["threshold"] - weight))) ** isolated
            gamma, common = math.log(hidden), size - isolated
            for epsilon, shown in ((case["epsilon"] - gamma, True), (case["epsilon"] + gamma, False)):
                spent = together(law, common, weight, epsilon)
                worst = max(worst, 1 - hidden + hidden * spent if shown else spent)
    assert worst / case["delta"] == pytest.approx(case["worst_over_delta"], rel=1e-4)


def together(law: DiscreteGaussian, common: int, weight: int, epsilon: float) -> float:
    """The divergence of `common` values that change by `weight` together, by the sum of their noises."""
    if not common:
        return 0.0
    spread = DiscreteGaussian(float(law.sigma) * math.sqrt(common))
    sums = np.arange(-int(13 * float(spread.sigma)), int(13 * float(spread.sigma)) + 1)
    loss = (2 * weight * sums + common * weight**2) / (2 * float(law.sigma) ** 2)
    return float(np.asarray(spread.pmf(sums)) @ -np.expm1(np.minimum(epsilon - loss, 0)))
