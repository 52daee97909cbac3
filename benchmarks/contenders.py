"""The programs that count the same keys: each is prepared outside the clock and then runs once a round."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

THREADS = 2
# The share of its slots that a sketch of datasketches fills.
DATASKETCHES_LOAD = 0.75


@dataclass(frozen=True, slots=True)
class Task:
    """Which keys to count, and with how many counters (0 for programs that count exactly)."""

    contender: str
    keys: str
    heavy: str
    events: int
    counters: int

    def load(self) -> Any:
        """The first `events` keys: an array of integers or of text."""
        return load_keys(self.keys)[: self.events]


Run = Callable[[], object]


def save_keys(path: Path, keys: Any) -> Path:
    """Write integers or text so that workers can load them."""
    if isinstance(keys, np.ndarray):
        np.save(path.with_suffix(".npy"), keys)
        return path.with_suffix(".npy")
    with pa.OSFile(str(path.with_suffix(".arrow")), "wb") as sink:
        batch = pa.record_batch({"key": keys})
        with pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
    return path.with_suffix(".arrow")


def load_keys(path: str) -> Any:
    if path.endswith(".npy"):
        return np.load(path)
    with pa.OSFile(path, "rb") as source:
        return pa.ipc.open_file(source).get_batch(0).column(0)


def space_saving(task: Task) -> Run:
    from hushcount.sketches.counters import SpaceSaving

    return _sketch(task, SpaceSaving)


def misra_gries(task: Task) -> Run:
    from hushcount.sketches.counters import MisraGries

    return _sketch(task, MisraGries)


def _sketch(task: Task, kind: Callable[[int], Any]) -> Run:
    keys = task.load()
    kind(task.counters).update(keys[: 4 * task.counters])

    def run() -> None:
        sketch = kind(task.counters)
        sketch.update(keys)
        assert sketch.total == task.events

    return run


def limit(task: Task) -> Run:
    from benchmarks.limit import IntegerLimit, TextLimit

    keys, heavy = task.load(), load_keys(task.heavy)[: task.counters]
    held = IntegerLimit.holding(heavy) if isinstance(keys, np.ndarray) else TextLimit.holding(heavy)
    held.count(keys[:1000])
    return lambda: held.count(keys)


def datasketches(task: Task) -> Run:
    """From the same array: its Python API takes one Python object at a time, so they are made first."""
    keys = task.load()
    feed = _datasketches_feed(task.counters, keys)
    return lambda: feed(_objects(keys))


def datasketches_objects(task: Task) -> Run:
    """From a list of Python objects that is there already: the sketch without the conversion."""
    keys = task.load()
    feed, values = _datasketches_feed(task.counters, keys), _objects(keys)
    return lambda: feed(values)


def _objects(keys: Any) -> list[Any]:
    values: list[Any] = keys.tolist() if isinstance(keys, np.ndarray) else keys.to_pylist()
    return values


def _datasketches_feed(counters: int, keys: Any) -> Callable[[list[Any]], object]:
    """The fastest loop there is in Python: no bytecode runs between two keys."""
    from datasketches import frequent_items_sketch, frequent_strings_sketch

    kind = frequent_items_sketch if isinstance(keys, np.ndarray) else frequent_strings_sketch
    size = int(np.ceil(np.log2(counters / DATASKETCHES_LOAD)))
    return lambda values: deque(map(kind(size).update, values), maxlen=0)


def duckdb(task: Task) -> Run:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    connection.register("events", pa.table({"key": pa.array(task.load())}))
    query = "SELECT key, count(*) FROM events GROUP BY key ORDER BY 2 DESC LIMIT 1000"
    return lambda: connection.execute(query).fetchall()


def polars(task: Task) -> Run:
    import polars

    frame = polars.DataFrame({"key": polars.from_arrow(pa.array(task.load()))})
    return lambda: frame.group_by("key").len().top_k(1000, by="len")


SKETCHES = {
    "limit loop": limit,
    "SpaceSaving": space_saving,
    "MisraGries": misra_gries,
    "datasketches": datasketches,
    "datasketches (list)": datasketches_objects,
}
EXACT = {"DuckDB exact": duckdb, "polars exact": polars}
CONTENDERS = {**SKETCHES, **EXACT}
