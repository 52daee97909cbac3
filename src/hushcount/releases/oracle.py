"""The private frequency oracle: noisy cells, published once, that answer for any key as often as asked."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError, SketchFileError
from hushcount.files import container
from hushcount.files.atomic import PUBLIC, atomic_file
from hushcount.keys.arrays import to_kernel
from hushcount.keys.memory import Data, asked_arrays
from hushcount.keys.row_hash import LARGEST_CELL, HashedCells, RowHash, largest_cell
from hushcount.privacy import Guarantee, check_confidence
from hushcount.releases.made import Documented, Made
from hushcount.releases.oracle_intervals import Interval, oracle_interval

CONTENTS = "This file contains only noisy cells and public parameters; it may be published."
DISJOINT = "no {} is in more than one of the merged oracles"
UNLIKE = (
    "These oracles use different hash functions, so they cannot be merged. Rebuild the second like the first"
    " (--like FIRST, or like=FIRST)."
)
TWICE = "merge needs oracles of different events, got the same one twice."


@dataclass(frozen=True, eq=False)
class Oracle(HashedCells, Documented):
    """Counts of any key from noisy cells; nothing in it depends on the data but through the noise.

    Looking up keys costs no privacy.

    Parameters
    ----------
    cells : array of int64
        The noisy cells, `depth` rows of `width`.
    hashing : RowHash
        Which cells belong to a key: kind, depth, width and hash key.
    key_type : pyarrow.DataType
        The type of keys that can be looked up.
    guarantees : tuple of Guarantee
        One for each oracle that was merged into this one.
    notes : tuple of str
        Further sentences about public facts.
    partial : bool
        Whether it is of a part of the data that may delete what other parts added; then counts may be
        below zero.
    merged : frozenset of str
        The ids of all oracles that were merged into this one; empty if it was not merged.
    made : Made, optional
        How, when and by which version it was made.
    """

    key_type: pa.DataType
    guarantees: tuple[Guarantee, ...]
    notes: tuple[str, ...] = ()
    partial: bool = False
    merged: frozenset[str] = frozenset()
    made: Made | None = None

    def __repr__(self) -> str:
        promise, hashing = self.guarantee, self.hashing
        return (
            f"<Oracle of {hashing.depth} x {hashing.width} noisy cells ({hashing.kind}):"
            f" ({promise.epsilon:g}, {promise.delta:g})-DP for {promise.unit.one}>"
        )

    def _repr_html_(self) -> str:
        from html import escape

        promises = (each.statement() for each in self.guarantees)
        return "".join(f"<p>{escape(words)}</p>" for words in (repr(self)[1:-1], *promises))

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the oracles in this one; its own, a digest of its cells, if it was not merged."""
        if self.merged:
            return self.merged
        digest = hashlib.blake2b(self.hashing.id.encode(), digest_size=16)
        digest.update(self.cells.astype("<i8").tobytes())
        return frozenset((digest.hexdigest(),))

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
            (*first.assumptions, DISJOINT.format(first.unit.name)),
        )

    def interval(self, confidence: float = 0.95) -> Interval:
        """Return (below, above): the true count of a key lies in [count - below, count + above].

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that it does, for a key chosen without knowledge of the hash key.

        Returns
        -------
        tuple of int or None
            None stands for a bound that so few cells do not give.
        """
        return _interval(self, check_confidence(confidence))

    def estimate(self, keys: Data, confidence: float = 0.95) -> pa.Table:
        """Look up the counts of keys.

        Parameters
        ----------
        keys : array, frame column or iterable
            Keys of the oracle's type; none may be null.
        confidence : float, default 0.95
            The confidence of the intervals.

        Returns
        -------
        pyarrow.Table
            key, count, lower, upper, in the order of the keys. count may be negative, as noise is; lower and
            upper are clipped at 0 unless the oracle is partial. A bound is null if so few cells give none.

        Raises
        ------
        KeyTypeError
            If the keys are of another type, or one is null.
        """
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
        """Return the oracle of both: counts add up, and so does the noise.

        Parameters
        ----------
        other : Oracle
            An oracle of other events with the same kind, size, hash key, key type and privacy unit (made with
            `like=`).

        Raises
        ------
        ParameterError
            If the two cannot be added, or some oracle would be counted twice.
        """
        if not isinstance(other, Oracle):
            raise ParameterError(f"merge takes an oracle, got {type(other).__name__}.")
        self._check_like(other)
        if self.ids & other.ids:
            raise ParameterError(TWICE)
        if largest_cell(self.cells) + largest_cell(other.cells) > LARGEST_CELL:
            raise ParameterError("The cells of these oracles are too large to be added.")
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        guarantees = self.guarantees + other.guarantees
        cells, ids = self.cells + other.cells, self.ids | other.ids
        partial = self.partial or other.partial
        made = Made.now().stating({"merged": len(ids)}, _common_name(self.made, other.made))
        return Oracle(cells, self.hashing, self.key_type, guarantees, notes, partial, ids, made)

    def _check_like(self, other: Oracle) -> None:
        """Raise unless cells of the two mean the same."""
        if self.hashing != other.hashing:
            raise ParameterError(UNLIKE)
        if self.key_type != other.key_type:
            raise ParameterError(
                f"merge needs oracles of the same key type, got {self.key_type} and {other.key_type}."
            )
        if self.guarantee.unit != other.guarantee.unit:
            units = f"{self.guarantee.unit.name} and {other.guarantee.unit.name}"
            raise ParameterError(f"merge needs oracles of the same privacy unit, got {units}.")

    def to_bytes(self) -> bytes:
        """Return the oracle as bytes, which may be published."""
        from hushcount.releases.stored.oracles import contents_of

        return container.encode(contents_of(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the oracle, which may be published, to a file that appears whole or not at all.

        Parameters
        ----------
        path : path
            The file to write. It follows the umask, or keeps the mode of the file that it replaces.
        """
        data = self.to_bytes()
        with atomic_file(path, PUBLIC) as stream:
            stream.write(data)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page for people: what is protected, how accurate answers are, and what it rests on.

        Parameters
        ----------
        path : path
            The HTML file to write, which needs nothing else to be read.
        """
        from hushcount.releases.views.report_files import write_report

        write_report(self, path)

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes) -> Oracle:
        """Read an oracle.

        Parameters
        ----------
        source : path or bytes
            A file that `save` wrote, or what `to_bytes` returned, of this or an earlier version.

        Raises
        ------
        SketchFileError
            If it is no oracle, or is damaged.
        """
        from hushcount.releases.stored.oracles import oracle_of

        contents = container.read(source, "oracle")
        name = container.name_of(source, "oracle")
        if contents.kind != container.ORACLE:
            raise SketchFileError(f"{name} is a sketch, not an oracle; make one of it with hc.oracle.")
        return container.fitted(name, lambda: oracle_of(contents))

    def checked(self) -> Oracle:
        """Return the oracle itself; raise ValueError if what a file said of it contradicts itself."""
        to_kernel(pa.array([], self.key_type), self.key_type)  # raises for what cannot be keys
        if len(self.hashing.key) != 32 or not self.guarantees:
            raise ValueError("key")
        return self

    def _counts(self, keys: pa.Array) -> Counts:
        """Return the counts of keys of the oracle's type."""
        if not len(keys):
            return np.zeros(0, np.int64)
        hashes = self.hashing.hashes(to_kernel(keys, self.key_type))
        return self.hashing.estimate(self.cells.ravel()[self.hashing.places(hashes)], hashes)


@lru_cache(maxsize=16)
def _interval(oracle: Oracle, confidence: float) -> Interval:
    return oracle_interval(oracle.cells, oracle.hashing, confidence, oracle.guarantees)


def _common_name(one: Made | None, other: Made | None) -> str | None:
    """Return what the data of both are called, None if that is not one name."""
    names = {None if made is None else made.source_name for made in (one, other)}
    return names.pop() if len(names) == 1 else None


def _size(hashing: RowHash) -> dict[str, int | float | str]:
    return {"depth": hashing.depth, "width": hashing.width}


def _in_type(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return keys in the type of the oracle; raise unless they are whole numbers or text as its own are."""
    to_kernel(array.slice(0, 0) if array.type == kind else array, kind)  # raises if the type is another
    return array.cast(kind) if array.type != kind else array
