"""Rehearsals: releases of no data by the recipe of a real one, to compare with what that one states.

The public numbers of a summary are the same before and after counting. So a mechanism that is calibrated by
them, and given a summary of no data, states the same guarantee and the same error model as the release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from hushcount import shapes
from hushcount.accounting.zcdp import zcdp_budget
from hushcount.hierarchies.base import LARGEST_HEIGHT, Hierarchy
from hushcount.hierarchies.known import KnownNodes
from hushcount.keys.domains import Domain, IntegerRange
from hushcount.keys.row_hash import RowHash
from hushcount.mechanisms.base import Mechanism
from hushcount.mechanisms.histograms.chosen import LARGEST_BOUND, WIDER, RankedCounts, bounds
from hushcount.mechanisms.registry import EVERY_MECHANISM, MECHANISMS, prepare
from hushcount.mechanisms.sampling.sized import SizedSample, WantedSize
from hushcount.mechanisms.total import TotalRelease, WithTotal
from hushcount.noise.bits import system_bits
from hushcount.privacy import EVENT, RESULT_ROW, STREAM_ROW, USER, Budget, PrivacyUnit
from hushcount.releases.stored.exact import Plain, flag_from, float_from, list_from, text_from, whole_from
from hushcount.releases.stored.models import DOMAINS, SCHEMES, NamedDomain, model_from
from hushcount.shapes import Public, Shape
from hushcount.shapes.known import KnownNodeCounts
from hushcount.shapes.samples import SampledCounts, SamplingScheme
from hushcount.shapes.standard import StandardCounters

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Levels
    from hushcount.releases.stored.documents import Stored

Recipe = dict[str, Plain]
AnyMechanism = Mechanism[Shape, object]

UNITS = {unit.name: unit for unit in (EVENT, USER, RESULT_ROW, STREAM_ROW)}
NO_KEYS, NO_COUNTS = pa.array([], pa.binary()), np.zeros(0, np.int64)
MOST_DRAWN = 1 << 24  # keys of a domain that a rehearsal may draw


def rehearsed(recipe: Recipe) -> Stored:
    """Return what a recipe gives without any data; raise if no mechanism can be calibrated by it.

    Noise is drawn anew, so noisy floors differ, and noise alone may publish keys of a domain.
    """
    unit = replace(UNITS[text_from(recipe["unit"])], rows=whole_from(recipe["rows"], 1))
    if unit.rows > 1 and unit != USER:
        raise ValueError("rows")
    unit = replace(unit, weight=whole_from(recipe.get("weight", 1), 1))
    shape = EMPTY[text_from(recipe["summary"])](recipe, unit)
    longest = recipe.get("max_events")
    sizes = shape.public()
    sizes = sizes.within(None if longest is None else whole_from(longest, 1), _domain(recipe, sizes))
    if "min_users" in recipe:
        sizes = replace(sizes, min_users=whole_from(recipe["min_users"], 1))
    whole = _calibrated(recipe, sizes).release(_totalled(recipe, shape), system_bits())
    return cast("Stored", whole)


def _totalled(recipe: Recipe, shape: Shape) -> Shape:
    """Return a summary with its total, if a release of it has one."""
    sized = recipe["mechanism"] == SizedSample.name
    return WithTotal(shape, 0) if sized or "other_share" in recipe else shape


def _calibrated(recipe: Recipe, public: Public) -> AnyMechanism:
    """Return the mechanism of a recipe, calibrated by these public numbers, or raise."""
    name, epsilon, delta = (
        text_from(recipe["mechanism"]),
        *map(float_from, (recipe["epsilon"], recipe["delta"])),
    )
    budget = Budget(epsilon, delta) if delta else Budget.pure(epsilon)
    if "rho" in recipe:
        budget = zcdp_budget(float_from(recipe["rho"]), delta)
    if "other_share" in recipe:
        share = float_from(recipe["other_share"])
        return cast("AnyMechanism", TotalRelease(budget, public, name, share))
    if name in MECHANISMS:
        return cast("AnyMechanism", prepare(name, budget, public))
    if name == SizedSample.name:
        total = whole_from(recipe["total"], 1)
        return cast("AnyMechanism", SizedSample(budget, public, _wanted(recipe), total))
    own: dict[str, object] = {}
    if "max_keys" in recipe:
        own["chosen"] = whole_from(recipe["max_keys"], 1)
    if "threshold" in recipe:
        own["threshold"] = whole_from(recipe["threshold"], 1)
    if "by_level" in recipe:
        own["by_level"] = flag_from(recipe["by_level"])
    if "scheme" in recipe:
        own = {"scheme": model_from(recipe["scheme"], SCHEMES), "tokens": whole_from(recipe["tokens"], 1)}
    return EVERY_MECHANISM[name](budget, public, **own)


def _wanted(recipe: Recipe) -> WantedSize:
    """Return how many keys a recipe wants to be sampled, and how."""
    return WantedSize(
        whole_from(recipe["size"], 1),
        text_from(recipe["scheme"]),
        float_from(recipe["power"]),
        float_from(recipe["total_share"]),
        whole_from(recipe["tokens"], 1),
        flag_from(recipe["keys_only"]),
    )


def _domain(recipe: Recipe, sizes: Public) -> Domain | None:
    """Return the domain of a recipe; as many whole numbers stand in for a list of keys."""
    if "domain" not in recipe:
        return None
    if sizes.candidates is None or sizes.candidates > MOST_DRAWN:
        raise ValueError("candidates")
    domain = model_from(recipe["domain"], DOMAINS)
    return IntegerRange(0, domain.size - 1) if isinstance(domain, NamedDomain) else cast("Domain", domain)


@dataclass(frozen=True, slots=True)
class NamedHierarchy(Hierarchy):
    """A hierarchy of which only the name and the height are known: it has no leaves."""

    name: str
    height: int

    @property
    def leaf_type(self) -> pa.DataType:
        """The type of the leaves that are not there."""
        return pa.binary()

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return the nodes of no leaves."""
        return leaves

    def _read(self, keys: pa.Array) -> pa.Array:
        return keys.slice(0, 0).cast(pa.binary())

    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        return np.zeros(len(leaves), np.int16)

    def _label(self, leaf: int | bytes, level: int) -> str:
        return ""


