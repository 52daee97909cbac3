"""Probabilities of one of many events, and tails of differences against sums in decimals."""

from __future__ import annotations

import math

import pytest

from hushcount.noise import tails


def test_one_of_undoes_any_of() -> None:
    assert tails.any_of(1000, tails.one_of(1000, 0.05)) == pytest.approx(0.05, rel=1e-12)
    assert tails.one_of(10**6, 1e-300) == pytest.approx(1e-306, rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("m", [0, 1, 2, 7])
def test_tail_of_a_difference_is_the_sum_over_both_noises(epsilon: float, m: int) -> None:
    a, span = math.exp(-epsilon), int(80 / epsilon)
    pmf = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-span, span + 1)}
    exact = math.fsum(pmf[x] * pmf[x - d] for d in range(m, span) for x in range(d - span, span + 1))
    assert math.exp(tails.log_difference_tail(epsilon, m)) == pytest.approx(exact, rel=1e-9)
