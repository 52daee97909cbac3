"""`oracle`: from data to noisy cells that answer for any key, in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.keys.arrays import held_as
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, KINDS
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget
from hushcount.releases.oracle import Oracle
from hushcount.sketches.linear import CountMin, CountSketch, LinearSketch

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.run import Run
    from hushcount.keys.columns import KeyColumns
    from hushcount.shapes import Public

DEPTH = 5
WIDTH = 1 << 16
DECLARED = {"int": pa.int64(), "text": pa.string()}
NO_KEYS = (
    "There are no keys, so their type is not known and nothing was released;"
    " this message itself reveals that, outside the guarantee."
)


def oracle(
    data: Any = None,
    *,
    epsilon: float,
    delta: float | None = None,
    column: str | None = None,
    kind: str | None = None,
    depth: int | None = None,
    width: int | None = None,
    like: Oracle | str | os.PathLike[str] | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Oracle:
    """Count the keys of `data` into cells and publish them with noise: an oracle for the count of any key.

    Protects one event, not one person. `data` is as for `top`, or a CountMin or CountSketch made with
    max_weight. `kind` is count-sketch (the default) or count-min, which needs and spends no delta.
    `like` names an oracle whose kind, size and hash key are taken over, so that the two can be merged.

    >>> found = oracle(["tea"] * 500 + ["milk"] * 300, epsilon=1.0, delta=1e-6, width=8192)
    >>> table = found.estimate(["tea", "salt"])
    >>> table.column_names, 400 < table["count"][0].as_py() < 600
    (['key', 'count', 'lower', 'upper'], True)
    """
    if output is not None:
        check_writable(output)
    size = (kind, depth, width, like)
    if isinstance(data, LinearSketch):
        if any(value is not None for value in (*size, column, format, sql)):
            raise ParameterError("a sketch has its own kind, size, hash key and keys; give only the budget.")
        _known(data, None)
        made = NoisyCells(oracle_budget(epsilon, delta)).release(data.shape(), system_bits())
        if output is not None:
            made.save(output)
        return made
    request = Request(data, _one(column), format, key_type, sql)
    return run(OracleAsk(request, oracle_budget(epsilon, delta), _empty(*size), output), progress=progress)


def oracle_budget(epsilon: float, delta: float | None) -> Budget:
    """Return the budget of an oracle; without delta, or with 0, it is for mechanisms that need none."""
    if delta is None or (not isinstance(delta, bool) and delta == 0):
        return Budget.pure(epsilon)
    return Budget(epsilon, delta)


@dataclass(frozen=True, slots=True)
class OracleAsk(Ask[Oracle]):
    """Noisy cells that answer for any key."""

    request: Request
    budget: Budget
    empty: LinearSketch
    output: str | os.PathLike[str] | None = None

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The file of the oracle."""
        return (self.output,)

    @property
    def max_events(self) -> int | None:
        """No bound: cells hold any number of events."""
        return None

    def sketch(self) -> LinearSketch:
        """Return the empty sketch."""
        return self.empty

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Count all keys; if there are none, their type must have been declared."""
        reading.count(progress)
        self._key_type(reading.source.columns)

    def mechanism(self, public: Public) -> NoisyCells:
        """Return the mechanism, or raise for a budget without delta that needs one."""
        noisy = NoisyCells(self.budget, public)
        noisy.law(self.empty.kind, self.empty.depth, 1)
        return noisy

    def finish(self, whole: Oracle, origin: Origin) -> Oracle:
        """Return the oracle with its notes, written where asked."""
        made = replace(whole, notes=origin.notes, key_type=self._key_type(origin.columns))
        if self.output is not None:
            made.save(self.output)
        return made

    def _key_type(self, columns: KeyColumns) -> pa.DataType:
        """Return the type of the keys that were counted, or that the source or the caller declares."""
        declared = held_as(columns.types[0]) if columns.types else DECLARED.get(self.request.key_type)
        return _known(self.empty, declared)


def _known(sketch: LinearSketch, declared: pa.DataType | None) -> pa.DataType:
    """Return the type of the keys: one made up for no keys would show that there were none."""
    kind = declared if sketch.key_type is None else sketch.key_type
    if kind is None:
        raise DataError(NO_KEYS)
    return kind


def merge_oracles(paths: Sequence[PathLike], output: PathLike | None = None) -> Oracle:
    """Add up oracle files that have the same hash key, and write the sum to `output` if it is given."""
    if output is not None:
        check_writable(output)
    refuse_same([output], paths)
    if len(paths) < 2:
        raise ParameterError("merge needs at least two oracles.")
    first, *others = [Oracle.load(path) for path in paths]
    for other in others:
        first = first.merge(other)
    if output is not None:
        first.save(output)
    return first


def _empty(
    kind: str | None, depth: int | None, width: int | None, like: Oracle | str | os.PathLike[str] | None
) -> LinearSketch:
    """An empty sketch with a fresh hash key, or with that of another oracle."""
    if like is None:
        name = COUNT_SKETCH if kind is None else kind
        if name not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {name}.")
        made = CountMin if name == COUNT_MIN else CountSketch
        return made(DEPTH if depth is None else depth, WIDTH if width is None else width, max_weight=1)
    if (kind, depth, width) != (None, None, None):
        raise ParameterError("like gives kind, depth and width; give one or the other.")
    hashing = like.hashing if isinstance(like, Oracle) else Oracle.load(like).hashing
    return (CountSketch if hashing.signed else CountMin).with_hash(hashing, max_weight=1)


def _one(column: Any) -> str | None:
    if column is not None and not isinstance(column, str):
        raise ParameterError("column must be one name for an oracle.")
    return column