def _counters(numbers: Recipe, unit: PrivacyUnit) -> shapes.FloorCounters:
    candidates, parts = (whole_from(numbers[name], 1) for name in ("candidates", "parts"))
    return shapes.FloorCounters(NO_KEYS, NO_COUNTS, 0, candidates, parts, unit)


def _standard(numbers: Recipe, unit: PrivacyUnit) -> StandardCounters:
    candidates, parts = (whole_from(numbers[name], 1) for name in ("candidates", "parts"))
    return StandardCounters(NO_KEYS, NO_COUNTS, candidates, parts, unit)


def _sizes(numbers: Recipe) -> dict[str, int]:
    names = ("moved", "candidates", "parts")
    return {name: whole_from(numbers[name], 1) for name in names if name in numbers}


def _exact(numbers: Recipe, unit: PrivacyUnit) -> shapes.ExactCounts:
    moved = whole_from(numbers["moved"], 1)
    if unit.rows != moved:
        raise ValueError("rows")
    return shapes.ExactCounts((), moved, unit)


def _ranked(numbers: Recipe, unit: PrivacyUnit) -> RankedCounts:
    if unit.rows != WIDER * LARGEST_BOUND:
        raise ValueError("rows")
    return RankedCounts(lambda: iter(()), NO_COUNTS, bounds(), unit)


def _sets(numbers: Recipe, unit: PrivacyUnit) -> shapes.KeySets:
    """Return no sets; a user has as many rows as keys."""
    if unit.rows != whole_from(numbers["moved"], 1, 1 << 20):
        raise ValueError("rows")
    return shapes.KeySets(lambda by_size, stay: iter(()), unit.rows, unit)


def _parts(name: str, numbers: Recipe, unit: PrivacyUnit) -> tuple[shapes.FloorCounters, ...]:
    """Return as many empty counters as are listed."""
    return list_from(numbers[name], lambda part: _counters(cast("Recipe", part), unit))


