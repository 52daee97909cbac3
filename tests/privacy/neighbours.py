"""All pairs of sketches that neighbouring streams of any length can lead to.

A sketch is a tuple of (key, height) in the order its tie rule looks at, height = count - floor. A pair holds
the sketch of a stream, the sketch of that stream with one event removed, and the difference of their floors.
Heights above a cap are abstract: CAP stands for every height >= CAP, and a step that lowers such a key leads
to both CAP - 1 and CAP. So the closure covers every pair of streams, and it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

CAP = 2

Sketch = tuple[tuple[int, int], ...]
Pair = tuple[Sketch, Sketch, int]


@dataclass(frozen=True)
class Rule:
    """How a sketch of `counters` keys takes an event; label-free rules never look at a key's value."""

    counters: int
    step: Callable[[Sketch, int, int], tuple[Sketch, int]]
    candidates: Callable[[Sketch, int], Sketch]
    ordered: bool = False

    def after(self, sketch: Sketch, key: int) -> tuple[Sketch, int]:
        return self.step(sketch, key, self.counters)


def settled(sketch: Sketch, counters: int) -> tuple[Sketch, int]:
    """Raise the floor of a full SpaceSaving sketch to its least count."""
    if len(sketch) == counters and min(height for _, height in sketch) > 0:
        return tuple((key, height - 1) for key, height in sketch), 1
    return sketch, 0


@cache
def recent_step(sketch: Sketch, key: int, counters: int) -> tuple[Sketch, int]:
    """SpaceSaving, the most recently updated key of height 0 is evicted; order: least recent first."""
    height = dict(sketch).get(key, 0)
    rest = tuple(entry for entry in sketch if entry[0] != key)
    if len(rest) == counters:
        rest = without_last_zero(rest)
    return settled((*rest, (key, height + 1)), counters)


@cache
def oldest_step(sketch: Sketch, key: int, counters: int) -> tuple[Sketch, int]:
    """SpaceSaving, the least recently updated key of height 0 is evicted; order: most recent first."""
    height = dict(sketch).get(key, 0)
    rest = tuple(entry for entry in sketch if entry[0] != key)
    if len(rest) == counters:
        rest = without_last_zero(rest)
    return settled(((key, height + 1), *rest), counters)


@cache
def insertion_step(sketch: Sketch, key: int, counters: int) -> tuple[Sketch, int]:
    """The broken twin: SpaceSaving, the last inserted key of height 0 is evicted; order: of insertion."""
    if key in dict(sketch):
        return settled(tuple((k, height + (k == key)) for k, height in sketch), counters)
    rest = without_last_zero(sketch) if len(sketch) == counters else sketch
    return settled((*rest, (key, 1)), counters)


@cache
def misra_gries_step(sketch: Sketch, key: int, counters: int) -> tuple[Sketch, int]:
    """Misra-Gries (Lebeda and Tětek 2023, Algorithm 1), the smallest key of height 0 is replaced; order:
    largest key first."""
    if key in dict(sketch):
        return tuple((k, height + (k == key)) for k, height in sketch), 0
    if len(sketch) == counters and all(height > 0 for _, height in sketch):
        return tuple((k, height - 1) for k, height in sketch), 1
    rest = without_last_zero(sketch) if len(sketch) == counters else sketch
    return tuple(sorted((*rest, (key, 1)), reverse=True)), 0


def without_last_zero(sketch: Sketch) -> Sketch:
    place = max(index for index, (_, height) in enumerate(sketch) if height == 0)
    return sketch[:place] + sketch[place + 1 :]


def but_next_in_line(sketch: Sketch, counters: int) -> Sketch:
    return without_last_zero(sketch) if len(sketch) == counters else sketch


def everyone(sketch: Sketch, counters: int) -> Sketch:
    return sketch


def most_recent(counters: int) -> Rule:
    return Rule(counters, recent_step, but_next_in_line)


def least_recent(counters: int) -> Rule:
    return Rule(counters, oldest_step, but_next_in_line)


def insertion(counters: int) -> Rule:
    return Rule(counters, insertion_step, but_next_in_line)


def misra_gries(counters: int) -> Rule:
    return Rule(counters, misra_gries_step, everyone, ordered=True)


@dataclass(frozen=True)
class Difference:
    """How the candidates of a pair differ: floors, heights of common keys, heights of isolated keys."""

    floors: int
    common: tuple[int, ...]
    isolated: tuple[tuple[int, ...], tuple[int, ...]]


def difference(rule: Rule, pair: Pair) -> Difference:
    more, less = (dict(rule.candidates(sketch, rule.counters)) for sketch in pair[:2])
    common = tuple(more[key] - less[key] for key in more.keys() & less.keys())
    isolated_more = tuple(sorted((more[key] for key in more.keys() - less.keys()), reverse=True))
    isolated_less = tuple(sorted((less[key] for key in less.keys() - more.keys()), reverse=True))
    return Difference(pair[2], common, (isolated_more, isolated_less))


