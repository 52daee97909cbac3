"""Data in memory as columns of keys: numpy, pandas, polars, pyarrow, and any iterable of keys.

Whoever counts data in memory, a source or a sketch, converts it here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, KeyTypeError, ParameterError
from hushcount.files.failures import attempt, guarded
from hushcount.keys.buffers import check_column, is_shared
from hushcount.keys.columns import Columns, KeyColumns
from hushcount.keys.objects import Objects, mixed_types, numpy_array, object_arrays
from hushcount.keys.plain import LARGEST_SKETCHED, KeyLimit, behind_dictionary, plain

# Anything that `in_memory` opens, of libraries that need not be installed.
Data: TypeAlias = Any
# 131072 rows read Parquet a fifth faster than 65536 and cost 20 MB more; 262144 gain nothing.
BATCH_ROWS = 1 << 17
OBJECT_ROWS = 1 << 14  # Python objects are copied, and may be long
LARGEST_COPY = 1 << 29  # bytes of keys that share their values, as those of a dictionary do
SKETCH_LIMIT = KeyLimit(LARGEST_SKETCHED, "fail")


@dataclass(frozen=True, slots=True)
class InMemory:
    """Columns of keys in this process.

    `pieces()` yields the columns of consecutive rows. Without `ordered` their order is no property of the
    data: another query plan, or one row more, may change it.
    """

    columns: KeyColumns
    pieces: Callable[[], Iterator[Columns]]
    ordered: bool = True


def in_memory(data: Data, columns: KeyColumns) -> InMemory:
    """Open a frame, an array, a list or any other ordered iterable of keys.

    Parameters
    ----------
    data
        A numpy array, a pandas, polars or pyarrow object, anything that hands out Arrow data, or an ordered
        iterable of keys.
    columns
        Which columns of it make a key.

    Returns
    -------
    InMemory
        The columns with their types, and the rows.

    Raises
    ------
    ParameterError
        If the data are of another kind, or lack the columns.
    DataError
        If the columns hold what cannot be keys.
    """
    roots = [kind.__module__.partition(".")[0] for kind in type(data).__mro__]
    if "pyspark" in roots:
        raise ParameterError(
            "data must not be a Spark frame, whose rows have no fixed order;"
            " hc.top, hc.tree, hc.sample and hc.oracle count one on Spark."
        )
    opener = next((_OPENERS[root] for root in roots if root in _OPENERS), _other)
    return attempt(mixed_types, opener, data, columns)


def key_arrays(keys: Data) -> Iterator[pa.Array]:
    """Check a whole batch of keys, then return its Arrow arrays in order, without nulls.

    Whatever can be refused is refused by this call, before anything can be counted.

    >>> [array.to_pylist() for array in key_arrays(["a", None, "b"])]
    [['a', 'b']]
    """
    return (array for array, _ in _checked(keys))


def shared_text(keys: Data) -> pa.DictionaryArray | None:
    """Return text behind a dictionary, checked once by value; None for all other keys."""
    if not isinstance(keys, pa.DictionaryArray) or not len(keys):
        return None
    check_column(keys, "keys")
    return behind_dictionary(keys, "The data", SKETCH_LIMIT)


def asked_arrays(keys: Data) -> Iterator[pa.Array]:
    """Yield keys to be looked up as Arrow arrays: one answer each, so none may be null."""
    for array, rows in _checked(keys):
        if len(array) < rows:
            raise KeyTypeError("keys to look up must not be null.")
        yield array


def column_array(name: str, values: Data) -> pa.Array:
    """Return one column by value in one array, nulls included; `name` is the parameter that it is."""
    parts = []
    for (column,) in _batch(name, values).pieces():
        check_column(column, name)
        parts.append(plain(column, "auto", name, SKETCH_LIMIT))
    # Parts of nulls alone have no type of their own.
    types = [part.type for part in parts if part.null_count < len(part)] or [part.type for part in parts]
    return pa.concat_arrays([part.cast(types[0]) for part in parts] or [pa.array([], pa.string())])


def _batch(name: str, data: Data) -> InMemory:
    """Open a batch for a sketch, which reads no files, and no rows whose order is not fixed."""
    if isinstance(data, str | bytes):
        raise KeyTypeError(
            f"{name} must be a batch, got one {type(data).__name__}; to count one key use add."
        )
    if isinstance(data, os.PathLike):
        raise KeyTypeError(
            f"{name} must be data in memory, got a path; hc.top counts a file, and hushcount sketch makes a"
            " sketch of one."
        )
    found = in_memory(data, replace(KeyColumns.of(None, "auto"), limit=SKETCH_LIMIT))
    if not found.ordered:
        raise KeyTypeError(
            f"{name} must have a fixed order, which the rows of {type(data).__name__} have not;"
            " hc.top takes them, or collect them into a table first."
        )
    return replace(found, pieces=lambda: guarded(found.pieces(), mixed_types))


def _checked(keys: Data) -> Iterator[tuple[pa.Array, int]]:
    """Check all keys, then return their arrays, each with the number of rows that it is from."""
    found = _batch("keys", keys)
    held, copied = [], 0
    for piece in found.pieces():
        for array, rows in found.columns.parts(piece):
            held.append((array, rows))
            copied += array.nbytes if is_shared(piece[0].type) else 0
            if copied > LARGEST_COPY:
                raise DataError(
                    "The keys of this batch take more than 512 MB if each row has its own; pass fewer."
                )
    return iter(held)


def _numpy(array: Data, columns: KeyColumns) -> InMemory:
    """Open an array of one dimension."""
    if array.ndim != 1:
        raise ParameterError(f"data must be an array of one dimension, got {array.ndim}.")
    if array.dtype.names is not None:
        raise ParameterError("data must be a plain array, got a structured one; pass one of its fields.")
    if array.dtype == object:
        return _iterable(array.tolist(), columns)
    columns = columns.unnamed().typed([numpy_array(array[:0]).type])
    return InMemory(columns, _sliced(len(array), lambda start, stop: [numpy_array(array[start:stop])]))


def _pandas(data: Data, columns: KeyColumns) -> InMemory:
    """Open a DataFrame, Series or Index."""
    if data.ndim == 1:
        return _in_columns([_pandas_column(data)], len(data), columns.unnamed())
    names = [str(name) for name in data.columns]
    columns = columns.within(names, "the frame")
    series = [data.iloc[:, names.index(name)] for name in columns.names]
    return _in_columns([_pandas_column(one) for one in series], len(data), columns)


def _polars(data: Data, columns: KeyColumns) -> InMemory:
    """Open a DataFrame, LazyFrame or Series."""
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        return _lazy(data, columns)
    if not hasattr(data, "get_columns"):
        return _in_columns([_polars_column(data)], len(data), columns.unnamed())
    columns = columns.within(data.columns, "the frame")
    return _in_columns([_polars_column(data[name]) for name in columns.names], len(data), columns)


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a frame: its type, whether that was found from values, and its rows by start and stop."""

    type: pa.DataType
    rows: Callable[[int, int], pa.Array | pa.ChunkedArray]
    inferred: bool = False


