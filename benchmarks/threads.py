"""Counting in several threads: python -m benchmarks --only threads

Dealing and every shard are timed one after the other, by CPU time of one thread, so the figures say what as
many cores would need and do not depend on how many there are: dealing is divided among all threads, then all
wait for the busiest shard. Beside it the wall time of the real threads, which other programs disturb.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.data import EXPONENTS, integers
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.dealt.dealer import PIECE
from hushcount.sketches.dealt.key_shards import KeyShardSketch

ROWS, QUICK_ROWS, COUNTERS, ROUNDS = 8_000_000, 2_000_000, 131_072, 5
THREADS = (2, 4, 8, 16)
Row = dict[str, Any]


def measure(quick: bool = False) -> list[Row]:
    """A row for each distribution and number of threads: nanoseconds for one event."""
    found = []
    for distribution in EXPONENTS:
        keys = integers(QUICK_ROWS if quick else ROWS, distribution)
        found += [_row(keys, distribution, threads) for threads in THREADS]
    return found


def _row(keys: np.ndarray[Any, Any], distribution: str, threads: int) -> Row:
    """Medians of rounds in which one thread and several take turns; sketches are full from the first on."""
    one, sketch = SpaceSaving(COUNTERS), KeyShardSketch(COUNTERS, threads)
    one.update(keys)
    sketch.update(keys)
    rounds = [_round(one, sketch, keys) for _ in range(ROUNDS)]
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    return {"distribution": distribution, "threads": threads, **medians}


def _round(one: SpaceSaving, sketch: KeyShardSketch, keys: np.ndarray[Any, Any]) -> Row:
    """The figures of one round."""
    alone, alone_wall = _both(one, keys)
    dealing, shards = _profile(sketch, keys.view(np.uint64))
    nanoseconds = 1e9 / len(keys)
    return {
        "alone_ns": alone * nanoseconds,
        "dealing_ns": dealing * nanoseconds,
        "shards_ns": float(shards.sum()) * nanoseconds,
        "busiest_ns": float(shards.max()) * nanoseconds,
        "speed": alone / (dealing / sketch.threads + float(shards.max())),
        "wall_speed": alone_wall / _both(sketch, keys)[1],
    }


def _profile(sketch: KeyShardSketch, words: np.ndarray[Any, Any]) -> tuple[float, np.ndarray[Any, Any]]:
    """CPU seconds of dealing, and of each shard."""
    dealing, shards = 0.0, np.zeros(sketch.threads)
    for start in range(0, len(words), PIECE):
        before = time.thread_time()
        hand = sketch.dealers[0].hand(words[start : start + PIECE])
        dealing += time.thread_time() - before
        for index in range(sketch.threads):
            before = time.thread_time()
            sketch.count_shard(index, [hand])
            shards[index] += time.thread_time() - before
    return dealing, shards


def _both(sketch: SpaceSaving | KeyShardSketch, keys: np.ndarray[Any, Any]) -> tuple[float, float]:
    """CPU and wall seconds of counting."""
    cpu, wall = time.process_time(), time.perf_counter()
    sketch.update(keys)
    return time.process_time() - cpu, time.perf_counter() - wall
