"""Sketches of disjoint parts of the data, to be released together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hushcount.errors import KeyTypeError, NotProvedError, ParameterError
from hushcount.shapes import FloorCounters, KeyShards, Shards


class DealtByKey(list[Any]):
    """Sketches of shards to which events were dealt by their key."""


def shards_of(sketches: Sequence[Any]) -> Shards:
    """The shape of several SpaceSaving or MisraGries sketches, each of its own part of the data."""
    if not sketches:
        raise ParameterError("sketches must be at least one, got none.")
    shapes = [_shape(sketch) for sketch in sketches]
    identities = [getattr(sketch, "id", None) or id(sketch) for sketch in sketches]
    if len(set(identities)) < len(identities):
        raise ParameterError("sketches must be of disjoint parts, got the same sketch twice.")
    kinds = [kind for kind in (getattr(sketch, "key_type", None) for sketch in sketches) if kind is not None]
    for kind in kinds:
        if kind != kinds[0]:
            raise KeyTypeError(f"keys must have one type in all shards, got {kinds[0]} and {kind}.")
    shape = KeyShards if isinstance(sketches, DealtByKey) else Shards
    return shape(tuple(_typed(one, kinds[0] if kinds else pa.string()) for one in shapes))


def _shape(sketch: Any) -> FloorCounters:
    shape = sketch.shape() if callable(getattr(sketch, "shape", None)) else None
    if not isinstance(shape, FloorCounters):
        raise NotProvedError(
            f"shards is proved for SpaceSaving and MisraGries sketches, got {type(sketch).__name__};"
            " release it alone."
        )
    return shape


def _typed(shape: FloorCounters, kind: pa.DataType) -> FloorCounters:
    """An empty sketch does not know the type of its keys yet."""
    return shape if len(shape.keys) else replace(shape, keys=pa.array([], kind))
