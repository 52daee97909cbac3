"""What all mechanisms share: choice by shape, public parameters, refusals; whole error texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms import DEFAULTS, MECHANISMS, release
from hushcount.mechanisms.base import PublicParameters
from hushcount.privacy import RESULT_ROW, Budget
from hushcount.sketches.shapes import FloorCounters, Histogram

FLOORED = FloorCounters(pa.array(["a", "b", "c"]), np.array([1000, 500, 21]), 20, candidates=7, parts=8)
EXACT = Histogram(pa.array([5, 6, 7]), np.array([1000, 500, 1]))
NAMES = (
    "floor, pmg, pmg-paper, pmg-standard, chan, dpss, laplace-threshold, truncated-geometric, public-floor"
)
EXACT_MECHANISMS = ("laplace-threshold", "truncated-geometric")


@dataclass(frozen=True)
class Sketch:
    value: Any

    def shape(self) -> Any:
        return self.value


def test_the_shape_picks_the_proved_default() -> None:
    assert release(Sketch(FLOORED), epsilon=1.0, delta=1e-8).guarantee.mechanism == "floor release"
    assert release(Sketch(EXACT), epsilon=1.0, delta=1e-8).guarantee.mechanism == "truncated geometric"
    assert set(DEFAULTS) == {FloorCounters, Histogram}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_releases_the_heavy_keys(name: str) -> None:
    shape = EXACT if name in EXACT_MECHANISMS else FLOORED
    result = release(
        Sketch(shape), epsilon=20.0, delta=1e-6, mechanism=name, max_events=10_000, unit=RESULT_ROW
    )
    expected = [1000, 500] if name in ("floor", *EXACT_MECHANISMS) else [980, 480]
    if name in ("dpss", "public-floor"):  # 10000 events may raise the floor to 1250
        expected = []
    assert result.counts.to_pylist() == pytest.approx(expected, abs=40)
    assert (result.guarantee.epsilon, result.guarantee.delta) == (20.0, 1e-6)
    assert result.guarantee.unit == RESULT_ROW
    assert result.guarantee.proof.startswith("docs/proofs/")


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_states_its_theorem_beside_the_noise(name: str) -> None:
    text = MECHANISMS[name].__doc__ or ""
    for heading in ("Theorem:", "Neighbours:", "Assumes:", "Parameters:", "Proof:", "Checked by:"):
        assert heading in text


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_empty_sketch_releases_nothing(name: str) -> None:
    empty = pa.array([], pa.string()), np.array([], dtype=np.int64)
    shape = Histogram(*empty) if name in EXACT_MECHANISMS else FloorCounters(*empty, 0, 7, 8)
    assert len(release(Sketch(shape), epsilon=1.0, delta=1e-8, mechanism=name, max_events=1000)) == 0


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError) as error:
        release(Sketch(FLOORED), epsilon=1.0, delta=1e-8, mechanism="laplace")
    assert str(error.value) == f"mechanism must be one of {NAMES}, got laplace."


def test_a_shape_without_proof_is_refused_with_the_way_out() -> None:
    with pytest.raises(NotProvedError) as error:
        release(Sketch(EXACT), epsilon=1.0, delta=1e-8, mechanism="floor")
    assert str(error.value) == (
        "floor is proved for FloorCounters, got Histogram; release one SpaceSaving or MisraGries stream,"
        ' or use mechanism="laplace-threshold".'
    )
    with pytest.raises(NotProvedError) as error:
        release(Sketch(FLOORED), epsilon=1.0, delta=1e-8, mechanism="laplace-threshold")
    assert str(error.value) == (
        'laplace-threshold is proved for Histogram, got FloorCounters; use mechanism="floor", or count with'
        " Exact."
    )
    with pytest.raises(NotProvedError, match=r"^no mechanism is proved for float; count with SpaceSaving\.$"):
        release(Sketch(1.5), epsilon=1.0, delta=1e-8)


def test_shards_are_not_proved_yet() -> None:
    with pytest.raises(NotProvedError) as error:
        release([Sketch(FLOORED), Sketch(FLOORED)], epsilon=1.0, delta=1e-8)
    assert str(error.value) == (
        "release is proved for one sketch, got a list; release each with its own share of the budget."
    )


def test_something_else_is_no_sketch() -> None:
    with pytest.raises(ParameterError, match=r"^sketch must be a sketch, got ndarray\.$"):
        release(np.zeros(3), epsilon=1.0, delta=1e-8)


@pytest.mark.parametrize(
    ("epsilon", "delta", "max_events", "message"),
    [
        (0.0, 1e-8, None, "epsilon must be a finite number above 0, got 0.0."),
        (-1, 1e-8, None, "epsilon must be a finite number above 0, got -1."),
        (float("nan"), 1e-8, None, "epsilon must be a finite number above 0, got nan."),
        (float("inf"), 1e-8, None, "epsilon must be a finite number above 0, got inf."),
        (True, 1e-8, None, "epsilon must be a number, got True."),
        (21, 1e-8, None, "epsilon above 20 protects nobody, got 21."),
        (1.0, 1.0, None, "delta must be strictly between 0 and 1, got 1.0."),
        (1.0, 0.0, None, "delta must be strictly between 0 and 1, got 0.0."),
        (1.0, 1e-3, 1000, "delta must be below 1/max_events = 0.001, got 0.001."),
        (1.0, 1e-8, 0, "max_events must be at least 1, got 0."),
        (1.0, 1e-8, True, "max_events must be a whole number, got True."),
    ],
)
def test_bad_budgets_are_refused(epsilon: Any, delta: Any, max_events: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        release(Sketch(FLOORED), epsilon=epsilon, delta=delta, max_events=max_events)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "public", "message"),
    [
        ("dpss", PublicParameters(7, 8), "dpss needs max_events, a public bound, got None."),
        ("dpss", PublicParameters(7, None, 100), "dpss needs parts, a public bound, got None."),
        ("chan", PublicParameters(), "chan needs candidates, a public bound, got None."),
        ("pmg-standard", PublicParameters(), "pmg-standard needs candidates, a public bound, got None."),
    ],
)
def test_missing_public_parameters_are_named(name: str, public: PublicParameters, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        MECHANISMS[name](Budget(1.0, 1e-6), public)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [0, -3, True, 1.5, float("nan")])
def test_public_parameters_are_whole_numbers(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^candidates must be"):
        PublicParameters(candidates=value)


def test_a_sketch_of_another_size_than_calibrated_is_refused() -> None:
    from hushcount.randomness import system_bits

    mechanism = MECHANISMS["pmg-standard"](Budget(1.0, 1e-6), PublicParameters(candidates=6))
    with pytest.raises(ParameterError, match=r"^candidates must be 6 as calibrated, got 7\.$"):
        mechanism.release(FLOORED, system_bits())
