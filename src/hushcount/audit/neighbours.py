"""The worst neighbouring data of each kind of summary: where a mechanism spends most of its budget.

The pairs of counter sketches are the states S1 to S6 of docs/proofs/counters/floor.md; the others follow from
what one unit can change. Each pair stands for both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

from hushcount.errors import ParameterError

CountsByKey = dict[Hashable, int]
Pair = tuple[CountsByKey, CountsByKey]
Heights = tuple[int, ...]

FLOOR_KEY = "floor"
"""The name under which counts of the shape "floor" hold the floor of the sketch."""

FLOOR = 7
MOVED = 4  # counts that one unit changes in the pairs of "many-keys", "users", "cells" and "levels"
# Counts around which an unknown threshold may lie: if distributions are listed, and if a mechanism is run.
MANY_HEIGHTS = (*range(1, 65), *range(72, 160, 8), 200, 256, 400, 640, 1024)
FEW_HEIGHTS = (1, 2, 4, 8, 16, 32, 100, 400)


@dataclass(frozen=True)
class Summary:
    """What a mechanism for counter sketches sees: the floor and the absolute counts of the candidates."""

    floor: int
    counts: Mapping[str, int]

    def heights(self, least: int = 0) -> dict[str, int]:
        """Return what counts have above the floor, of keys that have at least `least`."""
        heights = {key: count - self.floor for key, count in self.counts.items()}
        return {key: height for key, height in heights.items() if height >= least}


Summaries = tuple[Summary, Summary]

# (rise of the floor, rise of the common key "m" or None, isolated heights on each side)
STATES: dict[str, tuple[int, int | None, tuple[int, ...], tuple[int, ...]]] = {
    "S1": (1, None, (), ()),
    "S2": (1, None, (0,), (1,)),
    "S3": (0, 1, (), ()),
    "S4": (0, None, (1,), (0,)),
    "S5": (0, 1, (0,), (0,)),
    "S6": (0, None, (1, 0), (0, 0)),
}


def heights_around(threshold: int) -> tuple[int, ...]:
    """Return the heights at which a threshold tells neighbours apart best."""
    return (1, threshold - 1, threshold, threshold + 2)


def neighbours(state: str, threshold: int, bystanders: int) -> Iterator[Summaries]:
    """Yield both summaries, for all heights of the key that changes and of `bystanders` that do not."""
    rise, moved, isolated_more, isolated_less = STATES[state]
    own = heights_around(threshold) if moved else (0,)
    for height in own:
        for others in combinations_with_replacement(heights_around(threshold), bystanders):
            more = {f"b{index}": FLOOR + other for index, other in enumerate(others)}
            less = dict(more)
            if moved:
                more["m"], less["m"] = FLOOR + height + moved, FLOOR + height
            more |= {f"x{index}": FLOOR + rise + h for index, h in enumerate(isolated_more)}
            less |= {f"y{index}": FLOOR + h for index, h in enumerate(isolated_less)}
            yield Summary(FLOOR + rise, more), Summary(FLOOR, less)


def isolated_rows(rows: int) -> Summaries:
    """Return the summaries of a sketch that differ in so many rows, each of which isolates keys as in S6."""
    one, two = ([f"{name}{row}" for row in range(2 * rows)] for name in "xy")
    more = {key: FLOOR + (place < rows) for place, key in enumerate(one)}
    return Summary(FLOOR, more), Summary(FLOOR, dict.fromkeys(two, FLOOR))


def both_ways(pairs: Iterable[Summaries]) -> Iterator[Summaries]:
    """Yield each pair in both directions."""
    for more, less in pairs:
        yield more, less
        yield less, more


def pairs_of(shape: str, pair: Pair | Iterable[Pair] | None = None, few: bool = False) -> list[Pair]:
    """Return the pairs of a shape, `few` if each is costly, or those given instead; raise if there are none.

    >>> pairs_of("one-key")[:2]
    [({'x': 1}, {}), ({'x': 2}, {'x': 1})]
    """
    if pair is None:
        if shape not in SHAPES:
            raise ParameterError(f"shape must be one of {', '.join(SHAPES)}, got {shape}.")
        return list(SHAPES[shape](FEW_HEIGHTS if few else MANY_HEIGHTS))
    given = [*pair]
    if len(given) == 2 and all(isinstance(side, Mapping) for side in given):
        given = [(given[0], given[1])]
    pairs = [(dict(one), dict(other)) for one, other in given]
    if not pairs:
        raise ParameterError("pair must be two dicts of counts, or several such pairs, got none.")
    return pairs


def _one_key(heights: Heights) -> Iterator[Pair]:
    """One count changes by 1, at any height; at the lowest the key is new."""
    for height in heights:
        yield _without_zeros({"x": height}), _without_zeros({"x": height - 1})


def _floor(heights: Heights) -> Iterator[Pair]:
    """A count or the floor changes by 1, with isolated keys: S1 to S6."""
    for height, state in product(heights, STATES):
        for more, less in neighbours(state, height, 0):
            yield _with_floor(more), _with_floor(less)


def _many_keys(heights: Heights) -> Iterator[Pair]:
    """Of MOVED keys j are common and change by 1 and the others are new, for every j."""
    for height in heights:
        for common in range(MOVED + 1) if height == heights[0] else range(1, MOVED + 1):
            more: CountsByKey = {f"k{i}": height + 1 if i < common else 1 for i in range(MOVED)}
            yield more, _without_zeros({key: count - 1 for key, count in more.items()})


def _all_keys(heights: Heights) -> Iterator[Pair]:
    """One user fills the bound: MOVED keys change by 1 together."""
    for height in heights:
        more: CountsByKey = {f"k{i}": height for i in range(MOVED)}
        yield more, _without_zeros({key: count - 1 for key, count in more.items()})


def _cells(heights: Heights) -> Iterator[Pair]:
    """One event changes one cell in each row of a linear sketch; all cells are always there."""
    for height in (heights[0], heights[-1]):
        yield dict.fromkeys(range(MOVED), height), dict.fromkeys(range(MOVED), height - 1)


def _chain(heights: Heights) -> Iterator[Pair]:
    """The residual of a path changes by 1, so every node on it is tested at the same height."""
    for height in heights:
        yield _without_zeros({("a", "b", "c"): height}), _without_zeros({("a", "b", "c"): height - 1})


def _levels(heights: Heights) -> Iterator[Pair]:
    """The count of one node changes at every level, or the node is new at every level."""
    for height in heights:
        more: CountsByKey = {(level, "x"): height for level in range(MOVED)}
        yield more, _without_zeros({key: count - 1 for key, count in more.items()})


def _shards(heights: Heights) -> Iterator[Pair]:
    """In one of two shards a count or the floor changes; the other holds the same key."""
    for one, other in _floor(heights):
        beside = {(1, key): count for key, count in {FLOOR_KEY: FLOOR, "m": FLOOR + 40}.items()}
        yield _in_shard(one) | beside, _in_shard(other) | beside


def _local(heights: Heights) -> Iterator[Pair]:
    """One client has another item, or none."""
    items: list[CountsByKey] = [{0: 1}, {1: 1}, {2: 1}, {}]
    yield from combinations(items, 2)


def _with_floor(summary: Summary) -> CountsByKey:
    counts: CountsByKey = {FLOOR_KEY: summary.floor}
    counts.update(summary.counts)
    return counts


def _in_shard(counts: CountsByKey) -> CountsByKey:
    return {(0, key): count for key, count in counts.items()}


def _without_zeros(counts: Mapping[Hashable, int]) -> CountsByKey:
    return {key: count for key, count in counts.items() if count}


SHAPES: dict[str, Callable[[Heights], Iterator[Pair]]] = {
    "one-key": _one_key,
    "floor": _floor,
    "many-keys": _many_keys,
    "users": _all_keys,
    "cells": _cells,
    "chain": _chain,
    "levels": _levels,
    "shards": _shards,
    "sample": _one_key,
    "local": _local,
}
