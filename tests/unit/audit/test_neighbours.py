"""Neighbouring counts: each shape differs by what one unit can change, and by that all over."""

import pytest

from hushcount.audit.neighbours import FLOOR_KEY, MOVED, SHAPES, STATES, both_ways, neighbours, pairs_of


def changes(one, other):
    """What each key changes by; a key that is not there has 0."""
    return {key: one.get(key, 0) - other.get(key, 0) for key in {*one, *other}}


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("shape", ["one-key", "sample", "chain"])
def test_one_count_changes_by_1_and_once_the_key_is_new(shape, few):
    pairs = pairs_of(shape, few=few)
    assert all(list(changes(*pair).values()) == [1] for pair in pairs)
    assert pairs[0][1] == {}
    assert len(pairs) > 5


def test_many_keys_are_common_or_new_in_every_number():
    pairs = pairs_of("many-keys")
    assert all(set(changes(*pair).values()) == {1} and len(changes(*pair)) == MOVED for pair in pairs)
    assert {len(less) for _, less in pairs} == set(range(MOVED + 1))


@pytest.mark.parametrize("shape", ["users", "cells", "levels"])
def test_a_unit_that_fills_its_bound_changes_all(shape):
    for pair in pairs_of(shape):
        assert list(changes(*pair).values()) == [1] * MOVED


@pytest.mark.parametrize("state", STATES)
def test_states_of_counter_sketches_are_those_of_the_lemma(state):
    rise, moved, *isolated = STATES[state]
    for more, less in neighbours(state, 9, 1):
        common = more.counts.keys() & less.counts.keys()
        steps = [more.counts[key] - less.counts[key] for key in common]
        assert more.floor - less.floor == rise
        assert sum(map(abs, steps)) == (moved or 0)
        assert rise + sum(map(abs, steps)) <= 1
        heights = [
            tuple(side.heights()[key] for key in sorted(side.counts.keys() - common)) for side in (more, less)
        ]
        assert heights == [tuple(each) for each in isolated]


def test_floors_and_shards_hold_the_states():
    floors = pairs_of("floor", few=True)
    assert {one[FLOOR_KEY] - other[FLOOR_KEY] for one, other in floors} == {0, 1}
    for one, other in pairs_of("shards", few=True):
        assert all(shard == 0 for shard, key in {k for k, step in changes(one, other).items() if step})


def test_local_pairs_are_two_items_or_one_and_none():
    pairs = pairs_of("local")
    assert ({0: 1}, {}) in pairs
    assert ({0: 1}, {1: 1}) in pairs
    assert all(sum(side.values()) <= 1 for pair in pairs for side in pair)


def test_given_pairs_are_taken_as_they_are():
    one = ({"a": 1}, {})
    assert pairs_of("one-key", one) == [one]
    assert pairs_of("one-key", [one, one]) == [one, one]
    assert set(SHAPES) == {
        "one-key", "floor", "many-keys", "users", "cells", "chain", "levels", "shards", "sample", "local",
    }  # fmt: skip
    assert list(both_ways([("a", "b")])) == [("a", "b"), ("b", "a")]
