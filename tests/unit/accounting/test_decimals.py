"""Numbers are exact as typed, sums do not round, curves round up."""

from decimal import Decimal
from fractions import Fraction

import pytest

from hushcount.accounting import decimals
from hushcount.errors import ParameterError


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.1, "0.1"), ("0.1", "0.1"), (1, "1"), (1e-280, "1e-280"), (Decimal("2.50"), "2.5")],
)
def test_numbers_are_taken_as_typed(value, expected):
    assert decimals.number("epsilon", value) == Decimal(expected)
    assert decimals.text(decimals.number("epsilon", value)) == expected


@pytest.mark.parametrize("value", [True, "one", None, [], b"1", "1/3", ""])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ParameterError, match=r"^epsilon must be a number, got "):
        decimals.number("epsilon", value)


@pytest.mark.parametrize("value", [-1, "-1e-9", float("nan"), float("inf"), "nan", "-inf"])
def test_numbers_are_finite_and_not_negative(value):
    with pytest.raises(ParameterError) as refused:
        decimals.number("delta", value)
    assert str(refused.value) == f"delta must be a finite number and not below 0, got {value}."


@pytest.mark.parametrize("value", ["1e-401", "1e401", "0." + "1" * 401])
def test_numbers_have_an_end(value):
    with pytest.raises(ParameterError) as refused:
        decimals.number("delta", value)
    assert str(refused.value) == "delta must have at most 400 digits."


def test_ten_times_a_tenth_is_one():
    assert decimals.total([decimals.number("epsilon", 0.1)] * 10) == 1
    assert sum([0.1] * 10) != 1


def test_sums_of_far_apart_numbers_are_exact():
    tiny = Decimal("1e-400")
    assert Fraction(decimals.total([Decimal(1), tiny])) == 1 + Fraction(1, 10**400)


def test_rounding_is_against_the_user():
    assert decimals.rounded_up(Decimal("0.1")) == Decimal("0.1") + Decimal("1e-18")
    assert decimals.rounded_down(Decimal("0.1")) == Decimal("0.1") - Decimal("1e-18")
    assert decimals.rounded_up(Decimal("1e-30")) == Decimal("1e-18")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", "0"),
        ("0.00", "0"),
        ("1E-6", "1e-6"),
        ("0.0001", "0.0001"),
        ("1.5e20", "1.5e+20"),
        ("12.0", "12"),
    ],
)
def test_texts(value, expected):
    assert decimals.text(Decimal(value)) == expected
    assert Decimal(expected) == Decimal(value)
