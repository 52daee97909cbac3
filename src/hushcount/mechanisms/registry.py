"""The table of mechanisms, and the way from a budget and public numbers to a calibrated mechanism.

Everything here happens before the first row is read: a mechanism is chosen by the type of the summary that a
sketch will give, calibrated from public numbers, or refused.
"""

from __future__ import annotations

from hushcount import shapes
from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.base import NO_BOTTOM_K, Calibrated, Mechanism
from hushcount.mechanisms.users import GroupRelease, best_for_exact
from hushcount.privacy import USER, Budget
from hushcount.registry import Registry
from hushcount.shapes import Public, Shape
from hushcount.shapes.known import KnownNodeCounts
from hushcount.shapes.samples import BottomKeys, SampledCounts
from hushcount.shapes.standard import StandardCounters

# Mechanisms that publish a table of keys: those that `top` and `release` take by name.
_TABLES = {
    "floor": "hushcount.mechanisms.counters.floor:FloorRelease",
    "pmg": "hushcount.mechanisms.counters.misra_gries:PrivateMisraGries",
    "pmg-paper": "hushcount.mechanisms.counters.misra_gries:PrivateMisraGriesPaper",
    "pmg-standard": "hushcount.mechanisms.counters.misra_gries:PrivateMisraGriesStandard",
    "chan": "hushcount.mechanisms.counters.misra_gries:ChanRelease",
    "dpss": "hushcount.mechanisms.counters.floor:BoundedLengthRelease",
    "laplace-threshold": "hushcount.mechanisms.histograms.laplace:LaplaceThreshold",
    "truncated-geometric": "hushcount.mechanisms.histograms.truncated_geometric:TruncatedGeometric",
    "public-floor": "hushcount.mechanisms.histograms.truncated_geometric:PublicFloorRelease",
    "count-min-envelope": "hushcount.mechanisms.linear.envelope:CountMinEnvelope",
    "count-sketch-envelope": "hushcount.mechanisms.linear.envelope:CountSketchEnvelope",
    "measured-envelope": "hushcount.mechanisms.linear.measured:MeasuredEnvelope",
    "shards": "hushcount.mechanisms.counters.shards:ShardRelease",
    "key-shards": "hushcount.mechanisms.counters.key_shards:KeyShardRelease",
    "gaussian": "hushcount.mechanisms.histograms.gaussian:GaussianSparseHistogram",
    "correlated": "hushcount.mechanisms.histograms.correlated:CorrelatedSparseHistogram",
    "laplace": "hushcount.mechanisms.histograms.laplace:LaplaceManyKeys",
    "reduced": "hushcount.mechanisms.histograms.reduced:ReducedRelease",
    "pure": "hushcount.mechanisms.histograms.pure:PureRelease",
    "pure-bounded": "hushcount.mechanisms.histograms.pure:BoundedPureRelease",
    "pure-shards": "hushcount.mechanisms.histograms.pure_shards:PureShards",
    "sanitise": "hushcount.mechanisms.sampling.existing:SanitisedSample",
}
# Mechanisms of `tree`, `sample`, `oracle` and of users, which are chosen by options and not by a name.
_OTHERS = {
    "hierarchy-offline": "hushcount.mechanisms.hierarchy.offline:HierarchyRelease",
    "hierarchy-streaming": "hushcount.mechanisms.hierarchy.streaming:LevelFloorRelease",
    "hierarchy-users": "hushcount.mechanisms.hierarchy.users:NodeRelease",
    "hierarchy-known": "hushcount.mechanisms.hierarchy.known:KnownNodeRelease",
    "sample": "hushcount.mechanisms.sampling.sample:PrivateSample",
    "sample-keys": "hushcount.mechanisms.sampling.sample:PrivateSampleKeys",
    "sized-sample": "hushcount.mechanisms.sampling.sized:SizedSample",
    "keys-events": "hushcount.mechanisms.keys.selection:EventKeys",
    "keys-steered": "hushcount.mechanisms.keys.selection:SteeredSelection",
    "keys-sips": "hushcount.mechanisms.keys.selection:KeySips",
    "keys-weighted": "hushcount.mechanisms.keys.selection:WeightedGaussian",
    "noisy-cells": "hushcount.mechanisms.linear.cells:NoisyCells",
    "group": "hushcount.mechanisms.users:GroupRelease",
    "chosen-bound": "hushcount.mechanisms.histograms.chosen:ChosenBound",
    "total": "hushcount.mechanisms.total:TotalRelease",
}

