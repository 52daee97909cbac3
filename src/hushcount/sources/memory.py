"""Data in memory: numpy, pandas, polars, pyarrow, and any iterable of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.failures import guarded
from hushcount.keys.columns import KeyColumns
from hushcount.keys.memory import mixed_types, numpy_array, object_pieces
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.sources.formats.registry import Piece, after
from hushcount.sources.source import BATCH_ROWS, Batch

Slice = Callable[[int, int], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class FrameSource:
    """Keys of data in this process; it cannot be resumed by another."""

    columns: KeyColumns
    pieces: Callable[[], Iterator[Piece]]
    unit: PrivacyUnit = EVENT
    unit_note: tuple[str, ...] = ()

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names of the key columns in a result."""
        return self.columns.key_names

    @property
    def size(self) -> int | None:
        """Unknown: nothing is read."""
        return None

    @property
    def fingerprint(self) -> str:
        """Empty: another process cannot see the same data."""
        return ""

    @property
    def state(self) -> dict[str, str]:
        """Nothing."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the unit is if not an event, and what happens to nulls."""
        return self.unit_note + self.columns.notes

    def decode(self, keys: pa.Array) -> pa.Table:
        """Turn keys back into their columns."""
        return self.columns.decode(keys)

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys in order."""
        for piece in after(guarded(self.pieces(), mixed_types), skip_rows):
            yield Batch(self.columns.keys(piece.columns or ()), piece.rows, 0)


def open_numpy(array: Any, columns: KeyColumns) -> FrameSource:
    """A one-dimensional array."""
    if array.ndim != 1:
        raise ParameterError(f"data must be an array of one dimension, got {array.ndim}.")
    if array.dtype.names is not None:
        raise ParameterError("data must be a plain array, got a structured one; pass one of its fields.")
    columns = columns.unnamed()
    if array.dtype == object:
        return FrameSource(columns, lambda: object_pieces(iter(array.tolist())))
    columns = columns.typed([numpy_array(array[:0]).type])
    return FrameSource(columns, _sliced(len(array), lambda start, stop: [numpy_array(array[start:stop])]))


def open_pandas(data: Any, columns: KeyColumns) -> FrameSource:
    """A DataFrame, Series or Index."""
    if data.ndim == 1:
        series = [data]
        columns = columns.unnamed()
    else:
        names = [str(name) for name in data.columns]
        columns = columns.within(names, "the frame")
        series = [data.iloc[:, names.index(name)] for name in columns.names]
    if len(series) == 1 and series[0].dtype == object:
        return FrameSource(columns, lambda: _pandas_objects(series[0]))
    types = [_pandas_type(column) for column in series]
    arrays = _sliced(len(data), lambda start, stop: _pandas_arrays(series, types, start, stop))
    return FrameSource(columns.typed(types), arrays)


def open_polars(data: Any, columns: KeyColumns) -> FrameSource:
    """A DataFrame, LazyFrame or Series."""
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):
        return _open_lazy(data, columns)
    if hasattr(data, "get_columns"):
        columns = columns.within(data.columns, "the frame")
        series = [data[name] for name in columns.names]
    else:
        series, columns = [data], columns.unnamed()
    columns = columns.typed(_polars_type(column[:0]) for column in series)
    return FrameSource(
        columns,
        _sliced(len(data), lambda start, stop: [column[start:stop].to_arrow() for column in series]),
    )


def open_arrow(data: Any, columns: KeyColumns) -> FrameSource:
    """A Table, RecordBatch, Array, ChunkedArray or RecordBatchReader."""
    if isinstance(data, pa.Array | pa.ChunkedArray):
        columns = columns.unnamed().typed([data.type])
        return FrameSource(columns, _sliced(len(data), lambda start, stop: [data[start:stop]]))
    columns = columns.within(data.schema.names, "the table")
    columns = columns.typed(data.schema.field(name).type for name in columns.names)
    if isinstance(data, pa.RecordBatchReader):
        return FrameSource(columns, lambda: _reader_pieces(data, columns.names))
    chosen = [data.column(name) for name in columns.names]
    return FrameSource(
        columns, _sliced(data.num_rows, lambda start, stop: [column[start:stop] for column in chosen])
    )


def open_iterable(data: Any, columns: KeyColumns) -> FrameSource:
    """A list, generator or any other ordered iterable of keys."""
    return FrameSource(columns.unnamed(), lambda: object_pieces(iter(data)))


def _sliced(length: int, columns: Slice) -> Callable[[], Iterator[Piece]]:
    def pieces() -> Iterator[Piece]:
        for start in range(0, length, BATCH_ROWS):
            stop = min(start + BATCH_ROWS, length)
            yield Piece([_one(column) for column in columns(start, stop)], stop - start, 0)

    return pieces


def _one(column: Any) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _pandas_objects(series: Any) -> Iterator[Piece]:
    """Objects by value, with whatever pandas takes for missing as null."""
    values = (None if missing else value for value, missing in zip(series, series.isna(), strict=True))
    return object_pieces(values)


def _pandas_type(series: Any) -> pa.DataType:
    """The Arrow type; of objects that of the first that is not missing."""
    first = int(series.notna().argmax()) if series.dtype == object and len(series) else 0
    return pa.array(series[first : first + (series.dtype == object)], from_pandas=True).type


def _pandas_arrays(
    series: Sequence[Any], types: Sequence[pa.DataType], start: int, stop: int
) -> list[pa.Array]:
    parts = (column[start:stop] for column in series)
    return [pa.array(part, kind, from_pandas=True) for part, kind in zip(parts, types, strict=True)]


def _polars_type(series: Any) -> pa.DataType:
    if str(series.dtype) == "Object":  # Arrow would get the addresses of the objects
        raise mixed_types(TypeError())
    return series.to_arrow().type


def _open_lazy(frame: Any, columns: KeyColumns) -> FrameSource:
    columns = columns.within(frame.collect_schema().names(), "the frame")
    chosen = frame.select(columns.names)
    columns = columns.typed(_polars_type(column) for column in chosen.head(0).collect().get_columns())

    def pieces() -> Iterator[Piece]:
        for part in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            yield Piece([_one(column.to_arrow()) for column in part.get_columns()], part.height, 0)

    return FrameSource(columns, pieces)


def _reader_pieces(reader: pa.RecordBatchReader, names: Sequence[str]) -> Iterator[Piece]:
    for batch in reader:
        for start in range(0, batch.num_rows, BATCH_ROWS):
            part = batch.slice(start, BATCH_ROWS)
            yield Piece([part.column(name) for name in names], part.num_rows, 0)


def open_stream(data: Any, columns: KeyColumns) -> FrameSource:
    """Anything else that hands out an Arrow stream."""
    return open_arrow(pa.RecordBatchReader.from_stream(data), columns)
