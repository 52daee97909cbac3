"""The table of mechanisms, and the way from a budget and public numbers to a calibrated mechanism.

Everything here happens before the first row is read: a mechanism is chosen by the type of the summary that a
sketch will give, calibrated from public numbers, or refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.base import Calibrated, Claiming, Mechanism, check_kind
from hushcount.mechanisms.users import GroupRelease
from hushcount.privacy import USER, Budget
from hushcount.registry import Registry
from hushcount.shapes import (
    Cells,
    FloorCounters,
    Histogram,
    KeyShards,
    LevelCounters,
    ManyKeys,
    Shards,
    TrackedCells,
)

if TYPE_CHECKING:
    from hushcount.shapes import Public, Shape

_COUNTERS, _HISTOGRAMS = "hushcount.mechanisms.counters", "hushcount.mechanisms.histograms"
_LINEAR, _HIERARCHY = "hushcount.mechanisms.linear", "hushcount.mechanisms.hierarchy"
_SAMPLE = "hushcount.mechanisms.sampling.sample"

# Mechanisms that publish a table of keys: those that `top` and `release` take by name.
_TABLES = {
    "floor": f"{_COUNTERS}.floor:FloorRelease",
    "pmg": f"{_COUNTERS}.misra_gries:PrivateMisraGries",
    "pmg-paper": f"{_COUNTERS}.misra_gries:PrivateMisraGriesPaper",
    "pmg-standard": f"{_COUNTERS}.misra_gries:PrivateMisraGriesStandard",
    "chan": f"{_COUNTERS}.misra_gries:ChanRelease",
    "dpss": f"{_COUNTERS}.floor:BoundedLengthRelease",
    "laplace-threshold": f"{_HISTOGRAMS}.laplace:LaplaceThreshold",
    "truncated-geometric": f"{_HISTOGRAMS}.truncated_geometric:TruncatedGeometric",
    "public-floor": f"{_HISTOGRAMS}.truncated_geometric:PublicFloorRelease",
    "count-min-envelope": f"{_LINEAR}.envelope:CountMinEnvelope",
    "count-sketch-envelope": f"{_LINEAR}.envelope:CountSketchEnvelope",
    "shards": f"{_COUNTERS}.shards:ShardRelease",
    "gaussian": f"{_HISTOGRAMS}.gaussian:GaussianSparseHistogram",
    "laplace": f"{_HISTOGRAMS}.many_keys:LaplaceManyKeys",
    "pure": f"{_HISTOGRAMS}.pure:PureRelease",
    "pure-bounded": f"{_HISTOGRAMS}.pure:BoundedPureRelease",
}
# Mechanisms of `tree`, `sample`, `oracle` and of users, which are chosen by options and not by a name.
_OTHERS = {
    "hierarchy-offline": f"{_HIERARCHY}.offline:HierarchyRelease",
    "hierarchy-streaming": f"{_HIERARCHY}.streaming:LevelFloorRelease",
    "sample": f"{_SAMPLE}:PrivateSample",
    "sample-keys": f"{_SAMPLE}:PrivateSampleKeys",
    "noisy-cells": f"{_LINEAR}.cells:NoisyCells",
    "group": "hushcount.mechanisms.users:GroupRelease",
}

EVERY_MECHANISM: Registry[type[Claiming]] = Registry("mechanism", _TABLES | _OTHERS)
MECHANISMS: Registry[type[Mechanism]] = Registry("mechanism", _TABLES)

# The mechanism of each kind of summary, unless another one is named.
DEFAULTS: dict[type[Shape], str] = {
    FloorCounters: "floor",
    Histogram: "truncated-geometric",
    ManyKeys: "gaussian",
    Shards: "shards",
    KeyShards: "shards",
}

PURE = ("pure", "pure-bounded")

WAYS_OUT: dict[type[Shape], str] = {
    Cells: "a linear sketch stores no keys, so publish it as an oracle with hc.oracle",
    LevelCounters: "a hierarchy needs a threshold, so release it with hc.tree",
    TrackedCells: "name count-min-envelope or count-sketch-envelope",
}


def prepare(name: str | None, budget: Budget, public: Public) -> Calibrated:
    """Return the mechanism, calibrated for one release, or raise.

    Parameters
    ----------
    name : str, optional
        A name of MECHANISMS; without it the proved default of the summary is taken.
    budget : Budget
        What the release may spend.
    public : Public
        The public numbers of the sketch, of whose kind of summary the mechanism must be proved.

    Raises
    ------
    NotProvedError
        If the mechanism is not proved for this kind of summary.
    ParameterError
        If there is no such mechanism, or the budget or a public number does not allow it.
    """
    chosen = MECHANISMS[_named(name, public)]
    if public.shape is not None:
        check_kind(chosen, public.shape)
    if public.unit == USER and ManyKeys not in chosen.accepts:
        return GroupRelease(budget, public, chosen)
    return chosen(budget, public)


def _named(name: str | None, public: Public) -> str:
    """Return the mechanism asked for, or the default; a domain allows those for delta = 0 and no others."""
    if public.domain is None:
        if name in PURE:
            raise ParameterError(f"{name} needs domain, a public list of keys, got None.")
        return _default(public) if name is None else name
    if name is None:
        return PURE[0] if public.max_events is None else PURE[1]
    if name not in PURE:
        raise ParameterError(f"mechanism must be one of {', '.join(PURE)} with a domain, got {name}.")
    return name


def _default(public: Public) -> str:
    """Return the proved default of a kind of summary, or raise with the way out."""
    shape = public.shape or FloorCounters
    if shape not in DEFAULTS:
        way_out = WAYS_OUT.get(shape, "count with SpaceSaving")
        raise NotProvedError(f"No mechanism is the default for {shape.words}; {way_out}.")
    return DEFAULTS[shape]
