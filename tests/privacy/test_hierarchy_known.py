"""Trees with delta = 0: every probability of every output as a fraction, broken twins, and what is drawn."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

import hushcount as hc
from hushcount.mechanisms.hierarchy.known import KnownNodeRelease, unseen
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, Budget
from hushcount.shapes import Public
from hushcount.testing import SeededBits

# A root *, two networks and three leaves; the noise of a ratio of 1/2 per count, so exp(epsilon) is 2^moved.
NODES = ("*", "a", "b", "a1", "a2", "b1")
ABOVE = {"a1": ("*", "a", "a1"), "a2": ("*", "a", "a2"), "b1": ("*", "b", "b1")}
HALF = Fraction(1, 2)
HIDDEN = None


def law(count: int, threshold: int, span: int = 12) -> dict[int | None, Fraction]:
    """What is published of one node; values beyond the span have the same ratios as those within."""
    at_zero = (1 - HALF) / (1 + HALF)
    found = {value: at_zero * HALF ** abs(value - count) for value in range(threshold, threshold + span)}
    gap = threshold - count
    tail = HALF**gap / (1 + HALF) if gap > 0 else 1 - HALF ** (1 - gap) / (1 + HALF)
    return found | {HIDDEN: 1 - tail}


def largest_ratio(one: Counter[str], other: Counter[str], threshold: int, absent: bool = False) -> Fraction:
    """The largest ratio of probabilities of one output: a product, as nodes are independent.

    `absent` is the twin in which nodes without events have no noise.
    """
    ratio = Fraction(1)
    for node in NODES:
        p, q = (law(counts[node], threshold) for counts in (one, other))
        if absent:
            p, q = (own if counts[node] else {HIDDEN: Fraction(1)} for own, counts in ((p, one), (q, other)))
        if any(value not in q for value in p):
            return Fraction(10**9)  # an output that is impossible on the other side
        ratio *= max(p[value] / q[value] for value in p)
    return ratio


def counts_of_users(users) -> Counter[str]:
    """Each user once per node."""
    counts: Counter[str] = Counter()
    for leaves in users:
        counts.update({node for leaf in leaves for node in ABOVE[leaf]})
    return counts


USERS = [("a1",), ("a2",), ("b1",), ("a1", "a2"), ("a1", "b1"), ("a2", "b1")]
POPULATIONS = [users for size in range(3) for users in combinations_with_replacement(USERS, size)]


def worst(most_keys: int, threshold: int, absent: bool = False) -> Fraction:
    """The largest ratio over all populations and one user more, both ways."""
    found = Fraction(0)
    for users, new in product(POPULATIONS, USERS):
        if len(new) > most_keys or any(len(user) > most_keys for user in users):
            continue
        less, more = counts_of_users(users), counts_of_users((*users, new))
        found = max(
            found, largest_ratio(more, less, threshold, absent), largest_ratio(less, more, threshold, absent)
        )
    return found


@pytest.mark.parametrize("threshold", [1, 2, 5])
@pytest.mark.parametrize(("most_keys", "moved"), [(1, 3), (2, 5)])
def test_no_output_is_more_likely_than_claimed_and_one_is_as_likely(most_keys, moved, threshold):
    """M is 1 + 1 + 1 for one key, and 1 + 2 + 2 for two."""
    assert worst(most_keys, threshold) == 2**moved


@pytest.mark.parametrize("weight", [1, 2, 4])
def test_weighted_events_change_three_sums_by_their_weight(weight):
    found = Fraction(0)
    for base, leaf, new in product((0, 1, 3, 7), ABOVE, range(weight + 1)):
        less = Counter(dict.fromkeys(ABOVE["a1"], base))
        more = less + Counter(dict.fromkeys(ABOVE[leaf], new))
        found = max(found, largest_ratio(more, less, 3), largest_ratio(less, more, 3))
    assert found == 2 ** (3 * weight)


def test_the_twin_that_forgets_the_root_is_refuted():
    """Noise for h counts, where h + 1 change: exp(epsilon) is 2^2, and 2^3 is reached."""
    assert worst(1, 2) > 2**2


def test_the_twin_without_noise_on_empty_nodes_is_refuted():
    assert worst(1, 2, absent=True) == 10**9


def test_the_mechanism_has_the_noise_of_the_theorem():
    made = KnownNodeRelease(Budget.pure(1.0), Public(height=2, moved=5, candidates=6))
    assert made.noise.exact_epsilon == Fraction(1, 5)
    heavy = Public(height=2, moved=3, candidates=6, unit=replace(EVENT, weight=4))
    assert KnownNodeRelease(Budget.pure(1.0), heavy).noise.exact_epsilon == Fraction(1, 12)


@pytest.mark.parametrize("one_by_one", [True, False], ids=["one by one", "by their number"])
def test_nodes_without_events_have_their_noise(one_by_one, monkeypatch):
    """The number that reaches the threshold, the values and the places, against the distribution."""
    monkeypatch.setattr("hushcount.mechanisms.hierarchy.known.LISTED", 1 << 20 if one_by_one else 0)
    noise, threshold, size, runs = DiscreteLaplace(0.5), 5, 400, 400
    seen = np.arange(0, 40, dtype=np.uint64)
    places, values = [], []
    bits = SeededBits(11)
    for _ in range(runs):
        found, more = unseen(size, seen, noise, threshold, bits)
        assert len(set(found.tolist())) == len(found)
        places += found.tolist()
        values += more.tolist()
    assert min(places) >= 40
    assert max(places) < size
    reach = float(noise.tail(threshold))
    draws = runs * (size - len(seen))
    expected = draws * reach
    assert abs(len(places) - expected) < 7 * math.sqrt(expected)  # below 1e-11
    for level in range(threshold, threshold + 6):
        share = float(noise.tail(level)) / reach
        above = sum(value >= level for value in values)
        assert abs(above - share * len(values)) <= 7 * math.sqrt(share * (1 - share) * len(values)) + 1
    low = sum(place < 220 for place in places)
    assert abs(low - len(places) / 2) < 7 * math.sqrt(len(places)) / 2


def test_a_wrong_scale_would_be_seen():
    """The check above rejects noise of nine tenths and eleven tenths of the scale."""
    noise, draws = DiscreteLaplace(0.5), 400 * 360
    reach = float(noise.tail(5))
    for factor in (0.9, 1.1):
        other = float(DiscreteLaplace(0.5 * factor).tail(5))
        assert abs(other - reach) * draws > 14 * math.sqrt(reach * draws)


def test_leaves_that_nobody_lists_do_not_count():
    """Rows outside the domain change nothing, at their ancestors neither."""
    keys = ["/a/x"] * 500 + ["/a/unknown"] * 5000 + ["/c/z"] * 5000
    asked = {"hierarchy": "path/2", "threshold": 100, "epsilon": 1.0, "delta": 0, "by_level": True}
    tree = hc.tree(keys, domain=["/a/x", "/a/y", "/b/z"], confidence=1 - 1e-9, **asked)
    totals = {row["node"]: row for row in tree.table.to_pylist()}
    assert set(totals) == {"*", "/a", "/a/x"}
    assert all(row["lower"] <= 500 <= row["upper"] < 1000 for row in totals.values())
