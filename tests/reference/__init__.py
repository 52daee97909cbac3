"""The slow obvious oracles: every kernel must equal these on every stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any

Key = Any
Counts = dict[Key, int]
Order = Callable[[Key], Any]


def exact(stream: Iterable[Hashable]) -> Counts:
    return dict(Counter(stream))


def space_saving(stream: Iterable[Hashable], counters: int) -> tuple[Counts, int, Key | None]:
    """Counts, floor, and the key next in line: among minimum-count keys the one updated most recently."""
    counts: Counts = {}
    updated: Counts = {}
    for time, key in enumerate(stream):
        if key not in counts:
            evicted = counts.pop(next_in_line(counts, updated)) if len(counts) == counters else 0
            counts[key] = evicted
        counts[key] += 1
        updated[key] = time
    if len(counts) < counters:
        return counts, 0, None
    return counts, min(counts.values()), next_in_line(counts, updated)


def space_saving_by_insertion(stream: Iterable[Hashable], counters: int) -> tuple[Counts, int, Key | None]:
    """The broken twin: among minimum-count keys the one that entered the sketch last (not private)."""
    counts: Counts = {}
    inserted: Counts = {}
    for time, key in enumerate(stream):
        if key not in counts:
            evicted = counts.pop(next_in_line(counts, inserted)) if len(counts) == counters else 0
            counts[key] = evicted
            inserted[key] = time
        counts[key] += 1
    if len(counts) < counters:
        return counts, 0, None
    return counts, min(counts.values()), next_in_line(counts, inserted)


def next_in_line(counts: Counts, times: Counts) -> Key:
    least = min(counts.values())
    return max((key for key in counts if counts[key] == least), key=lambda key: times[key])


def candidates(counts: Counts, next_evicted: Key | None) -> Counts:
    """The keys a mechanism may see: all tracked ones but the one next in line."""
    return {key: count for key, count in counts.items() if next_evicted is None or key != next_evicted}


def misra_gries(
    stream: Iterable[Hashable], counters: int, order: Order = lambda key: key
) -> tuple[Counts, int]:
    """Heights (zeros kept) and the number of decrements; the smallest zero key by `order` is replaced."""
    heights: Counts = {}
    decrements = 0
    for key in stream:
        zeros = [other for other, height in heights.items() if height == 0]
        if key in heights:
            heights[key] += 1
        elif len(heights) == counters and not zeros:
            heights = {other: height - 1 for other, height in heights.items()}
            decrements += 1
        else:
            if len(heights) == counters:
                del heights[min(zeros, key=order)]
            heights[key] = 1
    return heights, decrements


def misra_gries_standard(stream: Iterable[Hashable], counters: int) -> tuple[Counts, int]:
    """Misra-Gries that drops a key as soon as its height is 0."""
    heights, decrements = misra_gries(stream, counters)
    return {key: height for key, height in heights.items() if height > 0}, decrements


def user_misra_gries(users: Iterable[Iterable[Hashable]], counters: int) -> tuple[Counts, int]:
    """PAMG: every user's distinct keys count once, then all decrease once if too many are held."""
    counts: Counts = {}
    decrements = 0
    for keys in users:
        for key in set(keys):
            counts[key] = counts.get(key, 0) + 1
        if len(counts) > counters:
            counts = {key: count - 1 for key, count in counts.items() if count > 1}
            decrements += 1
    return counts, decrements


def merged(one: Counts, other: Counts, counters: int) -> Counts:
    """Add, subtract the (counters + 1)-th largest, drop what is not positive."""
    added = Counter(one) + Counter(other)
    largest = sorted(added.values(), reverse=True)
    taken = largest[counters] if len(largest) > counters else 0
    return {key: count - taken for key, count in added.items() if count > taken}


def reduced(heights: Counts, counters: int) -> Counts:
    """Lebeda and Tětek 2023, Algorithm 3, in units of 1 / (counters + 1)."""
    total = sum(heights.values())
    scaled = {key: (counters + 1) * height - total for key, height in heights.items()}
    return {key: value for key, value in scaled.items() if value > 0}


def hierarchical_heavy_hitters(
    counts: Counts, node: Callable[[Key, int], Key], height: int, threshold: int
) -> Counts:
    """Biswas et al. 2024, Definition 2.8: (level, node) and residual of every hierarchical heavy hitter."""
    heavy: Counts = {}
    for level in range(height, -1, -1):
        residuals: Counter[Key] = Counter()
        for leaf, count in counts.items():
            if not any((deeper, node(leaf, deeper)) in heavy for deeper in range(level + 1, height + 1)):
                residuals[level, node(leaf, level)] += count
        heavy |= {key: residual for key, residual in residuals.items() if residual >= threshold}
    return heavy


def heavy_hitters_by_level(
    counts: Counts, node: Callable[[Key, int], Key], height: int, threshold: int
) -> Counts:
    """Biswas et al. 2024, Definition 2.7: (level, node) and count of every heavy hitter of every level."""
    totals: Counter[Key] = Counter()
    for leaf, count in counts.items():
        totals.update({(level, node(leaf, level)): count for level in range(height + 1)})
    return {key: total for key, total in totals.items() if total >= threshold}