def lemma(found: Difference) -> bool:
    """(floor, common counts) moves by at most 1; isolated keys at most (1, 0) : (0, 0), or (0) : (1)."""
    moved = abs(found.floors) + sum(abs(step + found.floors) for step in found.common)
    if found.floors == 1:
        return moved <= 1 and found.isolated in (((), ()), ((0,), (1,)))
    return moved <= 1 and at_most(found.isolated[0], (1, 0)) and at_most(found.isolated[1], (0, 0))


def at_most(heights: tuple[int, ...], bounds: tuple[int, ...]) -> bool:
    return len(heights) <= len(bounds) and all(h <= b for h, b in zip(heights, bounds, strict=False))


def state(found: Difference) -> str | None:
    """The state S1 .. S6 of docs/proofs/counters/floor.md, None for a pair in none of them."""
    steps = sorted(step for step in found.common if step)
    if found.floors == 1 and len(steps) == len(found.common) and set(steps) <= {-1}:
        return {((), ()): "S1", ((0,), (1,)): "S2"}.get(found.isolated)
    if found.floors == 0 and steps == [1]:
        return {((), ()): "S3", ((0,), (0,)): "S5"}.get(found.isolated)
    if found.floors == 0 and not steps:
        return {((1,), ()): "S4", ((1,), (0,)): "S4", ((1, 0), (0, 0)): "S6"}.get(found.isolated)
    return None


def closure(rule: Rule, cap: int = CAP) -> tuple[set[Pair], Pair | None]:
    """Every pair, and one for which the lemma fails (the search stops there)."""
    singles = reach({()}, lambda sketch: single_successors(rule, sketch, cap))
    pairs = {start for sketch in singles for start in removals(rule, sketch, cap)}
    frontier = deque(pairs)
    while frontier:
        pair = frontier.popleft()
        if not lemma(difference(rule, pair)):
            return pairs, pair
        for successor in pair_successors(rule, pair, cap):
            if successor not in pairs:
                pairs.add(successor)
                frontier.append(successor)
    return pairs, None


def reach(start: set[Sketch], successors: Callable[[Sketch], Iterator[Sketch]]) -> set[Sketch]:
    seen, frontier = set(start), list(start)
    while frontier:
        for successor in successors(frontier.pop()):
            if successor not in seen:
                seen.add(successor)
                frontier.append(successor)
    return seen


def single_successors(rule: Rule, sketch: Sketch, cap: int) -> Iterator[Sketch]:
    for pair in pair_successors(rule, (sketch, sketch, 0), cap):
        yield pair[0]


def removals(rule: Rule, sketch: Sketch, cap: int) -> Iterator[Pair]:
    """One stream takes an event that the other does not."""
    twin = (sketch, sketch, 0)
    for key, (more, less, _) in events(rule, twin, cap):
        after, raised = rule.after(more, key)
        yield canonical(rule, (after, less, raised), cap)


def pair_successors(rule: Rule, pair: Pair, cap: int) -> Iterator[Pair]:
    """Both streams take the same event."""
    for key, (more, less, floors) in events(rule, pair, cap):
        (more_after, more_raised), (less_after, less_raised) = rule.after(more, key), rule.after(less, key)
        yield canonical(rule, (more_after, less_after, floors + more_raised - less_raised), cap)


def events(rule: Rule, pair: Pair, cap: int) -> Iterator[tuple[int, Pair]]:
    """Every next key (tracked by either, or by none) with every concrete reading of the capped heights."""
    keys = sorted({key for sketch in pair[:2] for key, _ in sketch})
    fresh = [2 * len(keys)] if not rule.ordered else range(-1, 2 * len(keys), 2)
    for key in [*keys, *fresh]:
        lowered = any(rule.after(sketch, key)[1] for sketch in pair[:2])
        for reading in readings(pair, cap) if lowered else [pair]:
            yield key, reading


def readings(pair: Pair, cap: int) -> Iterator[Pair]:
    """Each capped key at CAP or just above it, in both sketches alike."""
    lowest = least_heights(pair)
    capped = [key for key, height in lowest.items() if height == cap]
    for bumps in product((0, 1), repeat=len(capped)):
        bump = dict(zip(capped, bumps, strict=True))
        more, less = (tuple((key, h + bump.get(key, 0)) for key, h in sketch) for sketch in pair[:2])
        yield more, less, pair[2]


def canonical(rule: Rule, pair: Pair, cap: int) -> Pair:
    """Heights capped and keys renamed: by first appearance, or in their order where the rule knows one.

    Names are even, so that a new key fits between any two.
    """
    lowest = least_heights(pair)
    names = sorted(lowest) if rule.ordered else list(lowest)
    name = {key: 2 * index for index, key in enumerate(names)}
    more, less = (
        tuple((name[key], height - max(lowest[key] - cap, 0)) for key, height in sketch)
        for sketch in pair[:2]
    )
    return more, less, pair[2]


def least_heights(pair: Pair) -> dict[int, int]:
    lowest: dict[int, int] = {}
    for sketch in pair[:2]:
        for key, height in sketch:
            lowest[key] = min(height, lowest.get(key, height))
    return lowest