def _in_columns(found: Sequence[_Column], length: int, columns: KeyColumns) -> InMemory:
    columns = columns.typed([column.type for column in found], [column.inferred for column in found])
    step = OBJECT_ROWS if any(column.inferred for column in found) else BATCH_ROWS
    return InMemory(
        columns, _sliced(length, lambda start, stop: [one.rows(start, stop) for one in found], step)
    )


def _pandas_column(series: Data) -> _Column:
    if series.dtype == object:
        return _objects(len(series), lambda start, stop: list(series[start:stop]))
    if str(series.dtype) != "category" or series.dtype.categories.dtype != object:
        kind = pa.array(series[:0], from_pandas=True).type
        return _Column(kind, lambda start, stop: pa.array(series[start:stop], kind, from_pandas=True))
    values = Objects().array(series.dtype.categories.tolist())
    codes = pa.array(series.array.codes)
    places = pc.if_else(pc.less(codes, 0), pa.scalar(None, codes.type), codes)  # -1 is no value
    whole = pa.DictionaryArray.from_arrays(places, values)
    return _Column(whole.type, lambda start, stop: whole[start:stop], inferred=True)


def _polars_column(series: Data) -> _Column:
    if str(series.dtype) == "Object":  # Arrow would get the addresses of the objects
        return _objects(len(series), lambda start, stop: series[start:stop].to_list())
    return _Column(series[:0].to_arrow().type, lambda start, stop: series[start:stop].to_arrow())


