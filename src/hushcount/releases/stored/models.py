"""Error models in JSON: all numbers from which intervals, sums and estimates are computed again.

A model is an object with its `name` and the fields that the table lists for it. Models belong to mechanisms,
which import this room, so the table names them by text. Its rows are the format of the file: a class may
change, if what it calls a field is still written under the name that stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from hushcount.keys.domains import KnownKeys
from hushcount.registry import Registry
from hushcount.releases.stored.columns import table_from, table_plain
from hushcount.releases.stored.exact import (
    Plain,
    fields_from,
    flag_from,
    float_from,
    list_from,
    number_from,
    number_plain,
    text_from,
    texts_from,
    whole_from,
    whole_plain,
)

if TYPE_CHECKING:
    from hushcount.releases.release import Release

Kind: TypeAlias = str | tuple[str, ...]
Row: TypeAlias = tuple[str, Mapping[str, Kind]]


def _row(place: str, /, **fields: Kind) -> Row:
    """Return a row of the table: where the class is, and of each field its kind, or the models it can be."""
    return f"hushcount.{place}", fields


NOISES = ("discrete-laplace", "discrete-gaussian")
SCHEMES = ("ppswor", "pps", "sampling-table")
DOMAINS = ("integer-range", "known-keys")
_LEVELS = ("laplace-levels", "gaussian-levels")
_BUDGET = ("budget",)
_COUNTED: dict[str, Kind] = {"candidates": "count?", "left_out": "whole?", "added": "whole"}
_PUBLISHED: dict[str, Kind] = {**_COUNTED, "threshold": "whole??", "least": "whole??"}
_GEOMETRIC: dict[str, Kind] = {"budget": _BUDGET, "offset": "whole", "max_events": "count?"}
_ENVELOPE: dict[str, Kind] = {"plan": ("envelope-plan",), "max_events": "count", "candidates": "count"}
_NODES: dict[str, Kind] = {"threshold": "count", "by_level": "flag"}
_TESTED: dict[str, Kind] = {"height": "count??", "max_events": "count??"}
_BOUNDS = dict.fromkeys(("below", "above", "simultaneous_below", "simultaneous_above"), "whole?")
# What was stated at one confidence, of tables and of trees.
_STATED = _row(
    "releases.stored.earlier:StatedError",
    confidence="float",
    **_BOUNDS,
    said="texts",
    table="table",
    **dict.fromkeys(("published_from", "unpublished_at_most"), "whole??"),
)
# Error models of tables of keys.
_TABLES = {
    "floor": _row(
        "mechanisms.counters.floor:FloorError",
        noise=NOISES,
        floor="whole",
        candidates="count",
        threshold="count??",
    ),
    "estimate": _row("mechanisms.intervals:EstimateError", noise=NOISES, **_PUBLISHED),
    "shared-noise": _row("mechanisms.counters.misra_gries:SharedNoiseError", noise=NOISES, **_PUBLISHED),
    "correlated": _row(
        "mechanisms.histograms.correlated:CorrelatedError", noise=("gaussian-sum",), **_PUBLISHED
    ),
    "shards": _row("mechanisms.counters.shards:ShardError", budget=_BUDGET, floors="wholes", apart="flag"),
    "key-shards": _row(
        "mechanisms.counters.key_shards:KeyShardError",
        noise=NOISES,
        floors="wholes",
        candidates="count",
        threshold="count",
    ),
    "pure": _row(
        "mechanisms.histograms.pure:PureError", noise=NOISES, **_COUNTED, units="count", domain=DOMAINS
    ),
    "reduced": _row(
        "mechanisms.histograms.reduced:ReducedError",
        noise=NOISES,
        **_COUNTED,
        threshold="count",
        units="count",
    ),
    "truncated-geometric": _row(
        "mechanisms.histograms.truncated_geometric:TruncatedGeometricError", **_GEOMETRIC
    ),
    "lifted-geometric": _row("mechanisms.histograms.truncated_geometric:LiftedGeometricError", **_GEOMETRIC),
    "envelope": _row("mechanisms.linear.envelope:EnvelopeError", **_ENVELOPE),
    "measured-envelope": _row("mechanisms.linear.measured:MeasuredError", **_ENVELOPE, measured="wholes"),
    "sample": _row(
        "mechanisms.sampling.sample:SampleError",
        budget=_BUDGET,
        scheme=SCHEMES,
        tokens="count",
        max_events="count?",
    ),
    "local": _row(
        "ldp.server.local_error:LocalError",
        error=("local-oracle", "local-median"),
        largest="float",
        rows="whole",
        asked="floats??",
        cuts="floats??",
    ),
    "no-counts": _row("releases.key_list:NoCounts", said="texts"),
    "sum": _row("releases.added:AddedError", parties="releases"),
    "stated": _STATED,
}
# Error models of trees.
_TREES = {
    "totals": _row("mechanisms.hierarchy.totals:TotalError", noise=NOISES, threshold="count", **_TESTED),
    "nodes": _row("mechanisms.hierarchy.users:NodeError", noise=NOISES, **_NODES, **_TESTED, nodes="count??"),
    "known-nodes": _row(
        "mechanisms.hierarchy.known:KnownError",
        noise=("discrete-laplace",),
        **_NODES,
        height="count",
        nodes="count",
    ),
    "levels": _row(
        "mechanisms.hierarchy.level_error:LevelError",
        noise=_LEVELS,
        floors="wholes",
        candidates="count??",
        above_floor="count??",
        threshold="count??",
        exact="whole??",
        by_level="flag??",
    ),
    "stated": _STATED,
}
# What error models are made of.
_PARTS = {
    "discrete-laplace": _row("noise.laplace:DiscreteLaplace", epsilon="number"),
    "discrete-gaussian": _row("noise.gaussian:DiscreteGaussian", sigma="number"),
    "gaussian-sum": _row("noise.gaussian:GaussianSum", own="number", shared="number"),
    "budget": _row("privacy:Budget", epsilon="float", delta="float"),
    "ppswor": _row("mechanisms.sampling.schemes:Ppswor", rate="float", power="float"),
    "pps": _row("mechanisms.sampling.schemes:Pps", rate="float", power="float"),
    "sampling-table": _row("mechanisms.sampling.tabled:SamplingTable", probabilities="numbers"),
    "integer-range": _row("keys.domains:IntegerRange", first="whole", last="whole"),
    "known-keys": _row("releases.stored.models:NamedDomain", size="count", digest="text"),
    "envelope-plan": _row(
        "mechanisms.linear.calibration:Envelope",
        kind="text",
        depth="count",
        width="count",
        collisions="whole",
        noise="whole",
        threshold="whole",
        beta="float",
        distribution=NOISES,
        max_weight="count??",
    ),
    "laplace-levels": _row("mechanisms.hierarchy.levels:LaplaceLevels", rate="float"),
    "gaussian-levels": _row("mechanisms.hierarchy.levels:GaussianLevels", sigma="float"),
    "response": _row("ldp.wire.response:ResponseDistribution", symbols="count", truthful="float"),
    "local-oracle": _row(
        "ldp.wire.response:OracleError",
        response=("response",),
        users="count",
        asked="count",
        collisions="float",
    ),
    "local-median": _row(
        "ldp.protocols.paper.medians:MedianError",
        response=("response",),
        users="count",
        rows="count",
        inverse_share="float",
        collisions="float",
        stretch="float",
    ),
}
_TABLE: dict[str, Row] = _PARTS | _TABLES | _TREES
TABLES, TREES = tuple(_TABLES), tuple(_TREES)
MODELS: Registry[Callable[..., object]] = Registry(
    "error model", {name: place for name, (place, _) in _TABLE.items()}
)
_NAMES = {place: name for name, (place, _) in _TABLE.items()}


@dataclass(frozen=True, slots=True)
class NamedDomain:
    """A public list of keys that is not at hand, only its size and its digest."""

    size: int
    digest: str


def model_plain(model: object) -> dict[str, Plain] | None:
    """Return a model as an object; None if the table does not have its class."""
    if isinstance(model, KnownKeys):
        model = NamedDomain(model.size, model.digest)
    name = _NAMES.get(f"{type(model).__module__}:{type(model).__qualname__}")
    if name is None:
        return None
    kinds = _TABLE[name][1]
    fields = {field: _written(kind, getattr(model, field)) for field, kind in kinds.items()}
    return {"name": name, **fields}


def values_plain(value: object) -> Plain:
    """Return any public value as plain ones: numbers exactly, lists and objects of them, models by name."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return whole_plain(value)
    if isinstance(value, float | Fraction):
        return number_plain(value)
    if isinstance(value, list | tuple):
        return [values_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(name): values_plain(each) for name, each in value.items()}
    return model_plain(value)


