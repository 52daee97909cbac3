"""Mechanisms: every noise draw and every threshold, each with its theorem.

`release` picks the proved mechanism for a sketch's shape, or the one that is named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.base import Mechanism, PublicParameters, check_shape
from hushcount.mechanisms.envelope import CountMinEnvelope, CountSketchEnvelope
from hushcount.mechanisms.exact import LaplaceThreshold
from hushcount.mechanisms.misra_gries import (
    ChanRelease,
    PrivateMisraGries,
    PrivateMisraGriesPaper,
    PrivateMisraGriesStandard,
)
from hushcount.mechanisms.space_saving import BoundedLengthRelease, FloorRelease
from hushcount.mechanisms.truncated_geometric import PublicFloorRelease, TruncatedGeometric
from hushcount.privacy import EVENT, Budget, PrivacyUnit, check_max_events
from hushcount.randomness import Bits, system_bits
from hushcount.sketches.shapes import Cells, FloorCounters, Histogram, TrackedCells

if TYPE_CHECKING:
    from hushcount.release import Release

__all__ = ["DEFAULTS", "MECHANISMS", "Mechanism", "PublicParameters", "release"]

MECHANISMS: dict[str, type[Mechanism]] = {
    FloorRelease.name: FloorRelease,
    PrivateMisraGries.name: PrivateMisraGries,
    PrivateMisraGriesPaper.name: PrivateMisraGriesPaper,
    PrivateMisraGriesStandard.name: PrivateMisraGriesStandard,
    ChanRelease.name: ChanRelease,
    BoundedLengthRelease.name: BoundedLengthRelease,
    LaplaceThreshold.name: LaplaceThreshold,
    TruncatedGeometric.name: TruncatedGeometric,
    PublicFloorRelease.name: PublicFloorRelease,
    CountMinEnvelope.name: CountMinEnvelope,
    CountSketchEnvelope.name: CountSketchEnvelope,
}

DEFAULTS: dict[type, type[Mechanism]] = {FloorCounters: FloorRelease, Histogram: TruncatedGeometric}

WAYS_OUT: dict[type, str] = {
    Cells: "a linear sketch holds no keys, make an oracle of it with hc.oracle",
    TrackedCells: f"name {CountMinEnvelope.name} or {CountSketchEnvelope.name}",
}


def release(
    sketch: Any,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | None = None,
    max_events: int | None = None,
    unit: PrivacyUnit = EVENT,
    bits: Bits | None = None,
) -> Release:
    """Release a sketch with (epsilon, delta)-differential privacy.

    `mechanism` names one of MECHANISMS; without it the proved default of the sketch's shape is taken.
    `max_events` is a public bound on the number of events: "dpss" and "public-floor" need it, others bound
    errors by it.
    """
    budget = Budget(epsilon, delta)
    longest = check_max_events(max_events, budget.delta)
    shape = _shape(sketch)
    chosen = _choose(mechanism, shape)
    public = PublicParameters(
        getattr(shape, "candidates", None), getattr(shape, "parts", None), longest, unit
    )
    return chosen(budget, public).release(shape, bits or system_bits())


def _shape(sketch: Any) -> object:
    if isinstance(sketch, list | tuple):
        raise NotProvedError(
            "release is proved for one sketch, got a list; release each with its own share of the budget."
        )
    if not hasattr(sketch, "shape") or not callable(sketch.shape):
        raise ParameterError(f"sketch must be a sketch, got {type(sketch).__name__}.")
    return sketch.shape()


def _choose(name: str | None, shape: object) -> type[Mechanism]:
    if name is None:
        default = DEFAULTS.get(type(shape))
        if default is None:
            raise NotProvedError(
                f"no mechanism is the default for {type(shape).__name__};"
                f" {WAYS_OUT.get(type(shape), 'count with SpaceSaving')}."
            )
        return default
    if name not in MECHANISMS:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name}.")
    check_shape(MECHANISMS[name], shape)
    return MECHANISMS[name]
