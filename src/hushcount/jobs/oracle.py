"""`oracle`: from data to noisy cells that answer for any key, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.jobs.settings import taken
from hushcount.keys.arrays import held_as
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, KINDS
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget, check_strength, weaknesses
from hushcount.releases.oracle import Oracle
from hushcount.sketches.linear import CountMin, CountSketch, LinearSketch

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.run import Run
    from hushcount.keys.columns import KeyColumns
    from hushcount.keys.memory import Data
    from hushcount.shapes import Public

DEPTH = 5
WIDTH = 1 << 16
DECLARED = {"int": pa.int64(), "text": pa.string()}
NO_KEYS = (
    "There are no keys, so their type is not known and nothing was released;"
    " this message itself reveals that, outside the guarantee."
)


def oracle(
    data: Data = None,
    *,
    epsilon: float,
    delta: float | None = None,
    column: str | None = None,
    kind: str | None = None,
    depth: int | None = None,
    width: int | None = None,
    like: Oracle | PathLike | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    output: PathLike | None = None,
    progress: Progress | None = None,
    allow_large_delta: bool = False,
) -> Oracle:
    """Publish a noisy linear sketch, which answers for the count of any key, as often as anyone likes.

    Protects one event, not one person.

    Parameters
    ----------
    data : path, frame, array, iterable or sketch, optional
        What to count, as for `top`; or a CountMin or CountSketch that was made with `max_weight`.
    epsilon : float
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float, optional
        Probability with which that limit may fail, such as 1e-8. count-min needs and spends none.
    column : str, optional
        The column to count. The only column need not be named.
    kind : {"count-sketch", "count-min"}, optional
        The sketch; count-sketch unless given.
    depth : int, optional
        Rows of cells (5).
    width : int, optional
        Cells per row, a power of two (65536). More cells mean fewer collisions.
    like : Oracle or path, optional
        An oracle whose kind, size and hash functions are taken over, so that the two can be merged.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`.
    max_key_bytes : int
        The longest key, in bytes.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    output : path, optional
        Also write the oracle to this file.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.

    Returns
    -------
    Oracle
        The noisy cells, their guarantee and how to ask them.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> found = oracle(["tea"] * 500 + ["milk"] * 300, epsilon=1.0, delta=1e-6, width=8192)
    >>> table = found.estimate(["tea", "salt"])
    >>> table.column_names, 400 < table["count"][0].as_py() < 600
    (['key', 'count', 'lower', 'upper'], True)
    """
    return oracle_of(dict(locals()))


def oracle_of(values: dict[str, Any]) -> Oracle:
    """Do what the parameters of `oracle` ask for."""
    output, progress = values.pop("output"), values.pop("progress")
    budget = oracle_budget(values.pop("epsilon"), values.pop("delta"))
    check_strength(budget, values.pop("allow_large_delta"))
    if output is not None:
        check_writable(output)
    size = [values.pop(name) for name in ("kind", "depth", "width", "like")]
    if isinstance(values["data"], LinearSketch):
        if any(value is not None for value in (*size, values["column"], values["format"], values["sql"])):
            raise ParameterError("a sketch has its own kind, size, hash key and keys; give only the budget.")
        return _released(values["data"], budget, output)
    values["column"] = _one(values["column"])
    request = replace(taken(Request, values), ordered=False)
    return run(OracleAsk(request, budget, _empty(*size), output), progress=progress)


def _released(sketch: LinearSketch, budget: Budget, output: PathLike | None) -> Oracle:
    """Return the oracle of a sketch that was counted by the caller."""
    _known(sketch, None)
    made = NoisyCells(budget).release(sketch.shape(), system_bits())
    if output is not None:
        made.save(output)
    return made


def oracle_budget(epsilon: float, delta: float | None) -> Budget:
    """Return the budget of an oracle; without delta, or with 0, it is for mechanisms that need none."""
    if delta is None or (not isinstance(delta, bool) and delta == 0):
        return Budget.pure(epsilon)
    return Budget(epsilon, delta)


@dataclass(frozen=True, slots=True)
class OracleAsk(Ask[Oracle]):
    """Noisy cells that answer for any key."""

    request: Request
    spent: Budget
    empty: LinearSketch
    output: PathLike | None = None

    @property
    def budget(self) -> Budget:
        """What the oracle spends."""
        return self.spent

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
        noisy = NoisyCells(self.spent, public)
        noisy.law(self.empty.kind, self.empty.depth, 1)
        return noisy

    def finish(self, whole: Oracle, origin: Origin) -> Oracle:
        """Return the oracle with its notes, written where asked."""
        made = replace(
            whole, notes=(*origin.notes, *weaknesses(self.spent)), key_type=self._key_type(origin.columns)
        )
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
    kind: str | None, depth: int | None, width: int | None, like: Oracle | PathLike | None
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
