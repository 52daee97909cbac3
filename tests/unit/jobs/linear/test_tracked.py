"""Sketches of additions and deletions: sized for their release, saved, released, refused (whole texts)."""

import pytest

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.mechanisms.linear.calibration import plan_envelope
from hushcount.mechanisms.linear.envelope import ENVELOPES
from hushcount.privacy import Budget

SIZE = {"max_events": 30_000, "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_tracked_sketch_is_saved_loaded_and_released(name, tmp_path):
    sketch = hc.tracked_sketch(64, mechanism=name, **SIZE)
    plan = plan_envelope(ENVELOPES[name], 30_000, 64, Budget(1.0, 1e-6))
    assert isinstance(sketch, hc.TrackedSketch)
    assert sketch.size == (plan.kind, plan.depth, plan.width)
    sketch.update(["tea"] * 12_000 + ["milk"] * 8_000)
    sketch.save(tmp_path / "a.hc")
    again = hc.load(tmp_path / "a.hc")
    again.update(["milk"] * 7_900, weights=[-1] * 7_900)
    found = hc.release(again, mechanism=name, **SIZE)
    assert found.table["key"].to_pylist() == ["tea"]
    assert hc.release(sketch, mechanism=name, **SIZE).table["key"].to_pylist() == ["tea", "milk"]
    assert hc.verify(found.to_json().encode()).holds


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"mechanism": "floor"},
            "mechanism must be one of count-min-envelope, count-sketch-envelope, measured-envelope, got"
            " floor.",
        ),
        ({"max_events": None}, "count-min-envelope needs max_events, a public bound, got None."),
        ({"max_events": 0}, "max_events must be at least 1, got 0."),
        ({"counters": 1}, "counters must be at least 2, got 1."),
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0."),
        ({"delta": 2}, "delta must be strictly between 0 and 1, got 2."),
    ],
)
def test_bad_input_is_refused(options, text):
    with pytest.raises(ParameterError) as refused:
        hc.tracked_sketch(**({"counters": 8} | SIZE | options))
    assert str(refused.value) == text
