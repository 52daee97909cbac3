"""Updates of Count-Min and CountSketch per CPU second: python -m benchmarks --only linear

Beside them a limit: a compiled loop that does nothing but hash and add, key by key. Required for d = 5 and
w = 4096: 100 M updates a second or 0.4 of the limit for Count-Min, half of that for CountSketch.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numba import njit

from hushcount.sketches.linear import CountMin, CountSketch

DEPTH, WIDTH = 5, 4096
EVENTS, TEXTS, ROUNDS = 1 << 24, 1 << 21, 5


@njit(nogil=True)
def limit(cells: Any, rows: Any, words: Any) -> None:
    """The hashes and additions of Count-Min, key by key."""
    for word in words:
        high, low = word >> np.uint64(32), word & np.uint64(0xFFFFFFFF)
        for depth in range(rows.shape[0]):
            product = (rows[depth, 0] + high) * (rows[depth, 1] + low) + rows[depth, 4]
            cells[depth, product >> np.uint64(52)] += 1


def measure(quick: bool = False) -> dict[str, dict[str, float]]:
    """Million updates per CPU second: the median of five rounds, sketches and limit taking turns."""
    rng = np.random.default_rng(1)
    events = EVENTS // 8 if quick else EVENTS
    words = rng.integers(0, 1 << 31, events)
    texts = pa.array([f"key {number}" for number in rng.integers(0, 1 << 31, TEXTS)])
    weights = rng.integers(-3, 4, events)
    calls: dict[str, tuple[int, Callable[[], Any]]] = {"limit": (events, _limit(words))}
    for kind in (CountMin, CountSketch):
        sketch = kind(DEPTH, WIDTH, partial=True)
        strings = kind(DEPTH, WIDTH, partial=True)
        calls[kind.__name__] = (events, lambda sketch=sketch: sketch.update(words))
        calls[f"{kind.__name__}, weights"] = (events, lambda sketch=sketch: sketch.update(words, weights))
        calls[f"{kind.__name__}, text"] = (TEXTS, lambda sketch=strings: sketch.update(texts))
    return _rates(calls)


def _limit(words: Any) -> Callable[[], Any]:
    cells = np.zeros((DEPTH, WIDTH), np.int64)
    rows = np.random.default_rng(2).integers(0, 1 << 63, (DEPTH, 5)).astype(np.uint64)
    return lambda: limit(cells, rows, words.view(np.uint64))


def _rates(calls: dict[str, tuple[int, Callable[[], Any]]]) -> dict[str, dict[str, float]]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS + 1):  # the first compiles
        for name, (_, call) in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    rates = {name: size / statistics.median(times[name][1:]) / 1e6 for name, (size, _) in calls.items()}
    return {name: {"m_updates_s": rate, "of_limit": rate / rates["limit"]} for name, rate in rates.items()}
