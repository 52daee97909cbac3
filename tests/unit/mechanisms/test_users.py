"""The routes for users with several keys: thresholds, order, group budgets, words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.histograms.gaussian_calibration import sparse_histogram
from hushcount.mechanisms.users import group_budget, user_routes
from hushcount.noise.laplace import DiscreteLaplace


def names(*arguments):
    return [route.name for route in user_routes(*arguments)]


def test_few_keys_a_user_go_by_the_group_route_and_many_by_users():
    assert names(1.0, 1e-6, 8, 10_000) == ["group", "pamg"]
    assert names(1.0, 1e-6, 100, 10_000) == ["group", "pamg"]
    assert names(1.0, 1e-6, 200, 10_000) == ["pamg", "group"]
    assert names(1.0, 1e-6, 8, 10_000, True) == ["exact", "group", "pamg"]
    assert names(1.0, 1e-6, 1, 10_000, True) == ["group", "exact", "pamg"]


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
    for name, moved in (("pamg", 50), ("exact", 4)):
        found = sparse_histogram(1.0, 1e-6, moved)
        route = routes[name]
        assert route.threshold == found.threshold
        assert float(found.law.tail(route.threshold - route.reliable)) >= 0.95
        assert float(found.law.tail(route.threshold - route.reliable + 1)) < 0.95


def test_sentences_say_why():
    group, users = user_routes(1.0, 1e-6, 8, 10_000)
    assert group.sentence == (
        "one SpaceSaving sketch of all rows, noise for 8 rows of a user together:"
        " publishes a key of 177 users with probability 0.95"
    )
    assert users.sentence == (
        "user-level Misra-Gries, Gaussian noise for 10000 counters together:"
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
