"""The private frequency oracle: noisy cells, published once, that answer for any key for ever."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hushcount.errors import ParameterError
from hushcount.files.atomic import PUBLIC, atomic_file
from hushcount.keys.arrays import to_kernel
from hushcount.keys.memory import asked_arrays
from hushcount.keys.row_hash import RowHash
from hushcount.privacy import Guarantee, PrivacyUnit, check_confidence, check_delta, check_epsilon
from hushcount.releases.oracle_intervals import Interval, oracle_interval
from hushcount.sketches import codec

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

CONTENTS = "This file contains only noisy cells and public parameters; it may be published."
DISJOINT = "no event is in more than one of the merged oracles"


@dataclass(frozen=True, eq=False)
class Oracle:
    """Counts of any key from noisy cells; nothing in it depends on the data but through the noise.

    Asking costs nothing. `guarantees` has one entry for each oracle that was merged into this one. If it is
    `partial`, made of parts that may delete what others added, counts may be below zero.
    """

    cells: npt.NDArray[np.int64]
    hashing: RowHash
    key_type: pa.DataType
    guarantees: tuple[Guarantee, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False

    def __repr__(self) -> str:
        promise, hashing = self.guarantee, self.hashing
        return (
            f"<Oracle of {hashing.depth} x {hashing.width} noisy cells ({hashing.kind}):"
            f" ({promise.epsilon:g}, {promise.delta:g})-DP for one {promise.unit.name}>"
        )

    @property
    def guarantee(self) -> Guarantee:
        """What the oracle promises; of merged ones, whose events are different, the weakest promise."""
        first = self.guarantees[0]
        if len(self.guarantees) == 1:
            return first
        return Guarantee(
            max(each.epsilon for each in self.guarantees),
            max(each.delta for each in self.guarantees),
            first.unit,
            first.mechanism,
            first.theorem,
            first.proof,
            {"merged": len(self.guarantees), **_size(self.hashing)},
            (*first.assumptions, DISJOINT),
        )

    def interval(self, confidence: float = 0.95) -> Interval:
        """(below, above): the count of a key named beforehand lies in [count - below, count + above]."""
        return _interval(self, check_confidence(confidence))

    def estimate(self, keys: Any, confidence: float = 0.95) -> pa.Table:
        """A table of key, count, lower, upper, in the order of the keys.

        count may be negative, as noise is; lower and upper are clipped at 0 unless the oracle is partial.
        A bound is null where so few cells bound nothing.
        """
        import pyarrow as pa

        arrays = [_in_type(array, self.key_type) for array in asked_arrays(keys) if len(array)]
        whole = pa.concat_arrays(arrays) if arrays else pa.array([], self.key_type)
        below, above = self.interval(confidence)
        counts = self._counts(whole)
        least = np.full_like(counts, np.iinfo(np.int64).min if self.partial else 0)
        none = pa.nulls(len(counts), pa.int64())
        unbounded = none if self.partial else least
        lower = unbounded if below is None else np.maximum(counts - below, least)
        upper = none if above is None else np.maximum(counts + above, least)
        return pa.table({"key": whole, "count": counts, "lower": lower, "upper": upper})

    def merge(self, other: Oracle) -> Oracle:
        """The oracle of both: counts add, and so does the noise."""
        if not isinstance(other, Oracle):
            raise ParameterError(f"merge takes an oracle, got {type(other).__name__}.")
        if self.hashing != other.hashing:
            raise ParameterError(
                "merge needs oracles of the same kind, depth, width and seed;"
                " make the second one like the first."
            )
        if self.key_type != other.key_type:
            raise ParameterError(
                f"merge needs oracles of the same key type, got {self.key_type} and {other.key_type}."
            )
        if self.guarantee.unit != other.guarantee.unit:
            units = f"{self.guarantee.unit.name} and {other.guarantee.unit.name}"
            raise ParameterError(f"merge needs oracles of the same privacy unit, got {units}.")
        if np.array_equal(self.cells, other.cells):
            raise ParameterError("merge needs oracles of different events, got the same one twice.")
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        guarantees = self.guarantees + other.guarantees
        partial = self.partial or other.partial
        return Oracle(self.cells + other.cells, self.hashing, self.key_type, guarantees, notes, partial)

    def to_bytes(self) -> bytes:
        """The oracle as bytes, which may be published."""
        return codec.encode(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the oracle, which may be published, atomically; everybody may read it."""
        data = self.to_bytes()
        with atomic_file(path, PUBLIC) as stream:
            stream.write(data)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> Oracle:
        """Read an oracle from a file or from bytes."""
        return codec.load_oracle(source, cls._from_parts)

    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the oracle."""
        fields = {
            "contents": CONTENTS,
            "kind": self.hashing.kind,
            **_size(self.hashing),
            "key": self.hashing.key.hex(),
            "key_type": codec.type_to_text(self.key_type),
            "guarantees": [each.to_dict() for each in self.guarantees],
            "notes": list(self.notes),
            "partial": self.partial,
        }
        return codec.ORACLE, fields, {"cells": self.cells.ravel()}

    @classmethod
    def _from_parts(cls, fields: Mapping[str, Any], arrays: codec.Arrays) -> Oracle:
        import pyarrow as pa

        hashing = RowHash(fields["kind"], fields["depth"], fields["width"], bytes.fromhex(fields["key"]))
        cells = arrays["cells"].reshape(hashing.depth, hashing.width)
        if cells.dtype != np.int64 or len(hashing.key) != 32 or not fields["guarantees"]:
            raise ValueError("cells")
        if type(fields["partial"]) is not bool:
            raise ValueError("partial")
        guarantees = tuple(map(_guarantee, fields["guarantees"]))
        key_type = codec.type_from_text(fields["key_type"])
        to_kernel(pa.array([], key_type), key_type)  # raises for what cannot be keys
        return cls(cells, hashing, key_type, guarantees, _words(fields["notes"]), fields["partial"])

    def _counts(self, keys: pa.Array) -> npt.NDArray[np.int64]:
        if not len(keys):
            return np.zeros(0, np.int64)
        hashes = self.hashing.hashes(to_kernel(keys, self.key_type))
        return self.hashing.estimate(self.cells.ravel()[self.hashing.places(hashes)], hashes)


@lru_cache(maxsize=16)
def _interval(oracle: Oracle, confidence: float) -> Interval:
    return oracle_interval(oracle.cells, oracle.hashing, confidence)


def _size(hashing: RowHash) -> dict[str, int | float | str]:
    return {"depth": hashing.depth, "width": hashing.width}


def _in_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Keys in the type of the oracle: other widths of whole numbers and text fit, nothing else does."""
    to_kernel(array.slice(0, 0) if array.type == kind else array, kind)  # raises where the type is another
    return array.cast(kind) if array.type != kind else array


def _guarantee(values: Mapping[str, Any]) -> Guarantee:
    names = ("unit", "protects", "mechanism", "theorem", "proof")
    unit, protects, mechanism, theorem, proof = _words([values[name] for name in names])
    delta = values["delta"]
    return Guarantee(
        check_epsilon(values["epsilon"]),
        0.0 if delta == 0 and delta is not False else check_delta(delta),
        PrivacyUnit(unit, protects),
        mechanism,
        theorem,
        proof,
        values["parameters"],
        _words(values["assumptions"]),
    )


def _words(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("words")
    return tuple(values)
