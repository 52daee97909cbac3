"""Thresholds against sums in 60 decimal digits: each is the least that keeps its tail within delta."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import pytest

from hushcount.mechanisms import thresholds

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "space_saving.json").read_text())


class DecimalLaplace:
    """The discrete Laplace law in decimals, straight from its definition."""

    def __init__(self, epsilon: float, divisor: int = 1) -> None:
        self.a = (-Decimal(epsilon) / divisor).exp()

    def pmf(self, z: int) -> Decimal:
        return (1 - self.a) / (1 + self.a) * self.a ** abs(z)

    def tail(self, m: int) -> Decimal:
        return self.a**m / (1 + self.a) if m >= 1 else 1 - self.a ** (1 - m) / (1 + self.a)

    def mixed(self, tail: Callable[[int], Decimal], threshold: int) -> Decimal:
        """Sum over z0 of P[z0] tail(threshold + z0); the part left out is below 1e-40 of the whole."""
        span = threshold + int(100 / -float(self.a.ln()))
        return sum((self.pmf(z0) * tail(threshold + z0) for z0 in range(-span, span + 1)), Decimal(0))


def floor_tail(epsilon: float, threshold: int) -> Decimal:
    law = DecimalLaplace(epsilon)
    return law.mixed(lambda m: 1 - (1 - law.tail(m - 1)) * (1 - law.tail(m)), threshold)


def standard_tail(epsilon: float, threshold: int, candidates: int) -> Decimal:
    law = DecimalLaplace(epsilon)
    return law.mixed(lambda m: 1 - (1 - law.tail(m - 1)) ** candidates, threshold)


def chan_tail(epsilon: float, threshold: int, candidates: int) -> Decimal:
    return 1 - (1 - DecimalLaplace(epsilon, candidates).tail(threshold - 1)) ** candidates


def dpss_tail(epsilon: float, margin: int) -> Decimal:
    law = DecimalLaplace(epsilon)
    return 1 - (1 - law.tail(margin)) * (1 - law.tail(margin + 1))


def laplace_tail(epsilon: float, threshold: int) -> Decimal:
    return DecimalLaplace(epsilon).tail(threshold - 1)


def assert_least(tail: Callable[[int], Decimal], threshold: int, delta: float) -> None:
    with localcontext() as context:
        context.prec = 400 if delta < 1e-100 else 60
        assert tail(threshold) <= Decimal(delta)
        assert tail(threshold - 1) > Decimal(delta)


BUDGETS = [(1.0, 1e-6), (0.1, 1e-6), (2.0, 1e-6), (1.0, 1e-9), (0.3, 0.1), (20.0, 1e-12), (5.0, 1e-300)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_floor_threshold_is_the_least(epsilon: float, delta: float) -> None:
    threshold = thresholds.floor_threshold(epsilon, delta)
    assert_least(lambda t: floor_tail(epsilon, t), threshold, delta)
    assert thresholds.pmg_threshold(epsilon, delta) == threshold


@pytest.mark.parametrize("candidates", [1, 2, 3, 256, 100_000])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_standard_threshold_is_the_least(epsilon: float, delta: float, candidates: int) -> None:
    threshold = thresholds.standard_threshold(epsilon, delta, candidates)
    assert_least(lambda t: standard_tail(epsilon, t, candidates), threshold, delta)


@pytest.mark.parametrize("candidates", [1, 7, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_chan_threshold_is_the_least(epsilon: float, delta: float, candidates: int) -> None:
    threshold = thresholds.chan_threshold(epsilon, delta, candidates)
    assert_least(lambda t: chan_tail(epsilon, t, candidates), threshold, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [*BUDGETS, (1e-4, 1e-300)])
def test_margin_and_laplace_threshold_are_the_least(epsilon: float, delta: float) -> None:
    if thresholds.dpss_margin(epsilon, delta) > 1:
        assert_least(lambda m: dpss_tail(epsilon, m), thresholds.dpss_margin(epsilon, delta), delta)
    assert_least(lambda t: laplace_tail(epsilon, t), thresholds.laplace_threshold(epsilon, delta), delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "threshold"), [(1, 1e-6, 17), (0.1, 1e-6, 161), (2, 1e-6, 9), (1, 1e-9, 25)]
)
def test_floor_thresholds_of_the_specification(epsilon: float, delta: float, threshold: int) -> None:
    assert thresholds.floor_threshold(epsilon, delta) == threshold


@pytest.mark.parametrize("vector", VECTORS["floor_release"], ids=str)
def test_thresholds_equal_the_vectors(vector: dict[str, float]) -> None:
    epsilon, delta = vector["epsilon"], vector["delta"]
    assert thresholds.floor_threshold(epsilon, delta) == vector["threshold"]
    assert thresholds.pmg_threshold(epsilon, delta) == vector["pmg_threshold"]
    assert thresholds.standard_threshold(epsilon, delta, 256) == vector["standard_mg_k256"]


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-300])
def test_printed_threshold_is_never_below_the_exact_one(epsilon: float, delta: float) -> None:
    assert thresholds.pmg_paper_threshold(epsilon, delta) >= thresholds.pmg_threshold(epsilon, delta)


def test_printed_thresholds() -> None:
    printed = [thresholds.pmg_paper_threshold(e, d) for e, d in [(1, 1e-6), (2, 1e-6), (1, 1e-9)]]
    assert printed == [33, 17, 47]


def test_tiny_epsilon_takes_the_union_bound() -> None:
    """Where the table would be too long: never below the exact value of one candidate."""
    few, many = (thresholds.standard_threshold(1e-7, 1e-6, candidates) for candidates in (1, 1000))
    assert few < many < few + 1e8
