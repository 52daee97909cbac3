"""What the releases of many moved keys publish for given noise, and that their intervals hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.mechanisms.scripted import rows

from hushcount.errors import ParameterError
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.histograms.many_keys import LowerEstimateError
from hushcount.mechanisms.histograms.merged import LaplaceManyKeys
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
    object.__setattr__(mechanism, "law", GivenNoise(1, 0, -7))
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


def test_intervals_of_sketches_need_a_public_length_for_their_upper_end() -> None:
    counted = shape({"a": 500})
    below, above = LowerEstimateError.of(LAW, counted, Public()).interval(0.95)
    assert above is None
    assert float(LAW.tail(below + 1)) <= 0.05 < float(LAW.tail(below))
    error = LowerEstimateError.of(LAW, counted, Public(max_events=1100))
    assert error.left_out == 100
    below, above = error.interval(0.95)
    assert above == 100 + below
    assert 2 * float(LAW.tail(below + 1)) <= 0.05 < 2 * float(LAW.tail(below))
    together = error.simultaneous(0.95)
    assert together is not None
    assert 1 - (1 - 2 * float(LAW.tail(together[0] + 1))) ** 10 <= 0.05


def test_exact_counts_have_both_ends() -> None:
    exact = ManyKeys(pa.array(["a"]), np.array([500]), 3, unit=USER)
    error = LowerEstimateError.of(LAW, exact, Public())
    below, above = error.interval(0.95)
    assert below == above
    assert error.simultaneous(0.95) is None
    assert error.sentences(0.95) == (
        "With confidence 0.95 the true count of a key named beforehand lies between"
        f" count - {below} and count + {above}.",
        "Counts are exact up to noise.",
    )


def test_sentences_name_what_was_left_out() -> None:
    assert LowerEstimateError(LAW, 10, None).sentences(0.95) == (
        "With confidence 0.95 the true count of a key named beforehand is at least count - 21.",
        "count is a lower estimate with noise; max_events would bound what the sketch left out.",
    )
    assert LowerEstimateError(LAW, 10, 100).sentences(0.95)[1] == (
        "The sketch may have left out up to 100, by max_events and its counters."
    )
