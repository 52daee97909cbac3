"""The exact Bernoulli draws, bit by bit, and the samplers made of them.

Dictated bits force every branch of the samplers, and the exact probability of each branch is added up.
"""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from tests.seeded_bits import DictatedBits, SeededBits, packed

from hushcount.errors import HushcountError
from hushcount.noise import laplace
from hushcount.noise.expansions import (
    ORDER,
    Expansion,
    Rejection,
    bernoullis,
    exp_interval,
    exponential,
    leading_digits,
    logistic,
    settle,
)
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

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


HIT, MISS = 0, 0xFFFF


def real(value):
    value = Fraction(value)
    return mpmath.mpf(value.numerator) / value.denominator


def near(value, truth, relative):
    return abs(value - truth) <= relative * abs(truth)


# The discrete Laplace sampler: every outcome of its Bernoulli draws, and their exact probabilities


def drawn(law, nonzero, digits, carry, sign):
    """The value the sampler makes of the given outcomes, forced through its bits."""
    choice = {True: [HIT], False: [MISS]}
    calls = [packed(choice[nonzero])]
    if nonzero:
        calls += [packed(choice[digit]) for digit in digits] + [packed(choice[carry])]
        calls += [[0x80 if sign else 0]]
    else:
        calls += [[]] * (len(digits) + 2)
    bits = DictatedBits(calls)
    value = law.sample(1, bits)[0]
    assert bits.used_up
    return int(value)


@pytest.mark.parametrize("epsilon", [Fraction(1), 0.5, Fraction(7, 2), 5], ids=str)
def test_the_sampled_law_is_exact(epsilon):
    """Sum the exact probability of all outcomes of the draws by value: it is the law, to 100 digits."""
    law = DiscreteLaplace(epsilon)
    table = laplace.digit_table(law.exact_epsilon)

    def chance(expansion, outcome):
        p = mpmath.mpf(expansion.leading(400)) / 2**400
        return p if outcome else 1 - p

    with mpmath.workprec(450):
        a = mpmath.exp(-real(epsilon))
        assert drawn(law, False, [False] * len(table.digits), False, False) == 0
        assert near(chance(table.nonzero, False), (1 - a) / (1 + a), mpmath.mpf("1e-100"))
        for digits in itertools.product([False, True], repeat=len(table.digits)):
            for sign in (False, True):
                value = drawn(law, True, digits, False, sign)
                p = chance(table.nonzero, True) * chance(table.carry, False) / 2
                for expansion, digit in zip(table.digits, digits, strict=True):
                    p *= chance(expansion, digit)
                assert (value < 0) == sign
                assert near(p, (1 - a) / (1 + a) * a ** abs(value), mpmath.mpf("1e-90"))
        assert near(chance(table.carry, True), a ** (1 << len(digits)), mpmath.mpf("1e-90"))


def carrying(table, low, words):
    """Bits that bring the carry to a tie of its first 16 digits, all 0; the given words decide it."""
    ties = packed([table.carry.leading(16)])
    digits = [packed([HIT if low >> place & 1 else MISS]) for place in range(len(table.digits))]
    return DictatedBits([packed([HIT]), *digits, ties, *[[word] for word in words], [0]])


def test_the_carry_adds_whole_spans_and_starts_afresh():
    law = DiscreteLaplace(1)
    table = laplace.digit_table(Fraction(1))
    assert len(table.digits) == 4
    assert table.carry.leading(16) == 0
    just_below, just_above = table.carry.leading(80) - 1, table.carry.leading(64) + 1
    for spans in (1, 2, 5):
        again = [table.carry.leading(64) - 1] * (spans - 1)
        bits = carrying(table, 0b0101, [just_below, *again, just_above])
        assert law.sample(1, bits).tolist() == [1 + 5 + 16 * spans]
        assert bits.used_up
    bits = carrying(table, 0b0101, [just_below + 2])
    assert law.sample(1, bits).tolist() == [1 + 5]


def test_a_value_beyond_64_bits_is_an_error():
    table = laplace.digit_table(Fraction(1))
    wide = laplace.DigitTable(table.nonzero, table.digits[:1] * 62, table.carry)
    above, lower = table.carry.leading(64) + 1, table.carry.leading(64) - 1
    assert laplace._carried(3, wide, DictatedBits([[above]])) == (1 << 62) + 3
    with pytest.raises(HushcountError) as error:
        laplace._carried(3, wide, DictatedBits([[lower], [above]]))
    assert str(error.value) == "noise must fit in 64 bits, drew more: epsilon is too small."


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 11.9, 12.0, 1e6])
def test_the_carry_is_rare_and_the_digits_few(epsilon):
    table = laplace.digit_table(Fraction(epsilon))
    assert table.carry.leading(16) == 0
    assert len(table.digits) <= 34


