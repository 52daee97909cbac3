"""Exact counts of every key, also while the table grows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hushcount.sketches._kernels import arrays as words
from hushcount.sketches.exact import FIRST_COUNTERS, Exact
from hushcount.sketches.kinds import load

RNG = np.random.default_rng(1)
STREAM = np.concatenate([np.arange(30_000), RNG.zipf(1.1, 60_000) % 50_000, np.arange(30_000)])
STREAMS = {
    "numbers": STREAM.tolist(),
    "text": [f"key {value}" for value in STREAM],
    "long text": [str(value) * 12 for value in STREAM],
}


def counts_in(sketch: Exact) -> dict[Any, int]:
    shape = sketch.shape()
    return dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("step", [997, 120_000])
def test_exact_equals_a_counter_while_it_grows(name: str, step: int) -> None:
    keys = STREAMS[name]
    sketch = Exact()
    for start in range(0, len(keys), step):
        sketch.update(keys[start : start + step])
    assert sketch._table.counters > 4 * FIRST_COUNTERS
    assert counts_in(sketch) == Counter(keys)
    assert sketch.total == len(keys)
    assert sketch.estimate(keys[:50]).tolist() == [Counter(keys)[key] for key in keys[:50]]
    assert load(sketch.to_bytes()).to_bytes() == sketch.to_bytes()


def test_the_number_of_keys_at_the_edge_of_growth() -> None:
    for distinct in range(FIRST_COUNTERS - 2, FIRST_COUNTERS + 3):
        sketch = Exact()
        sketch.update(np.arange(distinct))
        sketch.update(np.arange(distinct))
        again = load(sketch.to_bytes())
        again.update([distinct])
        assert counts_in(again) == dict.fromkeys(range(distinct), 2) | {distinct: 1}


def test_the_clock_may_run_out() -> None:
    sketch = Exact()
    sketch.update([1, 2, 3])
    sketch._table._arrays.state[words.CLOCK] = words.LAST_TIME - np.uint64(5)
    sketch.update(list(range(300)))
    assert counts_in(sketch) == Counter(range(300)) + Counter([1, 2, 3])


def test_an_exact_sketch_never_errs() -> None:
    sketch = Exact()
    assert (sketch.error_bound, sketch.total) == (0, 0)
    assert sketch.shape().keys.type == pa.string()
    sketch.update(["a"])
    assert sketch.error_bound == 0
    assert sketch.estimate(["a", "b"]).tolist() == [1, 0]
