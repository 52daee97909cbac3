"""The cost of a schedule is exact: never below, and within 1% of dp-accounting."""

import json
import math
from decimal import Decimal
from pathlib import Path

import pytest
from dp_accounting.pld import common, privacy_loss_distribution

from hushcount.accounting.charges import Event
from hushcount.accounting.schedule import Schedule
from hushcount.errors import ParameterError

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "accounting.json").read_text())


def cost(epsilon, delta, releases, total_delta):
    return Schedule.of("nightly", releases, Event.of(epsilon, delta), total_delta).whole.epsilon


def divergence(epsilon, releases, whole):
    """The divergence at `whole` of that many responses, term by term."""
    up = 1 / (1 + math.exp(-epsilon))
    terms = (
        math.comb(releases, ups)
        * up**ups
        * (1 - up) ** (releases - ups)
        * -math.expm1(whole - (2 * ups - releases) * epsilon)
        for ups in range(releases + 1)
        if (2 * ups - releases) * epsilon > whole
    )
    return math.fsum(terms)


def test_schedules_of_the_vectors():
    for row in VECTORS["series"][:2]:
        ours = cost(row["epsilon"], row["delta"], row["releases"], row["at_delta"])
        assert float(row["exact"]) - 1e-9 <= float(ours) <= float(row["exact"]) * 1.0001


@pytest.mark.parametrize(
    ("epsilon", "delta", "releases", "total"),
    [
        (0.05, 1e-10, 365, 1e-6),
        (0.1, 1e-10, 365, 1e-6),
        (0.02, 1e-9, 52, 1e-7),
        (1.0, 1e-9, 12, 1e-6),
        (0.5, 0, 30, 1e-9),
    ],
)
def test_schedules_are_within_a_percent_of_dp_accounting_and_never_below(epsilon, delta, releases, total):
    parameters = common.DifferentialPrivacyParameters(epsilon, delta)
    exact = privacy_loss_distribution.from_privacy_parameters(
        parameters, value_discretization_interval=1e-4
    ).self_compose(releases)
    ours = float(cost(epsilon, delta, releases, total))
    assert exact.get_epsilon_for_delta(total) <= ours + 1e-8  # its transform rounds
    assert ours <= exact.get_epsilon_for_delta(total) * 1.01


@pytest.mark.parametrize(
    ("epsilon", "releases", "delta"), [(0.5, 2, 1e-9), (0.3, 7, 1e-3), (0.2, 12, 0.05), (1.5, 3, 1e-6)]
)
def test_the_epsilon_is_the_smallest(epsilon, releases, delta):
    ours = float(cost(str(epsilon), "0", releases, str(delta)))
    assert divergence(epsilon, releases, ours + 1e-12) <= delta
    assert divergence(epsilon, releases, ours - 1e-6) > delta


def test_without_delta_epsilons_add_up():
    assert cost("0.1", "0", 10, "0") == 1


def test_a_schedule_within_its_delta_is_charged_something():
    assert cost("0.001", "0", 10, "0.5") == Decimal("1e-18")


@pytest.mark.parametrize("total", ["3.64e-8", "1"])
def test_the_deltas_of_the_releases_must_fit(total):
    with pytest.raises(ParameterError) as refused:
        cost("0.05", "1e-10", 365, total)
    assert str(refused.value) == (
        f"total_delta must be below 1 and at least 3.65e-8, which the releases lose together, got {total}."
    )


@pytest.mark.parametrize("releases", [0, -1, True, 1.5])
def test_a_number_of_releases_is_needed(releases):
    with pytest.raises(ParameterError, match=r"^releases must be "):
        cost("0.05", "1e-10", releases, "1e-6")
