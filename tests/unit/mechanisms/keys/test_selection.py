"""Key selection: what is published of sets, and who leaves after the first round."""

import math

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError
from hushcount.mechanisms.keys.calibration import UNIT
from hushcount.mechanisms.keys.selection import EventKeys, KeySips, SteeredSelection, WeightedGaussian
from hushcount.privacy import USER, Budget
from hushcount.shapes import Histogram, KeySets, Public

BUDGET, PUBLIC = Budget(1.0, 1e-6), Public(moved=5, unit=USER, shape=KeySets)
KINDS = [WeightedGaussian, KeySips, SteeredSelection]


class Sets:
    """Sums that are given, and the keys that were said to stay."""

    def __init__(self, sums):
        self.given, self.stayed = sums, []

    def sums(self, by_size, stay):
        self.stayed.append(None if stay is None else set(stay.to_pylist()))
        assert by_size.tolist()[:2] == [1024, 724]
        kept = [key for key in self.given if stay is None or key in self.stayed[-1]]
        yield pa.array(kept, pa.string()), np.array([self.given[key] for key in kept], np.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_large_weights_are_published_and_small_ones_never(kind):
    sets = Sets({"b": 10**7, "a": 10**7, "few": 3000})
    found = kind(BUDGET, PUBLIC).release(KeySets(sets.sums, 5, USER), SeededBits(3))
    assert found.table.to_pydict() == {"key": ["a", "b"]}
    assert found.guarantee.unit == USER
    assert found.made.recipe["moved"] == 5
    users = {WeightedGaussian: (29, 92), KeySips: (33, 103), SteeredSelection: (38, 118)}[kind]
    assert found.accuracy().sentences == (
        "Only keys are published: no count, no order by frequency.",
        "A key of {} users who hold no other key, or of {} users who hold ten keys each, is published with"
        " probability 0.95.".format(*users),
    )


@pytest.mark.parametrize("epsilon", [1.0, 0.05])
def test_keys_of_events_say_how_many_events_a_key_needs(epsilon):
    """The largest probability that one event more may bring, step by step, until it reaches .95."""
    chance, needed = 0.0, 0
    while chance < 0.95:
        more, less = math.exp(epsilon) * chance + 1e-6, 1 - math.exp(-epsilon) * (1 - chance - 1e-6)
        chance, needed = min(more, less), needed + 1
    shape = Histogram(pa.array(["a"]), np.array([10**6]))
    found = EventKeys(Budget(epsilon, 1e-6)).release(shape, SeededBits(3))
    assert found.accuracy().sentences == (
        "Only keys are published: no count, no order by frequency.",
        f"A key of at least {needed} events is published with probability 0.95 or more.",
    )


def test_published_keys_leave_and_hopeless_ones_too_if_steered():
    given = {"sure": 10**7, "none": -(10**6), "middle": 30_000}
    for kind, stays in ((KeySips, {"none", "middle"}), (SteeredSelection, {"middle"})):
        sets = Sets(given)
        kind(BUDGET, PUBLIC).release(KeySets(sets.sums, 5, USER), SeededBits(3))
        assert sets.stayed == [None, stays]


@pytest.mark.parametrize("kind", KINDS)
def test_no_users_publish_nothing(kind):
    found = kind(BUDGET, PUBLIC).release(KeySets(lambda by_size, stay: iter(()), 5, USER), SeededBits(3))
    assert len(found) == 0
    assert found.table.column_names == ["key"]


def test_the_forecast_is_of_keys_that_are_held_alone():
    mechanism = WeightedGaussian(BUDGET, PUBLIC)
    (one,) = mechanism.rounds
    smallest = mechanism.forecast().smallest(0.95, 0.0)
    tail = [float(one.noise.tail(one.threshold - UNIT * count)) for count in (smallest, smallest - 1)]
    assert tail[0] >= 0.95 > tail[1]


def test_other_summaries_are_refused():
    with pytest.raises(NotProvedError) as error:
        SteeredSelection(BUDGET, PUBLIC).release(Histogram(pa.array(["a"]), np.array([9])), SeededBits(1))
    assert str(error.value) == (
        "keys-steered is proved for the sets of keys of users, not for exact counts; publish keys of users"
        " with hc.keys."
    )
