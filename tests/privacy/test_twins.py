"""Every broken twin is refuted by `hc.audit`, which says by how much."""

from dataclasses import replace

import pytest
from tests.privacy.twins import every, opendp

import hushcount as hc
from hushcount.audit.shipped import BUDGET, CASES, tightened
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.privacy import Budget

TWINS = dict(every())


@pytest.mark.parametrize("name", TWINS)
def test_every_twin_is_refuted(name):
    twin = TWINS[name]
    found = twin.audit()
    print(f"{name}:\n{found}\n")
    assert found.refuted
    assert found.delta_lower >= twin.least
    assert found.epsilon_lower >= twin.claim[0]
    assert "REFUTED" in str(found)


def test_the_threshold_of_opendp_is_refuted_by_running_it():
    """opendp#2922, in version 0.16.0: a delta of .0049 is claimed, .0134 is true."""
    epsilon, delta = opendp.claim()
    assert (epsilon, round(delta, 4)) == (1.0, 0.0049)
    found = hc.audit(opendp.run_in_blocks(), epsilon=epsilon, delta=delta, seconds=3)
    print(found)
    assert found.refuted
    assert found.pair == ({"x": 1}, {})
    assert 0.0049 < found.delta_lower < 0.0134


def test_its_sound_threshold_is_not_refuted():
    epsilon, delta = 1.0, opendp.true_delta()
    assert round(delta, 4) == 0.0134
    assert not hc.audit(opendp.run_in_blocks(), epsilon=epsilon, delta=delta, seconds=1).refuted


def lower_levels(mechanism):
    mechanism.levels = replace(mechanism.levels, threshold=mechanism.levels.threshold - 1)


def lower(name, by=1):
    """Take something from a number that a mechanism has worked out."""

    def change(mechanism):
        setattr(mechanism, name, getattr(mechanism, name) - by)

    return change


LOWERED = dict.fromkeys(
    [
        "floor",
        "key-shards",
        "pmg",
        "pmg-standard",
        "chan",
        "dpss",
        "laplace-threshold",
        "gaussian",
        "correlated",
        "laplace",
        "reduced",
    ],
    lower("threshold"),
) | {
    "hierarchy-offline": lower("threshold"),
    "hierarchy-users": lower("threshold"),
    "hierarchy-streaming": lower_levels,
    "shards": lower("margin", by=4),  # the sum of floors and counts leaves some slack
}


@pytest.mark.parametrize("budget", [BUDGET, Budget(0.5, 1e-4)], ids=str)
@pytest.mark.parametrize("name", LOWERED)
def test_every_mechanism_with_a_threshold_one_lower_is_refuted(name, budget):
    """At the smallest delta that the right threshold keeps."""
    kind = EVERY_MECHANISM[name]
    public, worst_cases = CASES[name]
    own = tightened(lambda each: kind(each, *public), budget)
    mechanism = kind(own, *public)
    assert max(spent.delta for spent in worst_cases(mechanism)) <= own.delta * (1 + 1e-9)
    LOWERED[name](mechanism)
    assert max(spent.delta for spent in worst_cases(mechanism)) > own.delta
