"""Sketches of disjoint parts of the data, to be released together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from hushcount.errors import KeyTypeError, NotProvedError, ParameterError
from hushcount.shapes import FloorCounters, KeyShards, Shards
from hushcount.sketches.base import SavedSketch

Dealt = TypeVar("Dealt")


@runtime_checkable
class Shaped(Protocol):
    """Whatever hands a summary to a mechanism."""

    def shape(self) -> object:
        """Return the summary."""
        ...


class DealtByKey(list[Dealt]):
    """Sketches of shards to which events were dealt by their key."""


def shards_of(sketches: Sequence[object]) -> Shards:
    """Return the shape of several SpaceSaving or MisraGries sketches, each of its own part of the data."""
    if not sketches:
        raise ParameterError("sketches must be at least one, got none.")
    shapes = [_shape(sketch) for sketch in sketches]
    names = {sketch.id if isinstance(sketch, SavedSketch) else str(id(sketch)) for sketch in sketches}
    if len(names) < len(sketches):
        raise ParameterError("sketches must be of disjoint parts, got the same sketch twice.")
    kinds = [shape.keys.type for shape in shapes if len(shape.keys)]
    for kind in kinds:
        if kind != kinds[0]:
            raise KeyTypeError(f"keys must have one type in all shards, got {kinds[0]} and {kind}.")
    together = KeyShards if isinstance(sketches, DealtByKey) else Shards
    return together(tuple(_typed(shape, kinds[0] if kinds else pa.string()) for shape in shapes))


def _shape(sketch: object) -> FloorCounters:
    shape = sketch.shape() if isinstance(sketch, Shaped) else None
    if not isinstance(shape, FloorCounters):
        raise NotProvedError(
            f"shards is proved for SpaceSaving and MisraGries sketches, got {type(sketch).__name__};"
            " release it alone."
        )
    return shape


def _typed(shape: FloorCounters, kind: pa.DataType) -> FloorCounters:
    """Return a shape whose keys have a type, which those of an empty sketch lack."""
    return shape if len(shape.keys) else replace(shape, keys=pa.array([], kind))