def _cells(numbers: Recipe, unit: PrivacyUnit) -> shapes.Cells:
    """Return a sketch of no cells: none is drawn."""
    depth, width = (whole_from(numbers[name], 1) for name in ("depth", "width"))
    hashing = RowHash(text_from(numbers["sketch"]), depth, width, bytes(32))
    weight = whole_from(numbers.get("max_weight", 1), 1)
    partial = flag_from(numbers.get("partial", False))
    return shapes.Cells(np.zeros((0, width), np.int64), hashing, pa.string(), weight, partial, unit)


def _user_cells(numbers: Recipe, unit: PrivacyUnit) -> shapes.UserCells:
    plain = _cells(numbers, unit)
    return shapes.UserCells(plain.cells, plain.hashing, plain.key_type, 1, unit=unit)


def _tracked(numbers: Recipe, unit: PrivacyUnit) -> shapes.TrackedCells:
    cells = _cells(numbers, unit)
    hashes = np.zeros((cells.hashing.depth, 0), np.uint64)
    return shapes.TrackedCells(cells, NO_KEYS, hashes, whole_from(numbers["parts"], 1), 0)


def _hierarchy(numbers: Recipe) -> NamedHierarchy:
    return NamedHierarchy(text_from(numbers["hierarchy"]), whole_from(numbers["height"], 1, LARGEST_HEIGHT))


def _levels(numbers: Recipe, unit: PrivacyUnit) -> shapes.LevelCounters:
    levels = _parts("levels", numbers, unit)
    hierarchy = _hierarchy(numbers)
    if len(levels) != hierarchy.height:
        raise ValueError("levels")
    return shapes.LevelCounters(hierarchy, 0, levels, whole_from(numbers.get("exact", 0), 0, len(levels)))


def _nodes(numbers: Recipe, unit: PrivacyUnit) -> shapes.NodeCounts:
    moved = whole_from(numbers["moved"], 1)
    return shapes.NodeCounts(_hierarchy(numbers), lambda: iter(()), moved, unit)


def _known_nodes(numbers: Recipe, unit: PrivacyUnit) -> KnownNodeCounts:
    """Return the counts of no nodes, which are said to be as many as in the recipe."""
    moved, candidates = (whole_from(numbers[name], 1) for name in ("moved", "candidates"))
    known = KnownNodes((), candidates, "not at hand")
    return KnownNodeCounts(_hierarchy(numbers), known, lambda: iter(()), moved, unit)


def _sampled(numbers: Recipe, unit: PrivacyUnit) -> SampledCounts:
    """Return a sample of no keys, drawn by the scheme of the recipe."""
    scheme = cast("SamplingScheme", model_from(numbers["scheme"], SCHEMES))
    return SampledCounts(lambda: (NO_KEYS, NO_COUNTS), scheme, unit)


# A summary of each kind without any data, by its public numbers.
EMPTY: dict[str, Callable[[Recipe, PrivacyUnit], Shape]] = {
    "counters": _counters,
    "standard-counters": _standard,
    "counts": lambda numbers, unit: shapes.Histogram(NO_KEYS, NO_COUNTS, unit),
    "many-keys": lambda numbers, unit: shapes.ManyKeys(NO_KEYS, NO_COUNTS, unit=unit, **_sizes(numbers)),
    "limited-keys": lambda numbers, unit: shapes.LimitedKeys(
        NO_KEYS, NO_COUNTS, unit=unit, **_sizes(numbers)
    ),
    "ranked-counts": _ranked,
    "exact-counts": _exact,
    "key-sets": _sets,
    "shards": lambda numbers, unit: shapes.Shards(_parts("shards", numbers, unit)),
    "key-shards": lambda numbers, unit: shapes.KeyShards(_parts("shards", numbers, unit)),
    "cells": _cells,
    "user-cells": _user_cells,
    "tracked-cells": _tracked,
    "leaves": lambda numbers, unit: shapes.LeafCounts(_hierarchy(numbers), lambda: iter(()), unit),
    "nodes": _nodes,
    "known-nodes": _known_nodes,
    "levels": _levels,
    "sampled-counts": _sampled,
}