# The acceptance step of the discrete Gaussian sampler


def gamma_in_words(sigma, y):
    variance, scale = Fraction(sigma) ** 2, int(sigma) + 1
    return (abs(y) - variance / scale) ** 2 / (2 * variance)


@pytest.mark.parametrize("sigma", [0.1, 1, 10.1, Fraction(7, 3), 1e6], ids=str)
@pytest.mark.parametrize("y", [0, 1, 2, 7, 123_456])
def test_gamma_and_its_units_are_exact(sigma, y):
    step = Rejection.of(Fraction(sigma))
    assert step.gamma(y) == gamma_in_words(sigma, y)
    alone, in_a_table = np.array([y]), np.full(200_000, y)
    truth = min(int(step.gamma(y) * 2**16), 2**32)
    assert step._units(alone).tolist() == [truth]
    assert set(step._units(in_a_table).tolist()) == {truth}


@pytest.mark.parametrize("failing", [None, *range(5)])
def test_a_candidate_passes_when_all_its_factors_pass(failing):
    """Four bytes of gamma, then the rest; each is certain to pass at 0 and fails at its own tie."""
    sigma, y = Fraction(31, 10), 5
    step = Rejection.of(sigma)
    gamma = step.gamma(y)
    units = int(gamma * 2**16)
    calls = []
    for draw, place in enumerate(ORDER):
        octet = units >> (8 * place) & 255
        sure = octet == 0
        calls.append(packed([MISS if draw == failing and not sure else HIT]))
        if draw == failing and not sure:
            calls += [[]] * (4 - draw)  # nobody is left for the other draws
            break
    else:
        calls.append(packed([MISS if failing == 4 else HIT]))
        if failing == 4:
            calls.append([2**64 - 1])  # the tie goes on above exp(-rest)
    calls.append([])  # no candidate is far
    bits = DictatedBits(calls)
    expected = failing is None or (failing < 4 and (units >> (8 * ORDER[failing]) & 255) == 0)
    assert step.passes(np.array([y]), bits).tolist() == [expected]
    assert bits.used_up


def test_the_rest_is_compared_digit_by_digit():
    step = Rejection.of(Fraction(31, 10))
    rest = step.gamma(5) % Fraction(1, 2**16)
    digits = int(mpmath.floor(mpmath.exp(-real(rest)) * 2**80))
    assert digits >> 64 == MISS
    for word, passes in [(digits % 2**64 - 1, True), (digits % 2**64 + 1, False)]:
        calls = [packed([HIT])] * 4 + [packed([MISS]), [word], []]
        assert step.passes(np.array([5]), DictatedBits(calls)).tolist() == [passes]


def test_a_rest_of_zero_passes_for_sure():
    step = Rejection.of(Fraction(1))  # gamma(0) = 1/8, a whole number of units
    calls = [packed([HIT])] * 4 + [packed([MISS]), []]
    assert step.gamma(0) == Fraction(1, 8)
    assert step.passes(np.array([0]), DictatedBits(calls)).tolist() == [True]


def test_a_tie_in_a_byte_of_gamma_looks_further():
    step = Rejection.of(Fraction(1))  # gamma(0) = 32 units in byte 1, nothing else
    digits = int(mpmath.floor(mpmath.exp(-mpmath.mpf(1) / 8) * 2**80))
    for word, passes in [(digits % 2**64 - 1, True), (digits % 2**64 + 1, False)]:
        rest = [packed([HIT])] * 3 if passes else [[]] * 3
        calls = [packed([HIT]), packed([digits >> 64]), [word], *rest, []]
        assert step.passes(np.array([0]), DictatedBits(calls)).tolist() == [passes]


def test_a_far_candidate_passes_with_its_exact_tiny_chance():
    step = Rejection.of(Fraction(1, 100))
    assert step.gamma(4) > 2**16
    none = [[]] * 5
    assert step.passes(np.array([4]), DictatedBits([*none, packed([1])])).tolist() == [False]
    bits = DictatedBits([*none, packed([0]), [0], [1]])  # still a tie after 80 digits of 0
    assert step.passes(np.array([4]), bits).tolist() == [False]
    assert bits.used_up


def test_tiny_sigma_gives_zeros():
    assert not DiscreteGaussian(1e-3).sample(1000, SeededBits(3)).any()
