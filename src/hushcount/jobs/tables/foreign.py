"""The table of a standard Misra-Gries sketch that another program made, from a file to a sketch file.

Such a table has a row for each key with its counter, and must be taken whole: what is cut, dropped or filled
in on the way would be another table, for which nothing is proved.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.sketches.counters import MisraGries

KIND = "misra-gries"
WHOLE = (
    "A row has no key, no counter, or a key that is too long; the table must be whole, so correct that row."
)
NO_NUMBERS = "A counter is not a whole number below 2^63; the table must be whole, so correct that row."


def write_foreign(
    request: Request, counts: str, output: PathLike, size: SketchSize, checkpoint: PathLike | None = None
) -> None:
    """Write the table of another program as a sketch file, which is raw data (0600).

    Parameters
    ----------
    request:
        The file or SQL query with the table; its column has the keys.
    counts:
        The column with the counter of each key.
    output:
        The sketch file to write.
    size:
        Kind misra-gries, and how many counters the other program had, used or not.
    checkpoint:
        Refused if it is given.
    """
    if checkpoint is not None:
        raise ParameterError("counts cannot be combined with checkpoint: a table is read at once.")
    _check(request, counts, size)
    check_writable(output)
    refuse_same([output], [request.data] if isinstance(request.data, str) else [])
    keys, numbers = _columns(replace(request, user=counts))
    MisraGries.from_counters(keys, numbers, counters=size.counters or 0).save(output)


def _check(request: Request, counts: str, size: SketchSize) -> None:
    """Raise for what a table of another program cannot be combined with."""
    if size.kind != KIND:
        raise ParameterError(
            f'counts takes the table of a Misra-Gries sketch, so it needs kind="{KIND}", got {size.kind}.'
        )
    if size.counters is None:
        raise ParameterError("counts needs counters: how many the other program had, used or not.")
    if request.bound is not None or request.user is not None:
        raise ParameterError("counts cannot be combined with user: the table has no users any more.")
    if request.window is not None:
        raise ParameterError("counts cannot be combined with window: a part of a table is another table.")
    if request.weight is not None:
        raise ParameterError("counts cannot be combined with weight: a row of a table is one counter.")
    if not isinstance(request.column, str) or request.column == counts:
        raise ParameterError("counts needs column, the one other column, which has the keys.")


def _columns(request: Request) -> tuple[pa.Array, pa.Array]:
    """Return keys and counters of all rows; the counters are read where users are otherwise."""
    source, parts = request.open(), []
    for batch in source.batches():
        if len(batch.keys) != batch.rows:
            raise DataError(WHOLE)
        parts.append(batch.keys)
    if not parts:
        return pa.array([], pa.string()), pa.array([], pa.int64())
    table = pa.concat_arrays(parts)
    return table.field("key"), _numbers(table.field("user"))


def _numbers(found: pa.Array) -> pa.Array:
    """Return the counters as whole numbers; formats of text have them as text."""
    try:
        text = pa.types.is_string(found.type) or pa.types.is_large_string(found.type)
        if text or pa.types.is_uint64(found.type):
            return found.cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(NO_NUMBERS) from None
    return found
