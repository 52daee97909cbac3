"""The measured envelope: what it publishes and says, whole texts, and releases that go round by JSON."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.mechanisms import thresholds
from hushcount.mechanisms.linear.measured import MeasuredEnvelope, MeasuredError, plan_tracked
from hushcount.mechanisms.linear.noisy_rows import plan_measured
from hushcount.privacy import Budget
from hushcount.releases.stored.exact import canonical, digest
from hushcount.sketches.linear import TrackedSketch

EVENTS, COUNTERS = 40_000, 64
SIZE: Any = {"max_events": EVENTS, "epsilon": 1.0, "delta": 1e-6, "mechanism": "measured-envelope"}
PLAN = plan_measured(EVENTS, COUNTERS, Budget(1.0, 1e-6))


def filled() -> TrackedSketch:
    sketch = hc.tracked_sketch(COUNTERS, **SIZE)
    rng = np.random.default_rng(1)
    keys = np.concatenate([np.zeros(9000, int), np.ones(8000, int), rng.integers(2, 500, 5000)])
    sketch.update(rng.permutation(keys))
    return sketch


def test_it_publishes_far_smaller_counts_than_the_public_bound() -> None:
    sketch = filled()
    before = hc.release(sketch, **SIZE)
    assert before.keys["key"].to_pylist()[:2] == [0, 1]
    sketch.update(np.zeros(8000, int), weights=np.full(8000, -1))
    after = hc.release(sketch, **SIZE)
    assert after.keys["key"].to_pylist()[:2] == [1, 0]  # 0 has 1000 events left, below the public bound
    assert after.error.hidden < 1000 < PLAN.threshold
    for row in before.at_confidence(1 - 1e-11).table.to_pylist()[:2]:
        assert row["lower"] <= {0: 9000, 1: 8000}[row["key"]] <= row["upper"]


def test_published_are_estimates_above_what_the_rows_show() -> None:
    """The same with noise for every cell, and the threshold worked out here."""
    sketch = filled()
    shape, hashing = sketch.shape(), sketch.shape().cells.hashing
    noise = PLAN.distribution.sample(shape.cells.cells.size, SeededBits(1))
    noisy = shape.cells.cells + noise.reshape(shape.cells.cells.shape)
    release = hc.release(sketch, **SIZE, bits=SeededBits(1))
    estimates = hashing.estimate(noisy.ravel()[hashing.places(shape.hashes)], shape.hashes)
    threshold = EVENTS // COUNTERS + 1 + release.error.measured[0]
    expected = {
        key: int(count)
        for key, count in zip(shape.keys.to_pylist(), estimates, strict=True)
        if count > threshold
    }
    found = dict(zip(release.keys["key"].to_pylist(), release.counts.to_pylist(), strict=True))
    assert found == expected
    assert release.guarantee.parameters == {
        "largest_threshold": PLAN.threshold,
        "max_events": EVENTS,
        "depth": PLAN.depth,
        "width": PLAN.width,
        "beta": PLAN.beta,
    }


def test_what_a_release_says() -> None:
    release = hc.release(filled(), **SIZE)
    margin, floor = release.error.measured[0], EVENTS // COUNTERS + thresholds.floor_threshold(1.0, 1e-6)
    assert release.notes == (
        f"Published are estimates above {625 + 1 + margin}: 625 for keys that are not tracked, {margin}"
        f" because the {PLAN.depth} noisy rows show that collisions and noise add no more to them.",
        f"Without the rows, public numbers alone bound the threshold by {PLAN.threshold}.",
        f"mechanism floor publishes counts of about {floor} or more, but cannot follow deletions; this also"
        f" keeps {PLAN.depth * PLAN.width} cells beside the counters.",
    )
    accuracy = release.accuracy()
    assert accuracy.sentences[2] == (
        "The bounds are read off the noisy rows, which show noise and collisions together."
    )
    assert accuracy.published_from == release.error.hidden + 1 + release.accuracy(0.9).above
    assert accuracy.unpublished_at_most == release.error.hidden + accuracy.simultaneous_above


def test_a_release_goes_round_and_is_verified() -> None:
    release = hc.release(filled(), **SIZE)
    text = release.to_json()
    again = hc.read_release(text.encode())
    assert again.table.equals(release.table)
    assert again.accuracy() == release.accuracy()
    assert hc.verify(text.encode()).holds
    forged = json.loads(text)
    forged["error"]["measured"] = forged["error"]["measured"][:-1]
    assert not hc.verify(json.dumps(forged).encode()).holds


def test_bounds_out_of_order_are_noticed() -> None:
    values = json.loads(hc.release(filled(), **SIZE).to_json())
    for place in (0, 2):
        values["error"]["measured"][place] = values["error"]["measured"][-1] + 1
        found = hc.verify(canonical(values | {"digest": digest(values)}))
        assert not found.holds


def test_bounds_of_an_error_model_must_be_as_many_as_were_read_off() -> None:
    for measured in ((1,) * 3, (-1,) * 50):
        with pytest.raises(ParameterError, match=r"measured must be 50 bounds of at least 0\."):
            MeasuredError(PLAN, EVENTS, COUNTERS, measured)


@pytest.mark.parametrize("weight", [1, 5])
def test_events_of_a_weight(weight: int) -> None:
    sketch = hc.tracked_sketch(COUNTERS, **SIZE, max_weight=weight)
    sketch.update(["a"] * 1500, weights=np.full(1500, weight))
    release = hc.release(sketch, **SIZE)
    assert release.keys["key"].to_pylist() == ["a"]
    assert release.counts[0].as_py() == pytest.approx(1500 * weight, rel=0.1)
    assert release.error.untracked == 625 + weight


def test_a_budget_in_rho() -> None:
    size: Any = {"max_events": EVENTS, "rho": 0.05, "delta": 1e-6, "mechanism": "measured-envelope"}
    sketch = hc.tracked_sketch(COUNTERS, **size)
    sketch.update(["a"] * 5000)
    release = hc.release(sketch, **size)
    assert release.keys["key"].to_pylist() == ["a"]
    assert release.guarantee.parameters["rho"] == 0.05


def refusal(error: type[Exception], sketch: TrackedSketch, **others: Any) -> str:
    with pytest.raises(error) as caught:
        hc.release(sketch, **{**SIZE, **others})
    return str(caught.value)


def test_what_is_refused() -> None:
    other = TrackedSketch("count-sketch", COUNTERS, PLAN.depth, PLAN.width)
    way_out = 'use mechanism="floor", or hc.top with this mechanism and max_events.'
    assert refusal(NotProvedError, other) == (
        f"measured-envelope is proved for keyed-count-sketch, got count-sketch; {way_out}"
    )
    assert refusal(ParameterError, filled(), max_events=None) == (
        "measured-envelope needs max_events, a public bound, got None."
    )
    assert refusal(ParameterError, filled(), epsilon=0.1).startswith("depth must be ")
    sketch = filled()
    sketch.update(np.arange(EVENTS - 21_999))
    assert refusal(DataError, sketch) == (
        "The sketch holds more than max_events = 40000 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )


def test_the_plan_of_each_name() -> None:
    plans = [
        plan_tracked(name, EVENTS, COUNTERS, Budget(1.0, 1e-6))
        for name in ("count-min-envelope", "count-sketch-envelope", MeasuredEnvelope.name)
    ]
    assert [plan.kind for plan in plans] == ["count-min", "count-sketch", "keyed-count-sketch"]
    assert plans[2] == PLAN
