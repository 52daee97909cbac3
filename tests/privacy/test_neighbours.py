"""The lemma under every mechanism for one stream: how far one event moves a counter sketch."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from tests import reference
from tests.privacy import neighbours as nb

SIX_STATES = {"S1", "S2", "S3", "S4", "S5", "S6"}


def streams_up_to_renaming(length: int, keys: int) -> Iterator[tuple[int, ...]]:
    """One stream of each class of streams that differ by a renaming of keys."""
    if length == 0:
        yield ()
        return
    for stream in streams_up_to_renaming(length - 1, keys):
        for key in range(min(max(stream, default=-1) + 2, keys)):
            yield (*stream, key)


def deletions(stream: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for index in range(len(stream)):
        yield stream[:index] + stream[index + 1 :]


def sketch_of(counts: dict[int, int], floor: int) -> nb.Sketch:
    return tuple((key, count - floor) for key, count in counts.items())


def space_saving_difference(more: tuple[int, ...], less: tuple[int, ...], counters: int) -> nb.Difference:
    sides, floors = [], []
    for stream in (more, less):
        counts, floor, next_evicted = reference.space_saving(stream, counters)
        sides.append(sketch_of(reference.candidates(counts, next_evicted), floor))
        floors.append(floor)
    plain = nb.Rule(counters, nb.recent_step, nb.everyone)
    return nb.difference(plain, (sides[0], sides[1], floors[0] - floors[1]))


@pytest.mark.parametrize("length", range(1, 9))
@pytest.mark.parametrize("counters", [2, 3, 4])
def test_lemma_holds_for_every_short_stream_of_space_saving(counters: int, length: int) -> None:
    for stream in streams_up_to_renaming(length, keys=5):
        for shorter in set(deletions(stream)):
            found = space_saving_difference(stream, shorter, counters)
            assert nb.lemma(found), (stream, shorter)
            assert nb.state(found) in SIX_STATES


@pytest.mark.parametrize("counters", [1, 2, 3, 4])
def test_lemma_holds_for_every_short_stream_of_misra_gries(counters: int) -> None:
    """All 5^8 streams at once: streams that lead to the same pair of sketches go on together."""
    rule = nb.misra_gries(counters)
    same, pairs = {((), 0)}, set()
    for _ in range(8):
        pairs = {after_both(rule, pair, key) for pair in pairs for key in range(5)}
        pairs |= {
            (rule.after(one, key)[0], one, rule.after(one, key)[1]) for one, _ in same for key in range(5)
        }
        same = {(rule.after(one, key)[0], 0) for one, _ in same for key in range(5)}
        for pair in pairs:
            found = nb.difference(rule, pair)
            assert nb.lemma(found), pair
            assert nb.state(found) in SIX_STATES


def after_both(rule: nb.Rule, pair: nb.Pair, key: int) -> nb.Pair:
    (more, more_raised), (less, less_raised) = (rule.after(sketch, key) for sketch in pair[:2])
    return more, less, pair[2] + more_raised - less_raised


@pytest.mark.parametrize(
    "rule",
    [
        *(nb.most_recent(counters) for counters in (6, 5, 4, 3, 2)),
        *(nb.least_recent(counters) for counters in (6, 5, 4, 3, 2)),
        *(nb.misra_gries(counters) for counters in (5, 4, 3, 2, 1)),
    ],
    ids=lambda rule: f"{rule.step.__name__}-{rule.counters}",
)
def test_lemma_holds_for_streams_of_any_length(rule: nb.Rule) -> None:
    pairs, failure = nb.closure(rule)
    assert failure is None
    assert {nb.state(nb.difference(rule, pair)) for pair in pairs} <= SIX_STATES


@pytest.mark.parametrize("rule", [nb.most_recent(3), nb.misra_gries(2)], ids=["space_saving", "misra_gries"])
def test_every_state_is_reached_by_some_stream(rule: nb.Rule) -> None:
    pairs, _ = nb.closure(rule)
    assert {nb.state(nb.difference(rule, pair)) for pair in pairs} == SIX_STATES


TRANSITIONS = {  # docs/proofs/counters/floor.md, section 2
    "S1": {"S1", "S4"},
    "S2": {"S1", "S2", "S4", "S6"},
    "S3": {"S2", "S3", "S4"},
    "S4": {"S2", "S3", "S4", "S5"},
    "S5": {"S3", "S5"},
    "S6": {"S4", "S5", "S6"},
}


@pytest.mark.parametrize("rule", [nb.most_recent(4), nb.misra_gries(3)], ids=["space_saving", "misra_gries"])
@pytest.mark.parametrize("state", TRANSITIONS)
def test_transitions_between_states_are_those_of_the_proof(rule: nb.Rule, state: str) -> None:
    before = [pair for pair in nb.closure(rule)[0] if nb.state(nb.difference(rule, pair)) == state]
    after = {successor for pair in before for successor in nb.pair_successors(rule, pair, nb.CAP)}
    found = {nb.state(nb.difference(rule, pair)) for pair in after}
    assert found <= TRANSITIONS[state]
    assert rule.ordered is False or found == TRANSITIONS[state]


@pytest.mark.parametrize("counters", [2, 3, 4])
def test_insertion_order_ties_keep_the_lemma_below_five_counters(counters: int) -> None:
    assert nb.closure(nb.insertion(counters))[1] is None


def test_insertion_order_ties_break_the_lemma_with_five_counters() -> None:
    assert nb.closure(nb.insertion(5))[1] is not None


@pytest.mark.parametrize("counters", [5, 6, 7, 12])
def test_twelve_events_show_that_insertion_order_ties_isolate_three_keys(counters: int) -> None:
    """Beyond five counters, heavy keys keep the others busy."""
    heavy = tuple(-key for key in range(1, counters - 4) for _ in range(9))
    stream = (*heavy, 0, 1, 2, 3, 4, 4, 5, 3, 2, 1, 6, 7)
    shorter = stream[:-6] + stream[-5:]
    kept = []
    for one in (stream, shorter):
        counts, _, next_evicted = reference.space_saving_by_insertion(one, counters)
        kept.append(reference.candidates(counts, next_evicted).keys())
    assert len(kept[0] - kept[1]) == 3
    assert nb.lemma(space_saving_difference(stream, shorter, counters))


@pytest.mark.parametrize("seed", range(20))
def test_steps_of_the_closure_equal_the_reference(seed: int) -> None:
    source = random.Random(seed)
    counters = source.randint(2, 6)
    stream = [source.choice([source.randint(0, 3), source.randint(0, 12)]) for _ in range(60)]
    for rule, oracle in (
        (nb.most_recent(counters), reference.space_saving),
        (nb.insertion(counters), reference.space_saving_by_insertion),
    ):
        counts, floor, next_evicted = oracle(stream, counters)
        sketch, raised = follow(rule, stream)
        assert (dict(sketch), raised) == (dict(sketch_of(counts, floor)), floor)
        assert (
            dict(rule.candidates(sketch, counters)).keys()
            == reference.candidates(counts, next_evicted).keys()
        )
    sketch, raised = follow(nb.misra_gries(counters), stream)
    assert (dict(sketch), raised) == reference.misra_gries(stream, counters)


@pytest.mark.parametrize("seed", range(20))
def test_space_saving_above_its_floor_is_misra_gries_with_one_counter_less(seed: int) -> None:
    source = random.Random(seed)
    counters = source.randint(2, 6)
    stream = [source.choice([source.randint(0, 3), source.randint(0, 12)]) for _ in range(80)]
    counts, floor, next_evicted = reference.space_saving(stream, counters)
    heights = {key: c - floor for key, c in reference.candidates(counts, next_evicted).items()}
    assert ({key: h for key, h in heights.items() if h}, floor) == reference.misra_gries_standard(
        stream, counters - 1
    )


def follow(rule: nb.Rule, stream: list[int]) -> tuple[nb.Sketch, int]:
    sketch: nb.Sketch = ()
    floor = 0
    for key in stream:
        sketch, raised = rule.after(sketch, key)
        floor += raised
    return sketch, floor
