"""Counting keys in memory: the sketches against the limit loop, Apache DataSketches, DuckDB and polars."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders import EXACT, SKETCHES, Task, save_keys
from benchmarks.data import EXPONENTS, integers, texts
from benchmarks.worker import workers

COUNTERS = (1_000, 100_000)
Say = Callable[[str], None]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured; `slow_events` is for contenders fed one Python object at a time."""

    events: dict[str, int]
    slow_events: int
    rounds: int


FULL = Sizes({"ints": 20_000_000, "strings": 10_000_000}, 2_000_000, 5)
QUICK = Sizes({"ints": 4_000_000, "strings": 2_000_000}, 500_000, 3)


def measure(kind: str, sizes: Sizes, say: Say) -> list[Row]:
    """A row for every distribution, number of counters and contender."""
    rows: list[Row] = []
    for distribution in EXPONENTS:
        with tempfile.TemporaryDirectory() as folder:
            keys, heavy = _write(Path(folder), kind, distribution, sizes.events[kind])
            for tasks in _contests(str(keys), str(heavy), sizes, kind):
                say(f"{kind}, {distribution}, {tasks[0].counters or 'exact'}")
                labels = {"keys": kind, "distribution": distribution}
                rows += [{**labels, **row} for row in _rounds(tasks, sizes.rounds)]
    return rows


def _write(folder: Path, kind: str, distribution: str, events: int) -> tuple[Path, Path]:
    """The keys of a stream and, heaviest first, the keys that the limit loop may hold."""
    keys = integers(events, distribution)
    values, counts = np.unique(keys, return_counts=True)
    heavy = values[np.argsort(-counts, kind="stable")[: max(COUNTERS)]]
    if kind == "strings":
        return save_keys(folder / "keys", texts(keys)), save_keys(folder / "heavy", texts(heavy))
    return save_keys(folder / "keys", keys), save_keys(folder / "heavy", heavy)


def _contests(keys: str, heavy: str, sizes: Sizes, kind: str) -> Iterator[list[Task]]:
    events = sizes.events[kind]
    for counters in COUNTERS:
        yield [
            Task(
                name, keys, heavy, sizes.slow_events if name.startswith("datasketches") else events, counters
            )
            for name in SKETCHES
        ]
    yield [Task(name, keys, heavy, events, 0) for name in EXACT]


def _rounds(tasks: list[Task], rounds: int) -> Iterator[Row]:
    """The contenders take turns; medians of all rounds."""
    with workers(tasks) as running:
        answers = [[worker.round() for worker in running] for _ in range(rounds)]
    for task, of_task in zip(tasks, zip(*answers, strict=True), strict=True):
        cpu = statistics.median(answer["cpu_s"] for answer in of_task)
        yield {
            "counters": task.counters,
            "contender": task.contender,
            "events": task.events,
            "cpu_s": cpu,
            "wall_s": statistics.median(answer["wall_s"] for answer in of_task),
            "cpu_ns_per_event": 1e9 * cpu / task.events,
            "added_mb": of_task[-1]["added_mb"],
        }


def ratio(rows: list[Row], case: tuple[str, str, int], contender: str, other: str) -> float:
    """How many times as many events per CPU second a contender counts as another."""
    times = {
        row["contender"]: row["cpu_ns_per_event"] for row in rows if _case(row) in (case, (*case[:2], 0))
    }
    return float(times[other] / times[contender])


def _case(row: Row) -> tuple[str, str, int]:
    return row["keys"], row["distribution"], row["counters"]
