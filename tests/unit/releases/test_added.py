"""Sums of releases: counts, guarantee, intervals that hold, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.releases import FixedError, release_of
from tests.seeded_bits import SeededBits
from tests.unit.releases.tree_example import tree

import hushcount as hc
from hushcount.errors import KeyTypeError, ParameterError
from hushcount.jobs.release import release
from hushcount.mechanisms.linear.calibration import plan_envelope
from hushcount.privacy import RESULT_ROW, Budget
from hushcount.releases.accuracy import hidden
from hushcount.releases.added import add_releases
from hushcount.sketches.linear import TrackedSketch


def test_counts_are_added_and_sorted():
    total = hc.add_releases([release_of([("a", 50), ("b", 40)]), release_of([("b", 30), ("c", 45)])])
    assert total.table["key"].to_pylist() == ["b", "a", "c"]
    assert total.counts.to_pylist() == [70, 50, 45]
    assert (total.guarantee.epsilon, total.guarantee.delta) == (1.0, 1e-8)
    assert total.guarantee.assumptions == ("a", "b", "each event is in the data of one party only")
    assert total.guarantee.parameters == {"parties": 2}


def test_a_party_that_publishes_nothing_adds_nothing():
    nothing = release_of([], kind=pa.string())
    total = add_releases([nothing, release_of([("a", 50)]), release_of([], kind=pa.string())])
    assert total.table["key"].to_pylist() == ["a"]
    assert total.guarantee.parameters == {"parties": 3}
    assert len(add_releases([nothing])) == 0


def test_bounds_add_up_with_what_was_not_published():
    total = add_releases([release_of([("a", 50)]), release_of([("b", 40)], FixedError(above=3))])
    assert [hidden(party) for party in total.error.parties] == [25, 25]  # floor 4, threshold 22
    assert total.error.interval(0.95) == (10, 2 + 25 + 3 + 25)
    assert total.accuracy().simultaneous_below is None
    assert total.accuracy().sentences == (
        "With confidence 0.95 the true count of a key chosen before seeing the result is at least count - 10"
        " and at most count + 55.",
        "count is the sum over 2 parties; each leaves out keys below its threshold.",
        "lower is the sum of the lower ends of the parties that published the key.",
    )
    open_end = add_releases([release_of([("a", 50)]), release_of([("b", 40)], FixedError(above=None))])
    assert open_end.error.interval(0.95)[1] is None
    assert "at most" not in open_end.accuracy().sentences[0]


@pytest.mark.parametrize("mechanism", [None, "pmg", "dpss", "public-floor"])
def test_the_truth_lies_in_the_stated_interval(mechanism):
    """Five parties, some of which hold too little of a key to publish it."""
    generator = np.random.default_rng(7)
    data = [generator.zipf(1.3, 20_000) % 500 for _ in range(5)]
    sketches = [hc.SpaceSaving(counters=200) for _ in data]
    for sketch, keys in zip(sketches, data, strict=True):
        sketch.update(keys)
    parties = [
        release(s, epsilon=1.0, delta=1e-6, mechanism=mechanism, max_events=30_000, bits=SeededBits(i))
        for i, s in enumerate(sketches)
    ]
    total = add_releases(parties).at_confidence(1 - 1e-6)
    true = np.bincount(np.concatenate(data))
    assert len(total) >= len(parties[0])
    for row in total.table.to_pylist():
        assert row["lower"] <= true[row["key"]] <= row["upper"]


def test_pure_releases_hide_what_lies_below_the_last_row():
    sketch = hc.SpaceSaving(counters=3)
    sketch.update([1] * 400 + [2] * 300)
    party = release(sketch, epsilon=1.0, delta=0, domain="0..99", bits=SeededBits(1))
    assert hidden(party) == party.counts.to_pylist()[-1]
    assert hidden(release_of([("a", 9)])) == 25


def pure_party(keys, domain, seed):
    sketch = hc.SpaceSaving(counters=8)
    sketch.update(keys)
    return release(sketch, epsilon=1.0, delta=0, domain=domain, max_events=9000, bits=SeededBits(seed))


def test_a_sum_has_no_upper_end_where_a_party_drops_keys_of_another():
    """Key 50 occurs 4000 times with the first party, outside its domain."""
    narrow, wide = pure_party([50] * 4000, "0..9", 1), pure_party([50] * 3000, "0..99", 2)
    assert add_releases([narrow, wide]).error.interval(0.95)[1] is None
    assert add_releases([narrow, release_of([(50, 900)])]).error.interval(0.95)[1] is None
    assert add_releases([wide, pure_party([50] * 9, "0..99", 3)]).error.interval(0.95)[1] > 1000
    lists = [pure_party(["a"] * 9, ["a", "b"], 4), pure_party(["a"] * 9, ["a", "b"], 5)]
    assert add_releases(lists).error.interval(0.95)[1] > 1000
    assert add_releases([lists[0], pure_party(["a"], ["a"], 6)]).error.interval(0.95)[1] is None


@pytest.mark.parametrize("kind", ["count-min", "count-sketch"])
def test_an_envelope_hides_counts_below_its_reach(kind):
    plan = plan_envelope(kind, 30_000, 64, Budget(1.0, 1e-6))
    sketch = TrackedSketch(kind, counters=64, depth=plan.depth, width=plan.width)
    sketch.update(["a"] * 20_000)
    party = release(
        sketch, epsilon=1.0, delta=1e-6, mechanism=f"{kind}-envelope", max_events=30_000, bits=SeededBits(1)
    )
    assert (
        hidden(party) == plan.threshold + plan.centre
    )  # the noisy estimate at the threshold is not published


def refused(error, releases):
    with pytest.raises(error) as caught:
        add_releases(releases)
    return str(caught.value)


def test_what_cannot_be_added_is_refused():
    one = release_of([("a", 50)])
    assert refused(ParameterError, []) == "releases must be at least one, got none."
    assert (
        refused(ParameterError, [one, one])
        == "releases must be of disjoint data, got the same release twice."
    )
    assert refused(ParameterError, [one, one.limit(1)]) == (
        "releases must be whole to be added, got one cut by limit or min_count."
    )
    assert refused(KeyTypeError, [one, release_of([(5, 50)], kind=pa.int64())]) == (
        "releases must have the same key columns to be added, got different ones."
    )
    sketch = hc.Exact()
    sketch.update(["a"] * 50)
    sketch.unit = RESULT_ROW
    rows = release(sketch, epsilon=1.0, delta=1e-6)
    assert refused(ParameterError, [one, rows]) == (
        "releases must protect the same unit to be added, got event and row of the SQL result."
    )


def test_copies_of_a_release_are_recognised(tmp_path):
    """Before, a file that was read twice was counted twice."""
    twice = "releases must be of disjoint data, got the same release twice."
    one, other = (hc.top(["tea"] * 900, epsilon=1.0, delta=1e-6, counters=8) for _ in "ab")
    one.write(tmp_path / "one.json")
    read, again = (hc.read_release(tmp_path / "one.json") for _ in "ab")
    assert read.made.id == one.made.id != other.made.id
    assert refused(ParameterError, [read, again]) == twice
    assert (
        refused(ParameterError, [one, again.with_notes("a note").named("shop").at_confidence(0.9)]) == twice
    )
    total = add_releases([one, other])
    assert refused(ParameterError, [total, read]) == twice
    assert refused(ParameterError, [hc.read_release(total.to_json().encode()), read]) == twice
    earlier = [replace(copy, made=replace(copy.made, id=None)) for copy in (read, again, other)]
    assert refused(ParameterError, earlier[:2]) == twice
    assert add_releases([total, *(hc.top(["tea"] * 900, epsilon=1.0, delta=1e-6) for _ in "ab")])
    nothing = [hc.top(["tea"], epsilon=1.0, delta=1e-6) for _ in "ab"]
    assert len(add_releases([replace(copy, made=None) for copy in nothing])) == 0


def test_trees_are_not_added_and_the_reason_is_given():
    """Before, an AttributeError."""
    text = (
        "releases must be tables of keys to be added, got a tree: a node that one tree leaves out is in the"
        " residual of its parent there, so nodes cannot be added one by one. Release one tree of all data"
        " instead."
    )
    assert refused(ParameterError, [tree(), tree()]) == text
    assert refused(ParameterError, [release_of([("a", 50)]), tree()]) == text
    assert refused(ParameterError, [release_of([("a", 50)]), 3]) == (
        "releases must be a list of releases, got int in it."
    )


def test_releases_read_from_files_have_the_same_domain_as_others():
    domain = [f"key {number}" for number in range(9)]
    made = [
        hc.top(["key 1"] * 900, epsilon=1.0, delta=0, domain=domain, max_events=9000, counters=8)
        for _ in "ab"
    ]
    fresh = add_releases(made).table
    read = [hc.read_release(release.to_json().encode()) for release in made]
    assert fresh["upper"].null_count == 0
    assert add_releases(read).table == fresh
    assert add_releases([made[0], read[1]]).table == fresh
