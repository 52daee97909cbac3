"""Recipes: the public numbers from which everything in a release follows, except what the noise decided.

A recipe names the mechanism, its budget, the unit, the kind of the summary and its public numbers. They are
the same before and after counting, so whoever holds a recipe can calibrate the mechanism again
(jobs/trust/rehearsal.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from hushcount import shapes
from hushcount.keys.row_hash import RowHash
from hushcount.mechanisms.base import Mechanism
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.mechanisms.hierarchy.tree import TreeMechanism
from hushcount.mechanisms.hierarchy.users import EveryNode
from hushcount.mechanisms.histograms.chosen import ChosenBound, RankedCounts
from hushcount.mechanisms.sampling.sample import Sampling
from hushcount.mechanisms.sampling.sized import SizedSample
from hushcount.mechanisms.total import TotalRelease, WithTotal
from hushcount.mechanisms.users import GroupRelease
from hushcount.shapes import Shape
from hushcount.shapes.known import KnownNodeCounts
from hushcount.shapes.samples import SampledCounts
from hushcount.shapes.standard import StandardCounters

Recipe = dict[str, object]


def recipe_of(mechanism: Mechanism[Shape, object], shape: Shape) -> Recipe:
    """Return the recipe of a mechanism that releases a summary of this kind and size."""
    if isinstance(mechanism, TotalRelease) and isinstance(shape, WithTotal):  # told by its share
        whole = {"epsilon": mechanism.budget.epsilon, "other_share": mechanism.share}
        return _recipe(cast("Mechanism[Shape, object]", mechanism.table), shape.summary) | whole
    if isinstance(mechanism, SizedSample) and isinstance(shape, WithTotal):
        wanted = {**mechanism.wanted.fields(), "total": mechanism.total}
        wanted["total_share"] = wanted.pop("share")
        return _recipe(cast("Mechanism[Shape, object]", mechanism), shape.summary) | wanted
    return _recipe(mechanism, shape)


def _recipe(mechanism: Mechanism[Shape, object], shape: Shape) -> Recipe:
    """Return the recipe of a mechanism that publishes no total."""
    public, (summary, numbers) = mechanism.public, SUMMARIES[type(shape)]
    name, unit = mechanism.name, shape.public().unit
    if isinstance(mechanism, GroupRelease):  # which is told by its unit of several rows
        name, unit = mechanism.mechanism.name, public.unit
    recipe: Recipe = {
        "mechanism": name,
        "epsilon": mechanism.budget.epsilon,
        "delta": mechanism.budget.delta,
        "unit": unit.name,
        "rows": unit.rows,
        "summary": summary,
        **numbers(shape),
    }
    stated = {
        "weight": public.unit.weight if public.unit.weight > 1 and "max_weight" not in recipe else None,
        "rho": mechanism.budget.rho,
        "max_events": public.max_events,
        "min_users": public.min_users,
        "domain": public.domain,
    }
    recipe |= {name: value for name, value in stated.items() if value is not None}
    if isinstance(mechanism, ChosenBound):
        recipe["max_keys"] = mechanism.chosen
    if isinstance(mechanism, TreeMechanism):
        recipe["threshold"] = mechanism.threshold
    if isinstance(mechanism, EveryNode) or (isinstance(mechanism, LevelFloorRelease) and mechanism.by_level):
        recipe["by_level"] = mechanism.by_level
    if isinstance(mechanism, Sampling):
        recipe["scheme"] = mechanism.scheme
        if public.scheme is None:  # of a sample that was drawn before counts are whole
            recipe["tokens"] = mechanism.tokens
    return recipe


def _sizes(*names: str) -> Callable[[Shape], Recipe]:
    """Return a function that gives the public numbers of these names which a summary has."""

    def given(shape: Shape) -> Recipe:
        known = {name: getattr(shape, name) for name in names}
        return {name: size for name, size in known.items() if size is not None}

    return given


_counters = _sizes("candidates", "parts")


def _shards(shape: shapes.Shards) -> Recipe:
    return {"shards": [_counters(part) for part in shape.parts]}


def _hashing(hashing: RowHash) -> Recipe:
    return {"sketch": hashing.kind, "depth": hashing.depth, "width": hashing.width}


def _cells(shape: shapes.Cells) -> Recipe:
    return {**_hashing(shape.hashing), **_sizes("max_weight")(shape), "partial": shape.partial}


def _tracked(shape: shapes.TrackedCells) -> Recipe:
    return {**_hashing(shape.cells.hashing), **_sizes("parts")(shape)}


def _leaves(shape: shapes.LeafCounts | shapes.NodeCounts | shapes.LevelCounters) -> Recipe:
    return {"hierarchy": shape.hierarchy.name, "height": shape.hierarchy.height}


def _nodes(shape: shapes.NodeCounts) -> Recipe:
    return {**_leaves(shape), **_sizes("moved")(shape)}


def _known_nodes(shape: KnownNodeCounts) -> Recipe:
    sizes = _sizes("moved", "candidates")(shape)
    return {"hierarchy": shape.hierarchy.name, "height": shape.hierarchy.height, **sizes}


def _levels(shape: shapes.LevelCounters) -> Recipe:
    known: Recipe = {"exact": shape.exact} if shape.exact else {}
    return {**_leaves(shape), "levels": [_counters(level) for level in shape.levels], **known}


# The name of each kind of summary, and its public numbers.
SUMMARIES: dict[type[Shape], tuple[str, Callable[..., Recipe]]] = {
    shapes.FloorCounters: ("counters", _counters),
    StandardCounters: ("standard-counters", _counters),
    shapes.Histogram: ("counts", _sizes()),
    shapes.ManyKeys: ("many-keys", _sizes("moved", "candidates", "parts")),
    shapes.LimitedKeys: ("limited-keys", _sizes("moved", "candidates", "parts")),
    shapes.ExactCounts: ("exact-counts", _sizes("moved")),
    RankedCounts: ("ranked-counts", _sizes()),
    shapes.KeySets: ("key-sets", _sizes("moved")),
    shapes.Shards: ("shards", _shards),
    shapes.KeyShards: ("key-shards", _shards),
    shapes.Cells: ("cells", _cells),
    shapes.UserCells: ("user-cells", _cells),
    shapes.TrackedCells: ("tracked-cells", _tracked),
    shapes.LeafCounts: ("leaves", _leaves),
    shapes.NodeCounts: ("nodes", _nodes),
    KnownNodeCounts: ("known-nodes", _known_nodes),
    shapes.LevelCounters: ("levels", _levels),
    SampledCounts: ("sampled-counts", _sizes()),
}
