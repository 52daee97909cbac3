"""`oracle`: from data to noisy cells that answer for any key, in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.jobs.run import Progress, Request, open_run
from hushcount.keys.arrays import held_as
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, KINDS
from hushcount.mechanisms.linear.cells import NoisyCells
from hushcount.noise.bits import system_bits
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.releases.oracle import Oracle
from hushcount.shapes import Cells
from hushcount.sketches.linear import CountMin, CountSketch, LinearSketch

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
        made = NoisyCells(epsilon, delta).release(_typed(data, None), system_bits())
    else:
        noisy = NoisyCells(epsilon, delta)
        sketch = _empty(*size)
        noisy.law(sketch.shape().hashing.kind, sketch.depth, 1)  # refuse now what could not be released
        request = Request(data, _one(column), format, key_type, sql)
        made = count_cells(request, sketch, noisy, progress)
    if output is not None:
        made.save(output)
    return made


def count_cells(
    request: Request, sketch: LinearSketch, noisy: NoisyCells, progress: Progress | None
) -> Oracle:
    """Count, and publish the cells."""
    run = open_run(request, sketch, None)
    source = run.source
    run.count(progress)
    types = source.columns.types
    known = held_as(types[0]) if types else DECLARED.get(request.key_type)
    made = _for_unit(noisy, source.unit).release(_typed(sketch, known), system_bits())
    return replace(made, notes=source.notes)


def _typed(sketch: LinearSketch, known: pa.DataType | None) -> Cells:
    """The cells with the type of their keys: one made up for no keys would show that there were none."""
    kind = known if sketch.key_type is None else sketch.key_type
    if kind is None:
        raise DataError(NO_KEYS)
    return replace(sketch.shape(), key_type=kind)


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


def _for_unit(noisy: NoisyCells, unit: PrivacyUnit) -> NoisyCells:
    return noisy if unit == EVENT else NoisyCells(noisy.epsilon, noisy.delta, unit)


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
