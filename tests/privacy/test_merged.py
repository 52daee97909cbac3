"""Lemmas 16, 17, 27 and Corollaries 18, 28 of Lebeda and Tětek 2023, over all short streams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest
from tests import reference

Counts = dict[Any, int]
Frozen = tuple[tuple[Any, int], ...]


def frozen(counts: Counts) -> Frozen:
    return tuple(sorted(counts.items()))


def positive(counts: Counts) -> Counts:
    return {key: count for key, count in counts.items() if count > 0}


def misra_gries(stream: tuple[str, ...], counters: int) -> Counts:
    return positive(reference.misra_gries(stream, counters)[0])


def space_saving(stream: tuple[str, ...], counters: int) -> Counts:
    """SpaceSaving with one counter more, above its floor: what `merge` takes of it."""
    counts, floor, next_evicted = reference.space_saving(stream, counters + 1)
    return positive({key: c - floor for key, c in reference.candidates(counts, next_evicted).items()})


def streams(alphabet: str, longest: int) -> Iterator[tuple[str, ...]]:
    for length in range(longest + 1):
        yield from product(alphabet, repeat=length)


def same_direction(one: Frozen, other: Frozen, most: int) -> bool:
    """One of the two has every key of the other, at the same count or one more; at most `most` moved."""
    sides = dict(one), dict(other)
    steps = {sides[0].get(key, 0) - sides[1].get(key, 0) for key in {*sides[0], *sides[1]}}
    moved = sum(sides[0].get(key, 0) != sides[1].get(key, 0) for key in {*sides[0], *sides[1]})
    return (steps <= {0, 1} or steps <= {0, -1}) and moved <= most


def neighbours(sketch: Any, alphabet: str, longest: int, counters: int) -> set[tuple[Frozen, Frozen]]:
    """Every pair of states of a stream and the stream with one event removed."""
    pairs = set()
    for stream in streams(alphabet, longest):
        whole = frozen(sketch(stream, counters))
        for place in range(len(stream)):
            pairs.add((whole, frozen(sketch(stream[:place] + stream[place + 1 :], counters))))
    return pairs


@pytest.mark.parametrize("sketch", [misra_gries, space_saving])
@pytest.mark.parametrize(
    ("counters", "alphabet", "longest"), [(1, "abc", 6), (2, "abcd", 5), (3, "abcde", 4)]
)
def test_merged_neighbours_move_up_to_k_keys_in_one_direction(sketch, counters, alphabet, longest):
    """Lemma 17, and Corollary 18 for three streams; the pairs themselves are the base case (Lemma 8)."""
    pairs = neighbours(sketch, alphabet, longest, counters)
    others = {frozen(sketch(stream, counters)) for stream in streams(alphabet, longest - 1)}
    moved = 0
    for _ in range(2):
        after = set()
        for (one, less), other in product(pairs, others):
            merged = (reference.merged(dict(side), dict(other), counters) for side in (one, less))
            more, fewer = (frozen(counts) for counts in merged)
            if (more, fewer) not in after:
                after.add((more, fewer))
                assert same_direction(more, fewer, counters)
                moved = max(moved, len(set(more) ^ set(fewer)))
        pairs = {pair for pair in after if pair[0] != pair[1]}
    assert moved > 1


def test_merging_leaves_partial_differences():
    """Why the floor release and PMG are not for merged sketches: neither one key nor all keys move."""
    stream, other = tuple("aabbcd"), {"e": 1, "f": 1}
    more, fewer = (reference.merged(misra_gries(one, 3), other, 3) for one in (stream, stream[:-1]))
    assert (more, fewer) == ({}, {"a": 1, "b": 1})


def users(keys: str) -> list[tuple[str, ...]]:
    return [chosen for size in range(1, len(keys) + 1) for chosen in combinations(keys, size)]


@pytest.mark.parametrize(
    ("counters", "keys", "longest"), [(1, "abc", 4), (2, "abc", 4), (2, "abcd", 3), (3, "abcde", 3)]
)
def test_user_neighbours_move_up_to_k_keys_in_one_direction(counters, keys, longest):
    """Lemmas 26 and 27."""
    moved = 0
    for length in range(1, longest + 1):
        for stream in product(users(keys), repeat=length):
            whole, decrements = reference.user_misra_gries(stream, counters)
            total = sum(map(len, stream))
            assert len(whole) <= counters
            assert decrements <= total // (counters + 1)
            for place in range(length):
                less, _ = reference.user_misra_gries(stream[:place] + stream[place + 1 :], counters)
                assert same_direction(frozen(whole), frozen(less), counters)
                moved = max(moved, len(set(whole.items()) ^ set(less.items())))
    assert moved >= counters


def test_merged_user_sketches_move_up_to_k_keys_in_one_direction():
    """Corollary 28."""
    for counters in (1, 2, 3):
        pairs, others = set(), set()
        for stream in product(users("abcd"), repeat=3):
            whole = frozen(reference.user_misra_gries(stream, counters)[0])
            others.add(whole)
            for place in range(3):
                less = reference.user_misra_gries(stream[:place] + stream[place + 1 :], counters)[0]
                pairs.add((whole, frozen(less)))
        assert len(pairs) > 20
        for (one, less), other in product(pairs, others):
            more, fewer = (reference.merged(dict(side), dict(other), counters) for side in (one, less))
            assert same_direction(frozen(more), frozen(fewer), counters)


def test_users_in_another_order_move_a_key_by_more_than_one():
    """The twin: removing one user turns the order of the others around."""
    stream = ["a"] * 6 + ["bc", "de", "fg"] * 2
    whole, _ = reference.user_misra_gries(stream, 2)
    turned, _ = reference.user_misra_gries(stream[:-1][::-1], 2)
    assert abs(whole.get("a", 0) - turned.get("a", 0)) == 5


def distance(one: Counts, other: Counts) -> int:
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other})


@pytest.mark.parametrize("sketch", [misra_gries, space_saving])
@pytest.mark.parametrize(
    ("counters", "alphabet", "longest"), [(1, "ab", 8), (2, "abc", 8), (3, "abcd", 6), (4, "abcde", 5)]
)
def test_reduced_counters_have_sensitivity_exactly_2k_minus_1(sketch, counters, alphabet, longest):
    """Lemma 16 in units of 1 / (k + 1): the printed bound is 2 (k + 1), the truth 2 k - 1."""
    worst = 0
    for stream in streams(alphabet, longest):
        whole = reference.reduced(sketch(stream, counters), counters)
        for place in range(len(stream)):
            less = reference.reduced(sketch(stream[:place] + stream[place + 1 :], counters), counters)
            worst = max(worst, distance(whole, less))
    assert worst == 2 * counters - 1


@pytest.mark.parametrize(("counters", "alphabet", "length"), [(1, "ab", 7), (2, "abc", 7), (3, "abcd", 6)])
def test_counters_above_a_public_length_have_sensitivity_1(counters, alphabet, length):
    """max(count - floor(n_max / (k + 1)), 0) for every n_max that the stream keeps to."""
    moved = 0
    for stream in product(alphabet, repeat=length):
        for longest in range(length, 2 * length):
            whole = above(stream, counters, longest // (counters + 1))
            for place in range(length):
                less = above(stream[:place] + stream[place + 1 :], counters, longest // (counters + 1))
                assert distance(whole, less) <= 1
                moved += distance(whole, less)
    assert moved > 0


def above(stream: tuple[str, ...], counters: int, floor: int) -> Counts:
    heights, decrements = reference.misra_gries(stream, counters)
    return {key: max(height + decrements - floor, 0) for key, height in heights.items()}


def test_whole_numbers_above_the_offset_of_the_paper_would_betray_which_stream_it_was():
    """Integer noise on c - gamma: gamma moves by 1 / (k + 1) between neighbours: disjoint supports."""
    longer, shorter = misra_gries(("a", "a", "b"), 2), misra_gries(("a", "a"), 2)
    assert (sum(longer.values()) - sum(shorter.values())) % 3 != 0
