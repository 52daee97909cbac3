"""What the floor release and DPSS publish for given noise, and that their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.mechanisms.scripted import floored, rows, scripted

from hushcount.mechanisms.counters.floor import (
    BoundedLengthRelease,
    FloorError,
    FloorRelease,
)
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.bits import system_bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public

BUDGET = Budget(1.0, 1e-6)  # G = 17
LAW = DiscreteLaplace(1.0)


def test_floor_release_publishes_from_the_threshold_on() -> None:
    mechanism = scripted(FloorRelease(BUDGET), 3, 0, -1, 2, 100)
    result = mechanism.release(floored(at=20, under=20, over=20, far=0), system_bits())
    assert result.floor == 23
    assert rows(result) == [("far", 120), ("over", 42), ("at", 40)]
    assert dict(result.guarantee.parameters) == {"threshold": 17, "candidates": 7}


def test_rows_do_not_depend_on_the_order_of_the_candidates() -> None:
    one = scripted(FloorRelease(BUDGET), 0, 1, 2, 1).release(floored(b=40, c=40, a=40), system_bits())
    other = scripted(FloorRelease(BUDGET), 0, 1, 1, 2).release(floored(a=40, b=40, c=40), system_bits())
    assert rows(one) == rows(other) == [("c", 62), ("a", 61), ("b", 61)]


def test_dpss_publishes_from_the_threshold_on() -> None:
    public = Public(candidates=7, parts=8, max_events=200)
    mechanism = BoundedLengthRelease(BUDGET, public)
    assert mechanism.threshold == 25 + 1 + 14
    result = scripted(mechanism, 0, -1, 0).release(floored(at=20, under=20, far=90), system_bits())
    assert rows(result) == [("far", 110), ("at", 40)]
    assert dict(result.guarantee.parameters) == {"threshold": 40, "max_events": 200}
    assert result.floor is None


def noise_grid(span: int = 45) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    z = np.arange(-span, span + 1)
    key, floor = np.meshgrid(z, z)
    return key, floor, np.outer(LAW.pmf(z), LAW.pmf(z))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("height", "floor"), [(30, 0), (30, 1), (30, 4), (0, 50), (60, 200)])
@pytest.mark.parametrize("end", ["true = count", "true = count - floor"])
def test_floor_interval_covers_the_truth(confidence: float, height: int, floor: int, end: str) -> None:
    count = height + floor
    true = count if end == "true = count" else height
    key, shared, mass = noise_grid()
    failure = 0.0
    for noisy_floor in np.unique(floor + shared):
        below, above = FloorError(LAW, int(noisy_floor), 7).interval(confidence)
        here = floor + shared == noisy_floor
        outside = (true < count + key - below) | (true > count + key + above)
        failure += mass[here & outside].sum()
    assert failure <= 1 - confidence + 1e-12


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("noisy_floor", [-9, -3, -1, 0, 2])
def test_floor_interval_covers_the_truth_given_the_published_floor(
    confidence: float, noisy_floor: int
) -> None:
    """A floor below 0 shows its own noise to every reader; the interval must not shrink by it."""
    z = np.arange(-60, 61)
    below, above = FloorError(LAW, noisy_floor, 7).interval(confidence)
    assert LAW.pmf(z)[(z > below) | (z < -above)].sum() <= 1 - confidence + 1e-12


def test_floor_interval_is_not_wasteful() -> None:
    """With a floor of 0 both ends bind: a bound one less on both sides would fail."""
    key, shared, mass = noise_grid()
    below, above = FloorError(LAW, 1000, 7).interval(0.95)
    noise = below - 1000
    failure = mass[(key < -above) | (key - shared > noise)].sum()
    tighter = mass[(key < -(above - 1)) | (key - shared > noise - 1)].sum()
    assert failure <= 0.05 < tighter


@pytest.mark.parametrize("keys", [1, 7, 500])
def test_simultaneous_floor_bounds_cover_all_candidates(keys: int) -> None:
    below, above = FloorError(LAW, 1000, keys).simultaneous(0.95)
    z = np.arange(-60, 61)
    none_above = (1 - float(LAW.tail(above + 1))) ** keys
    none_below = (LAW.pmf(z) * (1 - LAW.tail(below - 1000 + 1 + z)) ** keys).sum()
    assert (1 - none_above) + (1 - none_below) <= 0.05 + 1e-12
    if keys == 1:
        assert (below, above) == FloorError(LAW, 1000, keys).interval(0.95)


def test_bounds_grow_with_confidence_and_never_turn_around() -> None:
    assert FloorError(LAW, -30, 7).interval(0.95) == FloorError(LAW, 0, 7).interval(0.95) == (3, 3)
    assert FloorError(LAW, 30, 7).interval(0.999)[0] > FloorError(LAW, 30, 7).interval(0.9)[0]


def test_dpss_bounds() -> None:
    error = EstimateError(LAW, 7, added=25)
    assert error.interval(0.95) == (28, 3)
    below, above = error.simultaneous(0.95)
    assert 1 - (1 - 2 * float(LAW.tail(above + 1))) ** 7 <= 0.05
    assert below == 25 + above


def test_sentences_name_the_bounds() -> None:
    assert FloorError(LAW, 20, 7).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result"
        " lies between count - 23 and count + 3.",
        "The sketch may overcount a key by about 20, which the interval includes; more counters lower this.",
    )
    assert FloorError(LAW, -6_701_700_363, 7).sentences(0.95)[1] == (
        "What the sketch may overcount a key by is less than the noise."
    )
    assert EstimateError(LAW, 7, added=25).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result"
        " lies between count - 28 and count + 3.",
        "The sketch may have added up to 25, max_events divided by its counters.",
    )
