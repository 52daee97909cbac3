"""Thresholds and intervals of the gate against reference values of 40 digits."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.continual.thresholds import (
    endless_threshold,
    log_ever,
    overshoot,
    threshold,
    undershoot,
)
from hushcount.noise.laplace import DiscreteLaplace

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "continual.json").read_text())


def test_every_threshold_of_the_vectors():
    assert len(VECTORS["tau"]) == 216
    for row in VECTORS["tau"]:
        epsilon, delta = Fraction(row["epsilon"]), float(row["delta"])
        tau = threshold(epsilon, delta, row["T"], row["L"])
        assert tau == row["tau"]
        for distance, ratio in ((tau - row["L"], "fail_ratio"), (tau - row["L"] - 1, "fail_ratio_below")):
            assert math.exp(log_ever(epsilon, distance, row["T"])) / delta == pytest.approx(
                float(row[ratio]), rel=1e-9
            )
        assert tau + DiscreteLaplace(epsilon).least_tail(0.05) - 1 == row["burst"]


def test_a_larger_least_count_raises_the_threshold_by_as_much():
    for row in VECTORS["tau_check_L"]:
        assert threshold(Fraction(1), 1e-8, row["T"], row["L"]) == row["tau"]


def test_thresholds_without_an_end():
    rows = VECTORS["tau_horizon_free"]
    assert [endless_threshold(Fraction(1), 1e-8, t) for t in rows["t"]] == rows["tau"]


def test_intervals():
    rows = VECTORS["interval"]
    assert [overshoot(Fraction(1), 0.025, periods) for periods in rows["T"]] == rows["k"]
    assert undershoot(Fraction(1), 0.025) == 3


def test_a_gate_of_hardly_any_epsilon_is_refused():
    with pytest.raises(ParameterError, match=r"at least 0\.0001 for a gate"):
        threshold(Fraction(1, 10**6), 1e-8, 24)


def test_keys_that_come_steadily_are_published_as_the_vectors_say():
    """The largest n that the vectors name is published by the last period with their probability."""
    for row in VECTORS["steady"]["rows"]:
        periods, tau, n = row["T"], row["tau"], row["n"]
        assert threshold(Fraction(1), 1e-8, periods) == tau
        z = np.arange(60.0)
        stays = np.ones(len(z))
        for count in [n * t // periods for t in range(1, periods + 1)]:
            if count:
                stays *= 1 - np.exp(-np.maximum(tau + z - count, 0))
        published = 1 - float(np.sum((1 - math.exp(-1)) * np.exp(-z) * stays))
        assert published == pytest.approx(row["p"], rel=1e-9)
