"""The order and bound are fixed from the budget; what is spent and left follows."""

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from hushcount.accounting.charges import Charge, Normal
from hushcount.accounting.filter import Filter, Sums, conversion
from hushcount.errors import ParameterError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())


def many(fixed, charge, count):
    one = fixed.sums(charge)
    return Sums(one.delta * count, one.finite * count, one.renyi * count, one.unbounded * count)


def pair(epsilon, delta="0"):
    return Charge.pair(Decimal(epsilon), Decimal(delta))


def least_budget(charge, count):
    """The smallest epsilon, to 1e-7, whose budget at delta 1e-6 grants a charge so many times."""
    low, high = Decimal("0.1"), Decimal(40)
    while high - low > Decimal("1e-7"):
        middle = (low + high) / 2
        fixed = Filter.fixed(middle, "1e-6")
        low, high = (low, middle) if fixed.allows(many(fixed, charge, count)) else (middle, high)
    return float(high)


def test_order_and_bound_are_those_of_the_vectors():
    for row in VECTORS["filter"]:
        fixed = Filter.fixed(row["epsilon"], row["delta"])
        assert (fixed.order, fixed.slack) == (Decimal(row["order"]), Decimal(row["slack"])), row
        # The vectors have 20 digits.
        assert abs(fixed.bound - Decimal(row["order_budget"])) < Decimal("1e-17"), row
    for row in VECTORS["conversion"]:
        ours = conversion(Decimal(row["order"]), Decimal(row["slack"]))
        assert abs(ours / Decimal(row["value"]) - 1) < Decimal("1e-24"), row


def test_a_year_of_nights():
    floor, tenth, gaussian = VECTORS["series"]
    assert least_budget(pair("0.05", "1e-10"), 365) == pytest.approx(
        float(floor["least_filter_budget"]), abs=1e-6
    )
    assert round(least_budget(pair("0.05", "1e-10"), 365) + 5e-4, 3) == 5.053
    assert least_budget(pair("0.1", "1e-10"), 365) == pytest.approx(
        float(tenth["least_filter_budget"]), abs=1e-6
    )
    finer = Charge(Decimal(gaussian["threshold_delta"]), (Normal(Fraction(gaussian["sigma"]) ** 2),))
    assert least_budget(finer, 365) == pytest.approx(float(gaussian["least_filter_budget"]), abs=1e-6)


def test_ten_tenths_fit_one_and_eleven_do_not():
    fixed = Filter.fixed(1, 0)
    assert fixed.order is None
    assert fixed.allows(many(fixed, pair("0.1"), 10))
    assert not fixed.allows(many(fixed, pair("0.1"), 11))


def test_one_release_with_all_of_delta_needs_no_slack():
    assert not Filter.fixed(1, "1e-6").allows(Filter.fixed(1, "1e-6").sums(pair("1", "1e-6")))
    assert Filter.fixed(1, "1e-6", 0).allows(Filter.fixed(1, "1e-6", 0).sums(pair("1", "1e-6")))


def test_unbounded_charges_count_by_their_curve_only():
    fixed = Filter.fixed(1, "1e-6")
    gaussian = fixed.sums(Charge(Decimal(0), (Normal(Fraction(10_000)),)))
    assert gaussian.basic == Decimal("Infinity")
    assert fixed.allows(gaussian)
    assert not Filter.fixed(1, "1e-6", 0).allows(gaussian)
    assert (gaussian + gaussian) - gaussian == gaussian


def test_spent_is_the_smaller_of_both_sums():
    fixed = Filter.fixed(1, "1e-6")
    assert fixed.spent(Sums()) == 0
    assert fixed.spent(many(fixed, pair("0.1"), 3)) == Decimal("0.3")
    many_small = many(fixed, pair("0.01"), 400)
    assert many_small.basic == 4
    assert Decimal("0.8") < fixed.spent(many_small) < 1


def test_what_is_left_would_be_allowed_and_more_would_not():
    fixed = Filter.fixed(1, "1e-6")
    for sums in (Sums(), many(fixed, pair("0.3", "1e-8"), 1), many(fixed, pair("0.01", "1e-10"), 400)):
        epsilon, delta = fixed.left([Sums(), sums])
        assert fixed.allows(sums + fixed.sums(Charge.pair(epsilon, delta)))
        more = Charge.pair(epsilon + Decimal("2e-6"), delta)
        assert not fixed.allows(sums + fixed.sums(more))
        assert not fixed.allows(sums + fixed.sums(Charge.pair(epsilon, delta * 2)))
    assert fixed.left([many(fixed, pair("0.3", "1e-8"), 1)]) == (Decimal("0.7"), Decimal("4.9e-7"))


def test_nothing_is_left_of_what_is_exceeded():
    fixed = Filter.fixed(1, "1e-6")
    assert fixed.left([many(fixed, pair("1", "1e-6"), 2)]) == (0, 0)


def test_texts_are_read_back():
    for fixed in (Filter.fixed("0.1", "1e-9"), Filter.fixed(2, 0)):
        assert Filter.from_texts(fixed.texts()) == fixed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, "1e-6"), "epsilon must be above 0, got 0."),
        ((1, 1), "delta must be below 1, got 1."),
        ((1, "1e-6", "1e-5"), "slack must be at most delta = 1e-6, got 1e-5."),
        ((1, -1), "delta must be a finite number and not below 0, got -1."),
    ],
)
def test_budgets_are_checked(arguments, sentence):
    with pytest.raises(ParameterError) as refused:
        Filter.fixed(*arguments)
    assert str(refused.value) == sentence
