"""Sampling schemes: monotone integers that agree with the floats, refusals in one sentence."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.schemes import (
    EVERY_KEY,
    RELATIVE_ERROR,
    Pps,
    Ppswor,
    Scheme,
    rate_for_size,
)
from hushcount.mechanisms.sampling.tabled import SamplingTable

SCHEMES: list[Scheme] = [
    EVERY_KEY,
    *(
        kind(rate, power)
        for kind in (Ppswor, Pps)
        for rate in (1e-12, 1e-3, 0.7)
        for power in (0, 0.5, 1, 1.7, 2)
    ),
    Ppswor(7.5),
    SamplingTable((0, 0.25, Fraction(1, 3), 1.0)),
]
WIDTHS = [128, 192, 640]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_integer_probabilities_never_decrease_and_agree_with_the_floats(scheme):
    generator = np.random.default_rng(1)
    starts = [0, 1, 40, *np.exp(generator.uniform(0, math.log(1e15), 12)).astype(int).tolist()]
    for width in WIDTHS:
        for start in starts:
            counts = np.arange(start, start + 4)
            integers = [scheme.integer_probability(int(count), width) for count in counts]
            assert integers == sorted(integers)
            assert 0 <= integers[0] <= integers[-1] <= 1 << width
            for integer, number in zip(integers, scheme.probability(counts), strict=True):
                assert abs(integer / (1 << width) - number) <= RELATIVE_ERROR / 8 * number + 2.0**-width


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)
def test_from_the_certain_count_on_the_integer_is_whole(scheme):
    for width in WIDTHS:
        certain = scheme.certain_from(width)
        if certain is not None:
            assert scheme.integer_probability(certain, width) == 1 << width
            assert scheme.probability(np.array([certain]))[0] == 1


def test_count_0_is_never_sampled():
    for scheme in SCHEMES:
        assert scheme.integer_probability(0, 128) == 0
        assert scheme.probability(np.array([0, -3])).tolist() == [0, 0]


def test_known_values():
    assert Pps(0.25).probability([1, 2, 4, 9]).tolist() == [0.25, 0.5, 1, 1]
    assert Ppswor(0.1, 2).probability([3])[0] == pytest.approx(1 - math.exp(-0.9))
    assert SamplingTable((0.5, 0.5, 0.75)).probability([1, 3, 99]).tolist() == [0.5, 0.75, 0.75]
    assert Pps(0.5).integer_probability(1, 128) == 1 << 127
    assert EVERY_KEY.certain_from(128) == 1
    assert Pps(0.5, 0).certain_from(128) is None


def test_a_size_becomes_a_rate_by_public_numbers():
    assert rate_for_size(100, 1, 10_000) == 0.01
    assert rate_for_size(100, 0.5, 10_000) == 0.01
    assert rate_for_size(100, 2, 10_000) == 1e-6
    assert rate_for_size(100, 1, 10) == 1


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Pps(0), "rate must be a finite number above 0, got 0."),
        (lambda: Pps(-0.1), "rate must be a finite number above 0, got -0.1."),
        (lambda: Pps(math.nan), "rate must be a finite number above 0, got nan."),
        (lambda: Pps(True), "rate must be a number, got True."),
        (lambda: Pps("much"), "rate must be a number, got 'much'."),
        (lambda: Pps(None), "rate must be a number, got None."),
        (lambda: Ppswor(0), "rate must be a finite number above 0, got 0."),
        (lambda: Ppswor(math.inf), "rate must be a finite number above 0, got inf."),
        (lambda: Ppswor(0.1, 2.5), "power must lie between 0 and 2, got 2.5."),
        (lambda: Ppswor(0.1, -1), "power must lie between 0 and 2, got -1."),
        (lambda: Pps(0.1, math.nan), "power must lie between 0 and 2, got nan."),
        (lambda: Pps(0.1, True), "power must be a number, got True."),
        (lambda: rate_for_size(0, 1, 10), "size must be at least 1, got 0."),
        (lambda: rate_for_size(1.5, 1, 10), "size must be a whole number, got 1.5."),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, text):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == text


@pytest.mark.parametrize(("power", "limit"), [(1.0, "1000"), (2.0, "500")])
def test_a_bound_no_float_can_hold_is_refused(power, limit):
    with pytest.raises(ParameterError) as error:
        rate_for_size(10, power, 10**400)
    assert str(error.value) == f"max_events must be below 2^{limit}, got a larger one."