EVERY_MECHANISM: Registry[type[Mechanism[shapes.Shape, object]]] = Registry("mechanism", _TABLES | _OTHERS)
MECHANISMS: Registry[type[Calibrated]] = Registry("mechanism", _TABLES)

# The mechanism of each kind of summary, unless another one is named.
DEFAULTS: dict[type[Shape], str] = {
    shapes.FloorCounters: "floor",
    StandardCounters: "pmg-standard",
    shapes.Histogram: "truncated-geometric",
    shapes.ManyKeys: "gaussian",
    shapes.LimitedKeys: "correlated",
    shapes.Shards: "shards",
    shapes.KeyShards: "key-shards",
    SampledCounts: "sanitise",
}

ONE_PURE, SEVERAL_PURE = ("pure", "pure-bounded"), ("pure-shards",)  # of one sketch, of several
PURE = ONE_PURE + SEVERAL_PURE

WAYS_OUT: dict[type[Shape], str] = {
    shapes.Cells: "a linear sketch stores no keys, so publish it as an oracle (hushcount oracle, hc.oracle)",
    shapes.LevelCounters: "a hierarchy needs a threshold, so release it with hc.tree",
    shapes.NodeCounts: "a hierarchy needs a threshold, so publish it with hc.tree",
    KnownNodeCounts: "a hierarchy needs a threshold, so publish it with hc.tree",
    BottomKeys: NO_BOTTOM_K,
    shapes.TrackedCells: "name measured-envelope, count-min-envelope or count-sketch-envelope",
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
    chosen = MECHANISMS[_named(name, budget, public)]
    if public.shape is not None:
        chosen.check_kind(public.shape)
    if public.min_users is not None and public.shape is not shapes.ExactCounts:
        raise NotProvedError("min_users is proved for exact counts only; leave out counters and floor.")
    if public.unit == USER and public.moved is None:
        return GroupRelease(budget, public, chosen)
    return chosen(budget, public)


def _named(name: str | None, budget: Budget, public: Public) -> str:
    """Return the mechanism asked for, or the default; a domain allows those for delta = 0 and no others."""
    if public.domain is None:
        return _default(budget, public) if name is None else name
    if public.shape is not None and issubclass(public.shape, shapes.Shards):
        if name not in (None, *SEVERAL_PURE):
            raise ParameterError(
                f"mechanism must be pure-shards with a domain and several sketches, got {name}."
            )
        return SEVERAL_PURE[0]
    if name is None:
        return ONE_PURE[0] if public.max_events is None else ONE_PURE[1]
    if name not in ONE_PURE:
        raise ParameterError(f"mechanism must be one of {', '.join(ONE_PURE)} with a domain, got {name}.")
    return name


def _default(budget: Budget, public: Public) -> str:
    """Return the proved default of a kind of summary, or raise with the way out."""
    shape = public.shape or shapes.FloorCounters
    if shape is shapes.ExactCounts and public.unit.weight > 1:
        return DEFAULTS[shapes.Histogram]
    if shape is shapes.ExactCounts:
        return best_for_exact(budget, public.moved or 1).mechanism
    if shape not in DEFAULTS:
        way_out = WAYS_OUT.get(shape, "count with SpaceSaving")
        raise NotProvedError(f"No mechanism is the default for {shape.words}; {way_out}.")
    return DEFAULTS[shape]
