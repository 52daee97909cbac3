"""One release of one stream, and how good, large and fast it was."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from experiments.linear.streams import Stream

from hushcount.jobs.release import release
from hushcount.jobs.settings import ReleaseSettings

METHODS = ("floor", "count-min-envelope", "count-sketch-envelope")


@dataclass(frozen=True)
class Setting:
    """The public length bound, the size, what is heavy, and the budget."""

    events: int
    counters: int
    share: int
    epsilon: float
    delta: float


def compare(method: str, stream: Stream, setting: Setting) -> dict[str, Any]:
    """Release by a method; rows below the public bar events / share are cut, which costs nothing."""
    options: dict[str, Any] = {
        "epsilon": setting.epsilon,
        "delta": setting.delta,
        "mechanism": method,
        "max_events": setting.events,
    }
    asked = ReleaseSettings(**options)
    feed(asked.sketch(setting.counters), method, stream, 10_000)  # compiles
    sketch = asked.sketch(setting.counters)
    updating = cpu(lambda: feed(sketch, method, stream, len(stream.keys)))
    found: list[Any] = []
    releasing = cpu(lambda: found.append(release(sketch, **options)))
    bar = setting.events // setting.share
    return {
        "method": method,
        "published": len(found[0]),
        **quality(found[0].at_least(bar), stream.truth, bar),
        "memory_mb": memory(sketch) / 1e6,
        "m_updates_s": len(stream.keys) / updating / 1e6,
        "release_s": releasing,
    }


def feed(sketch: Any, method: str, stream: Stream, events: int) -> None:
    """Count a stream; counters cannot delete, so the floor release sees its additions only."""
    keys, weights = stream.keys[:events], stream.weights[:events]
    step = 1 << 17
    for start in range(0, len(keys), step):
        part, signs = keys[start : start + step], weights[start : start + step]
        if method == "floor":
            sketch.update(part[signs > 0])
        elif (signs > 0).all():
            sketch.update(part)
        else:
            sketch.update(part, weights=signs)


def quality(release: Any, truth: dict[int, int], bar: int) -> dict[str, float]:
    """Recall and precision against the keys at or above the bar, and the relative error of those found."""
    heavy = {key for key, count in truth.items() if count >= bar}
    rows = dict(zip(release.keys["key"].to_pylist(), release.counts.to_pylist(), strict=True))
    hits = heavy & rows.keys()
    errors = [abs(rows[key] - truth[key]) / truth[key] for key in hits]
    return {
        "heavy": len(heavy),
        "recall": len(hits) / len(heavy) if heavy else 1.0,
        "precision": len(hits) / len(rows) if rows else 1.0,
        "relative_error": float(np.mean(errors)) if errors else 0.0,
    }


def memory(part: Any) -> int:
    """Bytes of all arrays that an object holds."""
    if isinstance(part, np.ndarray):
        return int(part.nbytes)
    if isinstance(part, tuple):
        return sum(map(memory, part))
    if type(part).__module__.startswith("hushcount"):
        names = [*getattr(part, "__dict__", ()), *getattr(part, "__slots__", ())]
        return sum(memory(getattr(part, name, None)) for name in names)
    return 0


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start
