"""Users: group privacy for rows of one user together, and the routes compared by public numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.jobs.release import release
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.groups import group_budget, row_budget
from hushcount.mechanisms.histograms.correlated import correlated_noise
from hushcount.mechanisms.histograms.gaussian import sparse_histogram
from hushcount.mechanisms.users import GroupRelease, for_users, user_routes
from hushcount.noise.bits import system_bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, USER, Budget, PrivacyUnit
from hushcount.shapes import Public
from hushcount.sketches.counters import SpaceSaving


def names(*arguments):
    return [route.name for route in user_routes(*arguments)]


def test_few_keys_a_user_go_by_the_group_route_and_many_by_users():
    assert names(1.0, 1e-6, 8, 10_000) == ["group", "pamg"]
    assert names(1.0, 1e-6, 70, 10_000) == ["group", "pamg"]
    assert names(1.0, 1e-6, 71, 10_000) == ["pamg", "group"]
    assert names(1.0, 1e-6, 23, 1000) == names(1.0, 1e-6, 8, 100) == ["pamg", "group"]
    assert names(1.0, 1e-6, 8, 10_000, True) == ["exact", "group", "pamg"]
    assert names(1.0, 1e-6, 1, 10_000, True) == ["exact", "group", "pamg"]


def test_a_user_of_one_key_is_one_event():
    assert group_budget(1.0, 1e-6, 1).epsilon == 1.0
    assert user_routes(1.0, 1e-6, 1, 100)[0].threshold == 17


@pytest.mark.parametrize("max_keys", [2, 3, 7, 1000])
def test_the_group_costs_no_more_than_the_budget(max_keys):
    each = group_budget(1.0, 1e-6, max_keys)
    assert max_keys * each.epsilon <= 1.0
    cost = sum(math.exp(i * each.epsilon) * each.delta for i in range(max_keys))
    assert cost == pytest.approx(1e-6, rel=1e-9)


def test_reliable_means_published_with_probability_95():
    routes = {route.name: route for route in user_routes(1.0, 1e-6, 4, 50, True)}
    each = group_budget(1.0, 1e-6, 4)
    law = DiscreteLaplace(each.epsilon)
    assert routes["group"].threshold == thresholds.floor_threshold(each.epsilon, each.delta)
    z = np.arange(-400, 401)

    def published(height):
        return float(
            (np.asarray(law.pmf(z)) * np.asarray(law.tail(routes["group"].threshold + z - height))).sum()
        )

    assert published(routes["group"].reliable) >= 0.95 > published(routes["group"].reliable - 1)
    exact, shared = sparse_histogram(1.0, 1e-6, 4), correlated_noise(1.0, 1e-6, 50)
    for name, found, noise, scale in (("pamg", shared, shared.sum, 2), ("exact", exact, exact.noise, 1)):
        route = routes[name]
        assert route.threshold == found.threshold
        assert float(noise.tail(scale * (route.threshold - route.reliable))) >= 0.95
        assert float(noise.tail(scale * (route.threshold - route.reliable + 1))) < 0.95


def test_sentences_say_why():
    group, users = user_routes(1.0, 1e-6, 8, 10_000)
    assert group.said("users") == (
        "one SpaceSaving sketch of all rows, noise for 8 rows of a user together:"
        " publishes a key of 177 users with probability 0.95"
    )
    assert users.said("users") == (
        "user-level Misra-Gries, correlated Gaussian noise for 10000 counters together:"
        f" publishes a key of {users.reliable} users with probability 0.95"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1e-6, 0, 100), "max_keys must be at least 1, got 0."),
        ((1.0, 1e-6, True, 100), "max_keys must be a whole number, got True."),
        ((1.0, 1e-6, 5, 1), "counters must be at least 2, got 1."),
        ((0, 1e-6, 5, 100), "epsilon must be a finite number above 0, got 0."),
        ((1.0, 0, 5, 100), "delta must be strictly between 0 and 1, got 0."),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ParameterError) as error:
        user_routes(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("rows", [1, 2, 3, 8, 100, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-8)])
def test_rows_together_stay_within_the_budget(epsilon, delta, rows):
    each = row_budget(Budget(epsilon, delta), rows)
    assert rows * Fraction(each.epsilon) <= Fraction(epsilon)
    assert rows * each.epsilon > epsilon * (1 - 1e-12)
    steps = [math.exp(step * each.epsilon) for step in range(rows)]
    assert math.fsum(steps) * each.delta <= delta * (1 + 1e-9)
    assert math.fsum(steps) * each.delta >= delta * (1 - 1e-9)


def test_delta_zero_stays_zero():
    assert row_budget(Budget.pure(1.0), 4).delta == 0.0
    assert 4 * row_budget(Budget.pure(1.0), 4).epsilon <= 1.0


def test_the_guarantee_is_for_users():
    whole = Budget(1.0, 1e-6)
    each = row_budget(whole, 3)
    sketch = SpaceSaving(counters=8)
    sketch.update(["tea"] * 1000)
    found = for_users(release(sketch, epsilon=each.epsilon, delta=each.delta), whole, 3)
    promise = found.guarantee
    assert (promise.epsilon, promise.delta, promise.unit) == (1.0, 1e-6, USER)
    assert promise.mechanism == "floor release for groups of 3 rows"
    assert promise.parameters["max_rows"] == 3
    assert promise.parameters["row_epsilon"] == each.epsilon
    assert promise.parameters["row_delta"] == each.delta
    assert promise.proof == "docs/proofs/counters/floor.md, docs/proofs/sources/bounding.md"


def test_any_mechanism_protects_the_rows_of_a_user():
    unit = PrivacyUnit(USER.name, USER.protects, rows=3)
    public = Public(candidates=8, parts=9, unit=unit)
    group = GroupRelease(Budget(1.0, 1e-6), public, FloorRelease)
    each = row_budget(Budget(1.0, 1e-6), 3)
    assert type(group.each) is FloorRelease
    assert vars(group.each) == vars(FloorRelease(each, replace(public, unit=EVENT)))
    sketch = SpaceSaving(counters=9)
    sketch.update(["tea"] * 1000)
    found = group.release(sketch.shape(), system_bits())
    assert found.table["key"].to_pylist() == ["tea"]
    assert found.guarantee.unit == USER
    assert (found.guarantee.epsilon, found.guarantee.delta) == (1.0, 1e-6)
    assert found.guarantee.parameters["row_epsilon"] == each.epsilon
    assert (GroupRelease.name, GroupRelease.claim.proof) == ("group", "docs/proofs/sources/bounding.md")
