"""What all mechanisms share: choice by shape, public parameters, refusals; whole error texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import DataError, NotProvedError, ParameterError
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.jobs.release import release
from hushcount.mechanisms.registry import DEFAULTS, MECHANISMS
from hushcount.privacy import EVENT, RESULT_ROW, USER, Budget
from hushcount.shapes import FloorCounters, Histogram, KeyShards, LimitedKeys, ManyKeys, Public, Shards
from hushcount.shapes.samples import SampledCounts
from hushcount.shapes.standard import StandardCounters
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.leaves import count_leaves

FLOORED = FloorCounters(pa.array(["a", "b", "c"]), np.array([1000, 500, 21]), 20, candidates=7, parts=8)
EXACT = Histogram(pa.array([5, 6, 7]), np.array([1000, 500, 1]))
MANY = ManyKeys(pa.array(["a", "b", "c"]), np.array([1000, 500, 1]), 7, 7, 8)
LIMITED = LimitedKeys(MANY.keys, MANY.counts, 7, 7, 8)
SHARDED = Shards((FLOORED, FLOORED))
SHAPES = {FloorCounters: FLOORED, Histogram: EXACT, ManyKeys: MANY, LimitedKeys: LIMITED, Shards: SHARDED}
NAMES = (
    "floor, pmg, pmg-paper, pmg-standard, chan, dpss, laplace-threshold, truncated-geometric, public-floor,"
    " count-min-envelope, count-sketch-envelope, measured-envelope, shards, key-shards, gaussian, correlated,"
    " laplace, reduced, pure, pure-bounded, pure-shards, sanitise"
)
PURE = ("pure", "pure-bounded", "pure-shards")
RELEASED = [name for name in MECHANISMS if MECHANISMS[name].accepts[0] in SHAPES]
# What a count of 1000, 500 with a floor of 20 is published as: with the floor, above it, or ...
COUNTED = dict.fromkeys(
    ("floor", "laplace-threshold", "truncated-geometric", "gaussian", "correlated", "laplace"), (1000, 500)
)
HEIGHTS = dict.fromkeys(("pmg", "pmg-paper", "pmg-standard", "chan"), (980, 480))
EXPECTED = {
    **COUNTED,
    **HEIGHTS,
    "shards": (1960, 960),  # two shards, each above its floor
    "reduced": (797, 297),  # as pure
    "pure": (797, 297),  # less the sum of the heights over 8
    "pure-shards": (1595, 595),  # the same of each of two shards
    "dpss": (),  # 10000 events may raise the floor to 1250
    "public-floor": (),
    "pure-bounded": (),
}


@dataclass(frozen=True)
class Sketch:
    value: Any
    total: int = 0

    def shape(self) -> Any:
        return self.value


def test_the_shape_picks_the_proved_default() -> None:
    assert release(Sketch(FLOORED), epsilon=1.0, delta=1e-8).guarantee.mechanism == "floor release"
    assert release(Sketch(EXACT), epsilon=1.0, delta=1e-8).guarantee.mechanism == "truncated geometric"
    many = release(Sketch(MANY), epsilon=1.0, delta=1e-8)
    assert many.guarantee.mechanism == "Gaussian sparse histogram"
    assert release([Sketch(FLOORED), Sketch(FLOORED)], epsilon=1.0, delta=1e-8).guarantee.mechanism == (
        "shard release"
    )
    own = {FloorCounters, Histogram, ManyKeys, LimitedKeys, Shards, KeyShards}
    assert set(DEFAULTS) == own | {SampledCounts, StandardCounters}


def released(name: str, shape: Any, epsilon: float, delta: float, **options: Any) -> Any:
    if name in PURE:
        delta, options["domain"] = 0, ["a", "b", "c", "d", "e"]
    sketch = [Sketch(part) for part in shape.parts] if isinstance(shape, Shards) else Sketch(shape)
    return release(sketch, epsilon=epsilon, delta=delta, mechanism=name, **options)


def of_unit(shape: Any, unit: Any) -> Any:
    if isinstance(shape, Shards):
        return Shards(tuple(replace(part, unit=unit) for part in shape.parts))
    return replace(shape, unit=unit)


@pytest.mark.parametrize("name", RELEASED)
def test_every_mechanism_releases_the_heavy_keys(name: str) -> None:
    shape = SHAPES[MECHANISMS[name].accepts[0]]
    result = released(name, of_unit(shape, RESULT_ROW), 20.0, 1e-6, max_events=10_000)
    assert result.counts.to_pylist() == pytest.approx(list(EXPECTED[name]), abs=40)
    assert (result.guarantee.epsilon, result.guarantee.delta) == (20.0, 0 if name in PURE else 1e-6)
    assert result.guarantee.unit == RESULT_ROW
    assert result.guarantee.proof.startswith("docs/proofs/")


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_states_its_theorem_beside_the_noise(name: str) -> None:
    text = MECHANISMS[name].__doc__ or ""
    for heading in ("Theorem:", "Neighbours:", "Assumes:", "Parameters:", "Proof:", "Checked by:"):
        assert heading in text


@pytest.mark.parametrize("name", [name for name in RELEASED if name not in PURE])
def test_an_empty_sketch_releases_nothing(name: str) -> None:
    empty = pa.array([], pa.string()), np.array([], dtype=np.int64)
    floored = FloorCounters(*empty, 0, 7, 8)
    shapes = {
        FloorCounters: floored,
        Histogram: Histogram(*empty),
        ManyKeys: ManyKeys(*empty, 7),
        LimitedKeys: LimitedKeys(*empty, 7, 7, 8),
        Shards: Shards((floored, floored)),
    }
    assert len(released(name, shapes[MECHANISMS[name].accepts[0]], 1.0, 1e-8, max_events=1000)) == 0


def test_the_unit_of_the_shape_is_what_is_protected() -> None:
    for unit in (EVENT, RESULT_ROW, USER):
        assert release(Sketch(of_unit(MANY, unit)), epsilon=1.0, delta=1e-8).guarantee.unit == unit


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError) as error:
        release(Sketch(FLOORED), epsilon=1.0, delta=1e-8, mechanism="gauss")
    assert str(error.value) == f"mechanism must be one of {NAMES}, got gauss."


def not_proved(shape: Any, mechanism: str | None = None) -> str:
    with pytest.raises(NotProvedError) as error:
        release(Sketch(shape), epsilon=1.0, delta=1e-8, mechanism=mechanism)
    return str(error.value)


def test_a_shape_without_proof_is_refused_with_the_way_out() -> None:
    assert not_proved(EXACT, "floor") == (
        "floor is proved for a single SpaceSaving or MisraGries stream, not for exact counts; "
        "release one SpaceSaving or MisraGries stream,"
        ' or use mechanism="laplace-threshold".'
    )
    assert not_proved(FLOORED, "laplace-threshold") == (
        "laplace-threshold is proved for exact counts, not for a single SpaceSaving or MisraGries "
        'stream; use mechanism="floor", or count with'
        " Exact."
    )
    leaves = count_leaves(parse_hierarchy("path/2"), pa.array(["/a/b"]))
    assert not_proved(leaves) == (
        "No mechanism is the default for the exact leaf counts of a hierarchy; count with SpaceSaving."
    )


def test_mechanisms_of_many_keys_refuse_one_stream() -> None:
    assert not_proved(FLOORED, "gaussian") == (
        "gaussian is proved for merged and user-level sketches or exact counts, not for a single "
        'SpaceSaving or MisraGries stream; use mechanism="floor" for one stream, or release'
        " shards with hc.release(shards)."
    )
    assert not_proved(MANY, "floor") == (
        "floor is proved for a single SpaceSaving or MisraGries stream, not for merged and "
        'user-level sketches; use mechanism="gaussian", or release shards with'
        " hc.release(shards)."
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
        (1.0, 0.0, None, "delta must be strictly between 0 and 1, got 0.0; or give a public domain."),
        (1.0, 0, None, "delta must be strictly between 0 and 1, got 0; or give a public domain."),
        (1.0, False, None, "delta must be a number, got False."),
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
        ("dpss", Public(7, 8), "dpss needs max_events, a public bound, got None."),
        ("dpss", Public(7, None, 100), "dpss needs parts, a public bound, got None."),
        ("chan", Public(), "chan needs candidates, a public bound, got None."),
        ("pmg-standard", Public(), "pmg-standard needs candidates, a public bound, got None."),
    ],
)
def test_missing_public_parameters_are_named(name: str, public: Public, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        MECHANISMS[name](Budget(1.0, 1e-6), public)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [0, -3, True, 1.5, float("nan")])
def test_public_parameters_are_whole_numbers(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^candidates must be"):
        Public(candidates=value)


def test_a_sketch_of_another_size_than_calibrated_is_refused() -> None:
    from hushcount.noise.bits import system_bits

    mechanism = MECHANISMS["pmg-standard"](Budget(1.0, 1e-6), Public(candidates=6))
    with pytest.raises(ParameterError, match=r"^candidates must be 6 as calibrated, got 7\.$"):
        mechanism.release(FLOORED, system_bits())


@pytest.mark.parametrize("mechanism", ["floor", "dpss", "public-floor"])
def test_more_events_than_the_public_bound_are_refused(mechanism: str) -> None:
    sketch = SpaceSaving(counters=4)
    sketch.update(["a"] * 101)
    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "mechanism": mechanism}
    release(sketch, max_events=101, **budget)
    with pytest.raises(DataError) as caught:
        release(sketch, max_events=100, **budget)
    assert str(caught.value) == (
        "The sketch holds more than max_events = 100 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )
