"""What the stability histogram publishes for given noise, and that its intervals hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.mechanisms.scripted import rows, scripted

from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.intervals import EstimateError
from hushcount.noise.bits import system_bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import Histogram

LAW = DiscreteLaplace(1.0)


def test_publishes_from_the_threshold_on() -> None:
    mechanism = LaplaceThreshold(Budget(1.0, 1e-6))
    assert mechanism.threshold == 15
    shape = Histogram(pa.array(["at", "under", "far"]), np.array([14, 14, 500]))
    result = scripted(mechanism, 1, 0, -3).release(shape, system_bits())
    assert rows(result) == [("far", 497), ("at", 15)]
    assert dict(result.guarantee.parameters) == {"threshold": 15}


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_interval_is_the_least_that_covers(confidence: float) -> None:
    below, above = EstimateError(LAW).interval(confidence)
    assert below == above
    assert 2 * float(LAW.tail(above + 1)) <= 1 - confidence
    assert above == 0 or 2 * float(LAW.tail(above)) > 1 - confidence


def test_simultaneous_bounds_need_a_public_number_of_keys() -> None:
    assert EstimateError(LAW).simultaneous(0.95) is None
    bounds = EstimateError(LAW, 1000).simultaneous(0.95)
    assert bounds is not None
    assert 1 - (1 - 2 * float(LAW.tail(bounds[1] + 1))) ** 1000 <= 0.05


def test_sentences_name_the_bounds() -> None:
    assert EstimateError(LAW).sentences(0.95) == (
        "With confidence 0.95 the true count of a key chosen before seeing the result lies between"
        " count - 3 and count + 3.",
        "Counts are exact up to noise.",
    )
