"""Samples of a wanted size: the rate that a total sets, the calibration, what is stated, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.mechanisms.sampling.sized import SizedSample, WantedSize
from hushcount.mechanisms.total import WithTotal
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, USER, Budget
from hushcount.releases.key_list import KeyList
from hushcount.shapes import FloorCounters, Histogram, Public

BUDGET = Budget(1.0, 1e-6)
COUNTS = Histogram(pa.array(["a", "b"]), np.array([5000, 3000]))
WHOLE = WithTotal(COUNTS, 8000)


def test_the_rate_is_a_function_of_total_and_size_alone():
    assert WantedSize(10).drawn_by(1000) == Pps(0.01)
    assert WantedSize(10, "ppswor", 2.0).drawn_by(1000) == Ppswor(1e-5, 2.0)
    assert WantedSize(10, power=0.5).drawn_by(1000) == Pps(0.01, 0.5)
    assert WantedSize(10).drawn_by(1) == Pps(1.0)


def test_the_budget_is_divided_and_charged_once():
    mechanism = SizedSample(BUDGET, Public(unit=replace(USER, rows=4)), WantedSize(10, share=0.25))
    assert mechanism.noise == DiscreteLaplace(0.0625)
    assert mechanism.sample.budget.epsilon == pytest.approx(0.75, rel=1e-12)
    assert mechanism.sample.budget.epsilon <= 0.75
    assert mechanism.sample.budget.delta == 1e-6
    assert tuple(map(float, (mechanism.event().epsilon, mechanism.event().delta))) == (1.0, 1e-6)


def test_the_total_is_drawn_and_then_the_sample():
    bits = SeededBits(3)
    release = SizedSample(BUDGET, wanted=WantedSize(10, share=0.5)).release(WHOLE, bits)
    again = SeededBits(3)
    total = 8000 + int(DiscreteLaplace(0.5).sample(1, again)[0])
    known = SizedSample(BUDGET, wanted=WantedSize(10, share=0.5), total=total)
    assert release.guarantee.parameters["total"] == total
    assert release.table == known.release(WHOLE, again).table
    assert release.made.recipe["total"] == total
    assert release.made.recipe["mechanism"] == "sized-sample"


def test_a_total_is_at_least_one():
    empty = WithTotal(Histogram(pa.array([], pa.string()), np.zeros(0, np.int64)), 0)
    seen = {
        SizedSample(BUDGET).release(empty, SeededBits(seed)).guarantee.parameters["total"]
        for seed in range(40)
    }
    assert min(seen) == 1
    assert len(seen) > 5


def test_keys_alone():
    release = SizedSample(BUDGET, wanted=WantedSize(100, keys_only=True)).release(WHOLE, SeededBits(1))
    assert isinstance(release, KeyList)
    assert release.table["key"].to_pylist() == ["a", "b"]
    assert release.guarantee.epsilon == 1.0


def test_what_is_known_before_and_after_the_total():
    before = SizedSample(BUDGET, wanted=WantedSize(10))
    assert set(before.foretold(EVENT).parameters) == {"size", "total_share", "total_noise", "sample_epsilon"}
    with pytest.raises(ParameterError) as caught:
        before.forecast()
    assert str(caught.value) == (
        "The rate of this sample follows from a noisy total, which is not drawn yet."
    )
    after = SizedSample(BUDGET, wanted=WantedSize(10), total=1000)
    assert after.foretold(EVENT).parameters["scheme"] == Pps(0.01).name
    assert after.forecast().smallest(0.95, 0.0) == after.sample.forecast().smallest(0.95, 0.0)


def test_refusals():
    with pytest.raises(ParameterError) as caught:
        SizedSample(Budget(1.0, 1e-6), Public(), WantedSize(10, share=1e-9))
    assert str(caught.value).startswith("total_share must be at least ")
    with pytest.raises(ParameterError) as caught:
        SizedSample(Budget(1e-6, 1e-6), Public(unit=replace(USER, rows=100)), WantedSize(10))
    assert str(caught.value).startswith("total_share needs an epsilon of at least ")
    counters = WithTotal(FloorCounters(COUNTS.keys, COUNTS.counts, 0, 2, 3), 8000)
    with pytest.raises(NotProvedError, match=r"^sample is proved for "):
        SizedSample(BUDGET).release(counters, SeededBits(1))
    with pytest.raises(ParameterError, match=r"^rows of one unit must be 2 as calibrated, got 1\.$"):
        SizedSample(BUDGET, Public(unit=replace(USER, rows=2))).release(WHOLE, SeededBits(1))
