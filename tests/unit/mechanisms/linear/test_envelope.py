"""The error-envelope release: what it publishes, what it says, and what it refuses (whole texts)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.jobs.release import release
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.linear.calibration import plan_envelope
from hushcount.mechanisms.linear.envelope import ENVELOPES, CountMinEnvelope, explain_envelope
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.privacy import Budget
from hushcount.shapes import Public
from hushcount.sketches.linear import CountMin, TrackedSketch

EVENTS, COUNTERS = 40_000, 64
NAMES = pytest.mark.parametrize("name", ENVELOPES)


def refusal(error: type[Exception], call: Any) -> str:
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def empty(name: str, counters: int = COUNTERS) -> TrackedSketch:
    plan = plan_envelope(ENVELOPES[name], EVENTS, counters, Budget(1.0, 1e-6))
    return TrackedSketch(plan.kind, counters, plan.depth, plan.width)


def published(sketch: TrackedSketch, name: str, **others: Any) -> Any:
    options = {"epsilon": 1.0, "delta": 1e-6, "max_events": EVENTS, "bits": SeededBits(1)}
    return release(sketch, mechanism=name, **(options | others))


@NAMES
def test_heavy_keys_are_published_and_deleted_ones_are_not(name: str) -> None:
    sketch = empty(name)
    rng = np.random.default_rng(1)
    keys = np.concatenate([np.zeros(9000, int), np.ones(8000, int), rng.integers(2, 500, 5000)])
    sketch.update(rng.permutation(keys))
    before = published(sketch, name)
    assert before.keys["key"].to_pylist() == [0, 1]
    assert before.counts.to_pylist() == pytest.approx([9000, 8000], rel=0.1)
    sketch.update(np.zeros(8900, int), weights=np.full(8900, -1))
    after = published(sketch, name)
    assert after.keys["key"].to_pylist() == [1]
    for row in before.at_confidence(1 - 1e-11).table.to_pylist():
        assert row["lower"] <= {0: 9000, 1: 8000}[row["key"]] <= row["upper"]


@NAMES
def test_the_release_is_the_estimate_above_the_threshold(name: str) -> None:
    """Noise for each touched cell, in their order; values above the threshold only."""
    sketch = empty(name)
    sketch.update(["a"] * 5000 + ["b"] * 4000 + ["c"])
    shape = sketch.shape()
    plan = plan_envelope(ENVELOPES[name], EVENTS, COUNTERS, Budget(1.0, 1e-6))
    hashing = shape.cells.hashing
    places = hashing.places(shape.hashes)
    noisy = shape.cells.cells.ravel().copy()
    touched = np.unique(places)
    noisy[touched] += plan.distribution.sample(len(touched), SeededBits(1))
    estimates = hashing.estimate(noisy[places], shape.hashes)
    expected = {
        key: value + plan.centre
        for key, value in zip(shape.keys.to_pylist(), estimates.tolist(), strict=True)
        if value > plan.threshold
    }
    found = published(sketch, name)
    assert dict(zip(found.keys["key"].to_pylist(), found.counts.to_pylist(), strict=True)) == expected
    assert set(expected) == {"a", "b"}
    assert found.guarantee.parameters["threshold"] == plan.threshold
    assert (found.guarantee.epsilon, found.guarantee.delta) == (1.0, 1e-6)


@NAMES
def test_the_notes_compare_with_the_floor_release(name: str) -> None:
    found = published(empty(name), name)
    kind = ENVELOPES[name]
    plan = plan_envelope(kind, EVENTS, COUNTERS, Budget(1.0, 1e-6))
    floor = EVENTS // COUNTERS + thresholds.floor_threshold(1.0, 1e-6)
    assert found.notes == explain_envelope(kind, EVENTS, COUNTERS, Budget(1.0, 1e-6))
    assert found.notes == (
        f"The error envelope publishes keys with a count of about {plan.reach} or more: 625 for keys that are"
        " not"
        f" tracked, {plan.collisions} for collisions, the rest for the noise of {plan.depth} rows.",
        f"mechanism floor publishes counts of about {floor} or more, so the envelope is worse here;"
        f" it also keeps {plan.depth * plan.width} cells beside the counters.",
        "Choose the envelope only for deletions, which counters cannot follow.",
    )


def test_worse_than_the_floor_nearly_always() -> None:
    for kind in ENVELOPES.values():
        for events in (10**4, 10**7, 10**9):
            for epsilon in (0.1, 1.0, 4.0):
                assert "is worse here" in explain_envelope(kind, events, 4096, Budget(epsilon, 1e-8))[1]


class Silent:
    """A law whose draws are all 0."""

    def __init__(self, law: Any) -> None:
        self.law = law

    def __getattr__(self, name: str) -> Any:
        return getattr(self.law, name)

    def sample(self, size: int, _: Any) -> Any:
        return np.zeros(size, np.int64)


@NAMES
@pytest.mark.parametrize(("above", "keys"), [(0, []), (1, ["a"])])
def test_the_threshold_itself_is_not_published(name: str, above: int, keys: list[str]) -> None:
    envelope: Any = MECHANISMS[name](Budget(1.0, 1e-6), Public(parts=COUNTERS, max_events=EVENTS))
    silent = replace(envelope.plan, distribution=Silent(envelope.plan.distribution))
    envelope.plan = silent
    sketch = empty(name)
    sketch.update(["a"] * (silent.threshold + above))
    assert envelope.release(sketch.shape(), SeededBits(1)).keys["key"].to_pylist() == keys


@NAMES
def test_a_length_bound_that_was_exceeded(name: str) -> None:
    """Deletions count too; nothing is released, and no noise is drawn."""
    sketch = empty(name)
    sketch.update(np.arange(EVENTS))
    assert len(published(sketch, name)) == 0
    sketch.update([1], weights=[-1])
    text = (
        "The sketch holds more than max_events = 40000 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )
    assert refusal(DataError, lambda: published(sketch, name, bits=object())) == text


@NAMES
def test_what_is_not_proved_is_refused(name: str) -> None:
    kind = ENVELOPES[name]
    other = next(one for one in ENVELOPES.values() if one != kind)
    way_out = 'use mechanism="floor", or hc.top with this mechanism and max_events.'
    plan = plan_envelope(kind, EVENTS, COUNTERS, Budget(1.0, 1e-6))
    wrong = TrackedSketch(other, COUNTERS, plan.depth, plan.width)
    text = f"{name} is proved for {kind}, got {other}; {way_out}"
    assert refusal(NotProvedError, lambda: published(wrong, name)) == text
    shallow = TrackedSketch(kind, COUNTERS, plan.depth - 1, plan.width)
    text = f"depth must be {plan.depth} as calibrated, got {plan.depth - 1}."
    assert refusal(ParameterError, lambda: published(shallow, name)) == text
    public = Public(parts=COUNTERS, max_events=EVENTS)
    few = TrackedSketch(kind, COUNTERS // 2, plan.depth, plan.width).shape()
    text = f"counters must be {COUNTERS} as calibrated, got {COUNTERS // 2}."
    envelope = MECHANISMS[name](Budget(1.0, 1e-6), public)
    assert refusal(ParameterError, lambda: envelope.release(few, SeededBits(1))) == text
    text = (
        f"{name} is proved for a linear sketch with tracked keys, not for CountMin and CountSketch "
        f"sketches; {way_out}"
    )
    assert refusal(NotProvedError, lambda: published(CountMin(max_weight=1), name)) == text  # type: ignore[arg-type]
    text = f"{name} needs max_events, a public bound, got None."
    assert refusal(ParameterError, lambda: published(empty(name), name, max_events=None)) == text


def test_linear_sketches_have_no_default() -> None:
    text = (
        "No mechanism is the default for CountMin and CountSketch sketches; a linear sketch stores no keys,"
        " so publish it as an oracle (hushcount oracle, hc.oracle)."
    )
    assert refusal(NotProvedError, lambda: release(CountMin(max_weight=1), epsilon=1.0, delta=1e-6)) == text
    text = (
        "No mechanism is the default for a linear sketch with tracked keys;"
        " name measured-envelope, count-min-envelope or count-sketch-envelope."
    )
    sketch = empty(CountMinEnvelope.name)
    assert refusal(NotProvedError, lambda: release(sketch, epsilon=1.0, delta=1e-6)) == text


@NAMES
def test_accuracy_is_stated(name: str) -> None:
    sketch = empty(name)
    sketch.update(["a"] * 9000)
    accuracy = published(sketch, name).accuracy(0.95)
    assert accuracy.simultaneous_below > accuracy.below > 0
    assert accuracy.simultaneous_above > accuracy.above > 0
    assert accuracy.sentences[2] == (
        "The bounds hold for every stream of at most max_events events, so they are wide."
    )
    assumed = ("They assume that no key was deleted more often than it was added.",)
    assert accuracy.sentences[3:-2] == (assumed if name == CountMinEnvelope.name else ())
    plan = plan_envelope(ENVELOPES[name], EVENTS, COUNTERS, Budget(1.0, 1e-6))
    most = plan.reach - 1 + accuracy.simultaneous_above
    least = plan.reach + published(sketch, name).accuracy(0.9).above
    assert (accuracy.unpublished_at_most, accuracy.published_from) == (most, least)
    assert accuracy.sentences[-2:] == (
        f"With confidence 0.95 no key that is missing has more than {most:,} events.",
        f"A key of at least {least:,} events is published with probability 0.95 or more.",
    )
