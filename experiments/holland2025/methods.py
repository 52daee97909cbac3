"""The methods that Holland 2025 compares, as printed and as built here; how good, large and fast they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from experiments.holland2025.streams import Stream
from experiments.linear.compare import memory

import hushcount as hc
from hushcount.jobs.settings import ReleaseSettings

DELTA, MACHINES, TIMED = 0.001, 4, 3
PRINTED = "DPSS as printed (not private)"
CODE = "DPSS as in the authors' code (not private)"
BOUNDED = "DPSS with a public length"
FLOOR = "floor release (ours)"
SHARDS = "shard release of 4 sketches (ours)"
DPMG = "DPMG"
COUNT_MIN, COUNT_SKETCH = "Count-Min envelope", "CountSketch envelope"
ENVELOPES = {COUNT_MIN: "count-min-envelope", COUNT_SKETCH: "count-sketch-envelope"}
COUNTERS = (DPMG, PRINTED, CODE, BOUNDED, FLOOR, SHARDS)
METHODS = (*COUNTERS, *ENVELOPES)

SKETCHES: dict[str, Callable[[int], Any]] = {
    "Misra-Gries": hc.MisraGries,
    "SpaceSaving": hc.SpaceSaving,
    "several": lambda counters: [hc.SpaceSaving(counters) for _ in range(MACHINES)],
}

Published = dict[int, float]
Figures = dict[str, float]


@dataclass(frozen=True)
class Setting:
    """Heavy is a key with at least 1/k of the events; `tracked` keys are kept beside a linear sketch."""

    k: int
    epsilon: float
    counters: int
    tracked: int

    def cut(self, events: int) -> float:
        """Return the count from which a key is heavy; the length of the stream is taken as public."""
        return events / self.k


def measured(stream: Stream, setting: Setting, repetitions: int) -> dict[str, list[Figures]]:
    """Return the figures of each repetition by method; noise and hash functions are fresh each time."""
    found: dict[str, list[Figures]] = {}
    counted_once: dict[str, tuple[Any, Figures]] = {}  # several methods publish the same sketch
    for method, (kind, publish) in _prepared(setting, len(stream)).items():
        if kind not in counted_once:
            counted_once[kind] = _counted(SKETCHES[kind], setting.counters, stream)
        counted, costs = counted_once[kind]
        draws = (publish(counted) for _ in range(repetitions))
        found[method] = [quality(each, stream.truth, setting.cut(len(stream))) | costs for each in draws]
    for method, mechanism in ENVELOPES.items():
        options = _options(setting, mechanism, len(stream))
        found[method] = []
        for _ in range(repetitions):
            counted, costs = _counted(partial(_sketch, options), setting.tracked, stream, 1)
            drawn = _published(counted, options, setting.cut(len(stream)))
            found[method].append(quality(drawn, stream.truth, setting.cut(len(stream))) | costs)
    return found


def _prepared(setting: Setting, events: int) -> dict[str, tuple[str, Callable[[Any], Published]]]:
    """Return the kind of sketch of each method that counts with counters, and what it publishes of it."""
    cut, size = setting.cut(events), setting.counters
    margin = math.log(2 / DELTA) / setting.epsilon

    def released(mechanism: str, bar: float = cut) -> Callable[[Any], Published]:
        return lambda sketch: _published(sketch, _options(setting, mechanism, events), bar)

    def printed(bar: float) -> Callable[[Any], Published]:
        return lambda sketch: dpss(sketch, setting.epsilon, max(bar, events / size + 1 + margin))

    return {
        DPMG: ("Misra-Gries", released("pmg-paper")),
        PRINTED: ("SpaceSaving", printed(cut - margin)),
        CODE: ("SpaceSaving", printed(cut)),
        BOUNDED: ("SpaceSaving", released("dpss", cut - margin)),
        FLOOR: ("SpaceSaving", released("floor")),
        SHARDS: ("several", released("shards")),
    }


def dpss(sketch: hc.SpaceSaving, epsilon: float, threshold: float) -> Published:
    """Return what Algorithm 3 of Holland 2025 publishes: not private, its threshold holds the length."""
    shape = sketch.shape()
    noisy = shape.counts + np.random.default_rng().laplace(0, 1 / epsilon, len(shape.counts))
    above = noisy > threshold
    keys = np.asarray(shape.keys.to_numpy(zero_copy_only=False))[above]
    return dict(zip(keys.tolist(), noisy[above].tolist(), strict=True))


def quality(published: Published, truth: dict[int, int], cut: float) -> Figures:
    """Return recall and precision against the heavy keys, and the mean relative error of all published."""
    heavy = {key for key, count in truth.items() if count >= cut}
    hits = len(heavy & published.keys())
    errors = [abs(value - truth[key]) / truth[key] for key, value in published.items() if key in truth]
    return {
        "heavy": len(heavy),
        "published": len(published),
        "recall": hits / len(heavy) if heavy else 1.0,
        "precision": hits / len(published) if published else 1.0,
        "are": float(np.mean(errors)) if errors else math.nan,
    }


def _options(setting: Setting, mechanism: str, events: int) -> dict[str, Any]:
    return {
        "epsilon": setting.epsilon,
        "delta": DELTA,
        "mechanism": mechanism,
        "max_events": events,
        "allow_large_delta": True,
    }


def _sketch(options: dict[str, Any], tracked: int) -> Any:
    return ReleaseSettings(**options).sketch(tracked)


def _published(sketch: Any, options: dict[str, Any], cut: float) -> Published:
    cut_at = hc.release(sketch, **options).at_least(max(math.ceil(cut), 0))
    return dict(zip(cut_at.keys["key"].to_pylist(), cut_at.counts.to_pylist(), strict=True))


def _counted(
    make: Callable[[int], Any], counters: int, stream: Stream, times: int = TIMED
) -> tuple[Any, Figures]:
    """Count the stream, and return the sketch with CPU microseconds for each update, and its bytes."""
    _fed(make(counters), Stream(stream.keys[:10_000]))  # compiles
    counted = [_fed(make(counters), stream) for _ in range(times)]
    sketch = counted[-1][0]
    parts = sketch if isinstance(sketch, list) else [sketch]
    costs = {
        "microseconds": min(seconds for _, seconds in counted) / len(stream) * 1e6,
        "bytes": float(sum(map(memory, parts))),
    }
    return sketch, costs


def _fed(sketch: Any, stream: Stream) -> tuple[Any, float]:
    """Count keys, and return CPU seconds; several sketches share them by labels drawn beforehand."""
    shares = [(sketch, stream.keys)]
    if isinstance(sketch, list):
        labels = np.random.default_rng(len(stream)).integers(0, len(sketch), len(stream))
        shares = [(each, stream.keys[labels == label]) for label, each in enumerate(sketch)]
    start = process_time()
    for each, keys in shares:
        each.update(keys)
    return sketch, process_time() - start
