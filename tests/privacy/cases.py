"""The neighbouring summaries that the lemma allows, as small as they come (docs/proofs/counters/floor.md)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement

from tests.privacy.hockey_stick import Summary

FLOOR = 7

# (rise of the floor, rise of the common key "m" or None, isolated heights of either side)
STATES: dict[str, tuple[int, int | None, tuple[int, ...], tuple[int, ...]]] = {
    "S1": (1, None, (), ()),
    "S2": (1, None, (0,), (1,)),
    "S3": (0, 1, (), ()),
    "S4": (0, None, (1,), (0,)),
    "S5": (0, 1, (0,), (0,)),
    "S6": (0, None, (1, 0), (0, 0)),
}


def heights_around(threshold: int) -> tuple[int, ...]:
    return (1, threshold - 1, threshold, threshold + 2)


def neighbours(state: str, threshold: int, bystanders: int) -> Iterator[tuple[Summary, Summary]]:
    """Both summaries, for every choice of heights for the moved key and `bystanders` unmoved ones."""
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


def both_ways(pairs: Iterator[tuple[Summary, Summary]]) -> Iterator[tuple[Summary, Summary]]:
    for more, less in pairs:
        yield more, less
        yield less, more
