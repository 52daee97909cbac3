"""The exact Bernoulli draws, bit by bit."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.seeded_bits import DictatedBits, packed

from hushcount.noise.expansions import Expansion, bernoullis, exp_interval, exponential, logistic, settle
from hushcount.noise.rejection import leading_digits

EXPONENTS = [
    Fraction(1),
    Fraction(1, 10),
    Fraction(0.1),
    Fraction(1e-9),
    Fraction(1, 3),
    Fraction(1, 2),
    Fraction(7, 3),
    Fraction(12),
    Fraction(22.9),
    Fraction(700),
    Fraction(65537),
    Fraction(10**30 + 1, 10**31),
]


def exactly(exponent, digits=1200):
    """exp(-exponent) to `digits` binary digits, relative."""
    mpmath.mp.prec = digits
    return mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workprec(1200):
        yield


@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
@pytest.mark.parametrize("precision", [1, 16, 48, 112, 1000])
def test_the_interval_holds_the_exponential_and_is_tight(exponent, precision):
    low, high = exp_interval(exponent, precision)
    truth = exactly(exponent, 1400) * mpmath.mpf(2) ** precision
    assert low <= truth <= high
    assert high - low <= 2


def test_the_interval_holds_on_many_random_rationals():
    generator = np.random.default_rng(5)
    for _ in range(500):
        exponent = Fraction(int(generator.integers(1, 1 << 40)), int(generator.integers(1, 1 << 40)))
        exponent = min(exponent, Fraction(1000))
        precision = int(generator.integers(1, 300))
        low, high = exp_interval(exponent, precision)
        assert low <= exactly(exponent) * mpmath.mpf(2) ** precision <= high
        assert high - low <= 2


def test_the_exponential_of_zero_is_one():
    low, high = exp_interval(Fraction(0), 20)
    assert low <= 1 << 20 <= high


@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
@pytest.mark.parametrize("count", [1, 16, 80, 400, 17])
def test_leading_digits_are_those_of_the_probability(exponent, count):
    power = mpmath.mpf(2) ** count
    a = exactly(exponent)
    assert exponential(exponent).leading(count) == int(mpmath.floor(a * power))
    assert logistic(exponent).leading(count) == int(mpmath.floor(a / (1 + a) * power))
    assert logistic(exponent, factor=2).leading(count) == int(mpmath.floor(2 * a / (1 + a) * power))


def test_digits_asked_for_in_any_order_agree():
    expansion = exponential(Fraction(1, 7))
    long = expansion.leading(300)
    assert expansion.leading(10) == long >> 290
    assert exponential(Fraction(1, 7)).leading(10) == long >> 290


def test_a_wide_interval_is_narrowed_until_the_digits_are_certain():
    asked = []

    def interval(precision):
        asked.append(precision)
        third = (1 << precision) // 3
        return third - (1 << 40), third + (1 << 40)

    assert Expansion(interval).leading(8) == 256 // 3
    assert asked == [40, 72]


@pytest.mark.parametrize("exponent", [Fraction(1), Fraction(1, 1000), Fraction(9, 2), Fraction(40)], ids=str)
def test_all_short_words_and_both_sides_of_the_tie(exponent):
    """Drive the draw with every 16-bit string: p 2^80 of the 2^80 strings hit, to the last one."""
    p = logistic(exponent)
    lead, further = p.leading(16), p.leading(80) % (1 << 64)
    every = np.arange(1 << 16)
    for word, decided in [(further - 1, True), (further + 1, False)]:
        if not 0 <= word < 1 << 64:
            continue
        hits = bernoullis(p, 1 << 16, DictatedBits([packed(every), [word]]))
        assert np.array_equal(hits, (every < lead) | ((every == lead) & decided))
    assert lead * (1 << 64) + further == p.leading(80)


def test_a_tie_goes_on_for_as_long_as_it_lasts():
    p = exponential(Fraction(3, 5))
    words = [(p.leading(16 + 64 * n)) % (1 << 64) for n in (1, 2, 3, 4)]
    calls = [packed([p.leading(16)]), *[[word] for word in words[:3]]]
    assert bernoullis(p, 1, DictatedBits([*calls, [words[3] - 1]])).tolist() == [True]
    bits = DictatedBits([*calls, [words[3] + 1]])
    assert bernoullis(p, 1, bits).tolist() == [False]
    assert bits.used_up


def test_settle_from_the_start_uses_all_digits():
    p = exponential(Fraction(2))
    assert settle(p, 0, DictatedBits([[p.leading(64) - 1]]))
    assert not settle(p, 0, DictatedBits([[p.leading(64) + 1]]))


def test_a_twin_that_counts_ties_as_hits_has_another_law():
    p = logistic(Fraction(1))
    twin = Fraction(p.leading(16) + 1, 1 << 16)
    low, high = Fraction(p.leading(200), 1 << 200), Fraction(p.leading(200) + 1, 1 << 200)
    assert not low <= twin <= high


@pytest.mark.parametrize("place", range(4))
def test_the_tables_of_the_acceptance_step(place):
    table = leading_digits(place)
    assert table[0] == 1 << 16
    with mpmath.workprec(400):
        for octet in range(1, 256):
            p = mpmath.exp(-mpmath.mpf(octet << (8 * place)) / (1 << 16))
            assert table[octet] == int(p * (1 << 16))
