"""What PMG and its kin publish for given noise, and that their bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.mechanisms.scripted import floored, rows, scripted

from hushcount.mechanisms.counters.misra_gries import (
    ChanRelease,
    PrivateMisraGries,
    PrivateMisraGriesPaper,
    PrivateMisraGriesStandard,
    SharedNoiseError,
)
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.bits import system_bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Public

BUDGET = Budget(1.0, 1e-6)
PUBLIC = Public(candidates=7, parts=8)
LAW = DiscreteLaplace(1.0)


def test_pmg_publishes_heights_from_the_threshold_on() -> None:
    mechanism = scripted(PrivateMisraGries(BUDGET), 2, 0, -1, 40)  # threshold 17
    result = mechanism.release(floored(at=15, under=15, zero=0), system_bits())
    assert rows(result) == [("zero", 42), ("at", 17)]
    assert result.floor is None


def test_printed_threshold_is_higher() -> None:
    mechanism = scripted(PrivateMisraGriesPaper(BUDGET), 0, 0, 0)
    assert rows(mechanism.release(floored(at=33, under=32), system_bits())) == [("at", 33)]


def test_standard_pmg_drops_zero_heights_whatever_their_noise() -> None:
    mechanism = PrivateMisraGriesStandard(BUDGET, PUBLIC)
    assert mechanism.threshold == 19
    result = scripted(mechanism, 0, 0, -1, 100).release(floored(at=19, under=19, zero=0), system_bits())
    assert rows(result) == [("at", 19)]


def test_chan_has_no_shared_noise_and_drops_zero_heights() -> None:
    mechanism = ChanRelease(BUDGET, PUBLIC)
    assert float(mechanism.noise.epsilon) == pytest.approx(1 / 7)
    threshold = mechanism.threshold
    shape = floored(at=threshold, under=threshold, zero=0)
    assert rows(scripted(mechanism, 0, -1, 10**6).release(shape, system_bits())) == [("at", threshold)]


@pytest.mark.parametrize("keys", [1, 7, 300])
@pytest.mark.parametrize("largest_floor", [None, 25])
def test_shared_noise_bounds_cover(keys: int, largest_floor: int | None) -> None:
    error = SharedNoiseError(LAW, keys, largest_floor)
    below, above = error.simultaneous(0.95)
    z = np.arange(-60, 61)
    one_sided = 1 - (LAW.pmf(z) * (1 - LAW.tail(below + 1 + z)) ** keys).sum()
    assert one_sided <= (0.05 if largest_floor is None else 0.025) + 1e-12
    assert above == (None if largest_floor is None else largest_floor + below)
    if keys == 1:
        assert error.interval(0.95) == (below, above)


def test_independent_noise_bounds() -> None:
    assert EstimateError(LAW, 7, None).interval(0.95) == (2, None)
    below, above = EstimateError(LAW, 7, 25).simultaneous(0.95)
    assert 1 - (1 - float(LAW.tail(below + 1))) ** 7 <= 0.025
    assert above == 25 + below


def test_a_lower_estimate_has_no_upper_end_without_a_public_length() -> None:
    result = scripted(PrivateMisraGries(BUDGET), 0, 0).release(floored(a=50), system_bits())
    object.__setattr__(result, "error", SharedNoiseError(LAW, 7, None))
    assert result.table.to_pylist() == [{"key": "a", "count": 50, "lower": 47, "upper": None}]
    assert (result.accuracy().above, result.accuracy().simultaneous_above) == (None, None)


def test_sentences_name_the_bounds() -> None:
    assert SharedNoiseError(LAW, 7, None).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result is at least count - 3.",
        "count is a lower estimate; max_events would bound what the sketch left out of it.",
    )
    assert SharedNoiseError(LAW, 7, 25).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result"
        " lies between count - 4 and count + 29.",
        "count is a lower estimate; the sketch may have left out up to 25 of it, by max_events and its"
        " counters.",
    )
