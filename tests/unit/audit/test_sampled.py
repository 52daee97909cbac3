"""Bounds from runs: false alarms are as rare as promised, and neighbours and outputs are chosen well."""

import itertools
import random

import pytest
from scipy import stats

from hushcount.audit import sampled as module
from hushcount.audit.sampled import ClaimedBudget, sampled

PAIR = ({"x": 1}, {})
RATIO = 3.0
CLAIM = ClaimedBudget(1.0986122886681098, 0.0)  # log 3


@pytest.fixture(autouse=True)
def by_blocks(monkeypatch):
    """A second is a block of runs, however fast the machine is."""
    steps = itertools.count()
    monkeypatch.setattr(module, "monotonic", lambda: next(steps))


def coin(seed, truthful):
    """Randomised response with a generator of its own."""
    generator = random.Random(seed)

    def run(counts, _):
        return (generator.random() < truthful) == bool(counts)

    return run


@pytest.mark.parametrize("failure", [0.3, 0.02])
def test_a_claim_that_is_just_kept_is_refuted_no_more_often_than_promised(monkeypatch, failure):
    monkeypatch.setattr(module, "FALSE_ALARM", failure)
    alarms = sum(sampled(coin(seed, 0.75), CLAIM, [PAIR], 20).delta_lower > 0 for seed in range(300))
    assert alarms <= stats.binom.ppf(1 - 1e-9, 300, failure)


def test_a_claim_that_is_broken_by_a_tenth_is_refuted():
    found = sampled(coin(1, 0.8), CLAIM, [PAIR], 1500)
    assert 0 < found.delta_lower < 0.8 - RATIO * 0.2
    assert CLAIM.epsilon < found.epsilon_lower < 1.3863
    assert found.runs == 713 * module.BLOCK  # half of 95% of 1500 blocks


def test_the_pair_that_differs_is_chosen_among_many():
    generator = random.Random(5)

    def run(counts, _):
        return generator.random() < (0.9 if counts["x"] >= 17 else 0.1)

    pairs = [({"x": count}, {"x": count - 1}) for count in range(1, 40)]
    found = sampled(run, CLAIM, pairs, 3000)
    assert found.delta_lower > 0.4
    assert sorted(side["x"] for side in found.pair) == [16, 17]


def test_what_the_other_side_never_shows_is_an_event():
    generator = random.Random(6)

    def run(counts, _):  # every output is another one
        return ("new", generator.random()) if counts and generator.random() < 0.2 else "old"

    found = sampled(run, CLAIM, [PAIR], 600)
    assert found.delta_lower > 0.1
    assert found.pair == PAIR