def model_from(value: Plain, names: tuple[str, ...]) -> object:
    """Return the model that an object describes, one of `names`, or raise."""
    if not isinstance(value, dict) or value.get("name") not in names:
        raise ValueError("model")
    name = text_from(value["name"])
    kinds = _TABLE[name][1]
    lacking = [field for field, kind in kinds.items() if kind[-2:] == "??" and field not in value]
    fields = fields_from(value, [field for field in ("name", *kinds) if field not in lacking])
    fields = fields | dict.fromkeys(lacking)
    read = {field: _read(kind, fields[field]) for field, kind in kinds.items()}
    return MODELS[name](**read)


def _written(kind: Kind, value: object) -> Plain:
    """Return a field as plain values."""
    if isinstance(kind, tuple):
        return model_plain(value)
    if value is None:
        return None
    return _KINDS[kind.rstrip("?")][0](value)


def _read(kind: Kind, value: Plain) -> object:
    """Return a field of this kind, or raise."""
    if isinstance(kind, tuple):
        return model_from(value, kind)
    if value is None and kind.endswith("?"):
        return None
    return _KINDS[kind.rstrip("?")][1](value)


def _parties_plain(parties: tuple[Release, ...]) -> Plain:
    """Return releases as objects, without what follows from the rest."""
    from hushcount.releases.stored.documents import content_plain

    return [content_plain(party) for party in parties]


def _parties_from(value: Plain) -> tuple[Release, ...]:
    """Return the releases of a sum, or raise."""
    from hushcount.releases.stored.documents import table_release_from

    parties = list_from(value, table_release_from)
    if not parties:
        raise ValueError("parties")
    return parties


# How a field of each kind is written and read; "?" after a kind allows null, "??" also its absence, since
# files of earlier versions lack it.
_KINDS: dict[str, tuple[Callable[..., Plain], Callable[[Plain], object]]] = {
    "whole": (whole_plain, whole_from),
    "count": (whole_plain, lambda value: whole_from(value, 1)),
    "wholes": (lambda values: list(map(whole_plain, values)), lambda value: list_from(value, whole_from)),
    "number": (number_plain, number_from),
    "numbers": (lambda values: list(map(number_plain, values)), lambda value: list_from(value, number_from)),
    "float": (number_plain, float_from),
    "floats": (lambda values: list(map(number_plain, values)), lambda value: list_from(value, float_from)),
    "flag": (bool, flag_from),
    "text": (str, text_from),
    "texts": (list, texts_from),
    "table": (table_plain, table_from),
    "releases": (_parties_plain, _parties_from),
}