def _objects(length: int, values: Callable[[int, int], Sequence[object]]) -> _Column:
    """Return a column of Python objects, after a look at all of them: they must be of one kind."""
    objects = Objects()
    for start in range(0, length, BATCH_ROWS):
        objects.check(values(start, start + BATCH_ROWS))
    return _Column(objects.declared, lambda start, stop: objects.array(values(start, stop)), inferred=True)


def _lazy(frame: Data, columns: KeyColumns) -> InMemory:
    """Open a LazyFrame, whose engine may return rows in another order each time."""
    columns = columns.within(frame.collect_schema().names(), "the frame")
    chosen = frame.select(columns.names)
    empty = chosen.head(0).collect().get_columns()
    if any(str(column.dtype) == "Object" for column in empty):
        raise mixed_types(TypeError())

    def pieces() -> Iterator[Columns]:
        for part in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False):
            yield [column.to_arrow() for column in part.get_columns()]

    return InMemory(columns.typed([column.to_arrow().type for column in empty]), pieces, ordered=False)


def _arrow(data: Data, columns: KeyColumns) -> InMemory:
    """Open a Table, RecordBatch, Array, ChunkedArray or RecordBatchReader."""
    if isinstance(data, pa.Array | pa.ChunkedArray):
        columns = columns.unnamed().typed([data.type])
        return InMemory(columns, _sliced(len(data), lambda start, stop: [data[start:stop]]))
    if not isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return _other(data, columns)
    columns = columns.within(data.schema.names, "the table")
    columns = columns.typed(data.schema.field(name).type for name in columns.names)
    if isinstance(data, pa.RecordBatchReader):
        return InMemory(columns, lambda: _read(data, columns.names), ordered=False)
    chosen = [data.column(name) for name in columns.names]
    return InMemory(
        columns, _sliced(data.num_rows, lambda start, stop: [column[start:stop] for column in chosen])
    )


def _read(reader: pa.RecordBatchReader, names: Sequence[str]) -> Iterator[Columns]:
    for batch in reader:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield [batch.column(name).slice(start, BATCH_ROWS) for name in names]


def _other(data: Data, columns: KeyColumns) -> InMemory:
    """Open what hands out Arrow data, or else an iterable."""
    if hasattr(data, "__arrow_c_stream__"):
        return _arrow(pa.RecordBatchReader.from_stream(data), columns)
    if hasattr(data, "__arrow_c_array__"):
        array = pa.array(data)
        nested = pa.types.is_struct(array.type)
        return _arrow(pa.record_batch(data) if nested else array, columns)
    return _iterable(data, columns)


def _iterable(data: Data, columns: KeyColumns) -> InMemory:
    """Open a list, generator or any other ordered iterable of keys."""
    unordered = isinstance(data, Mapping | Set | type(iter(set())))
    if unordered or isinstance(data, bytes | bytearray | memoryview) or not isinstance(data, Iterable):
        raise ParameterError(
            "data must be a path, a frame, an array or an ordered iterable of keys,"
            f" got {type(data).__name__}."
        )
    return InMemory(columns.unnamed(), lambda: ([array] for array in object_arrays(iter(data), OBJECT_ROWS)))


def _sliced(
    length: int, columns: Callable[[int, int], Columns], step: int | None = None
) -> Callable[[], Iterator[Columns]]:
    """Return the pieces of data that can be sliced."""
    rows = step or BATCH_ROWS
    return lambda: (columns(start, min(start + rows, length)) for start in range(0, length, rows))


_OPENERS = {"pandas": _pandas, "polars": _polars, "numpy": _numpy, "pyarrow": _arrow}
