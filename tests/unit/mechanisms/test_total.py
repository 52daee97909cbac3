"""A table with a noisy total: what it takes of the budget, whose rows it counts, and what it refuses."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.registry import prepare
from hushcount.mechanisms.total import TotalRelease, WithTotal, rest_of, total_noise
from hushcount.privacy import EVENT, USER, Budget
from hushcount.shapes import ExactCounts, FloorCounters, Histogram, Public

BUDGET = Budget(1.0, 1e-6)
KEYS, COUNTS = pa.array(["a", "b", "c"]), np.array([900, 400, 2])


def test_the_total_takes_its_share_exactly_and_the_table_the_rest():
    public = Public(unit=replace(USER, rows=8), moved=8, shape=ExactCounts)
    own = TotalRelease(BUDGET, public, None, 0.1)
    assert own.noise.exact_epsilon == Fraction(1, 80)
    assert own.table.name == "gaussian"
    assert 0.9 * (1 - 2.0**-50) < own.table.budget.epsilon < 0.9
    assert own.table.budget.delta == BUDGET.delta
    event = own.event()
    assert (event.epsilon, event.delta) == (prepare(None, BUDGET, public).event().epsilon, event.delta)


def test_the_table_is_that_of_its_mechanism_at_the_smaller_budget():
    shape = FloorCounters(KEYS, COUNTS, 0, 63, 64)
    own = TotalRelease(BUDGET, shape.public(), "floor")
    alone = prepare("floor", rest_of(BUDGET, 0.05), shape.public()).release(shape, SeededBits(3))
    whole = own.release(WithTotal(shape, 1302), SeededBits(3))
    assert whole.table == alone.table
    assert (whole.guarantee.epsilon, whole.guarantee.delta) == (1.0, 1e-6)
    assert whole.guarantee.parameters["total_noise"] == "discrete Laplace of scale 20"
    assert whole.guarantee.proof.endswith("docs/proofs/histograms/total.md")
    assert own.foretold(EVENT).parameters["table_epsilon"] == own.table.budget.epsilon
    assert own.forecast().threshold == own.table.forecast().threshold


def test_noise_is_drawn_for_the_total():
    shape = Histogram(KEYS, COUNTS)
    own = TotalRelease(BUDGET, shape.public(), "laplace-threshold", 0.5)
    drawn = [own.release(WithTotal(shape, 1302), SeededBits(seed)).total.value for seed in range(400)]
    assert len(set(drawn)) > 5
    assert abs(np.mean(drawn) - 1302) < 6 * np.sqrt(own.noise.variance / 400)


def test_refusals():
    shape = Histogram(KEYS, COUNTS, replace(USER, rows=2))
    own = TotalRelease(BUDGET, Public(unit=USER, shape=Histogram), "laplace-threshold")
    with pytest.raises(ParameterError) as refused:
        own.release(WithTotal(shape, 1302), SeededBits(1))
    assert str(refused.value) == "rows of one unit must be 1 as calibrated, got 2."
    with pytest.raises(NotProvedError) as unproved:
        own.release(shape, SeededBits(1))
    assert str(unproved.value) == (
        "total is proved for a summary with its total, not for exact counts; ask for the total with"
        " hc.top(other=True)."
    )
    with pytest.raises(ParameterError) as small:
        total_noise(Budget(1e-6, 1e-6), 0.05, 256)
    assert str(small.value) == "other needs an epsilon of at least 5.12e-06, got 1e-06."
    for tiny in (1e-12, 1e-320):
        with pytest.raises(ParameterError) as small:
            total_noise(Budget(1.0, 1e-8), tiny, 1)
        assert str(small.value) == f"other_share must be at least 1e-09 here, got {tiny:g}."
