"""What every program here does: run one task on a file, write what it publishes, wait to be measured.

A program is run as `python PROGRAM TASK FILE OUT EPSILON DELTA MAX_KEYS` by an interpreter that has its
library, and perhaps nothing else. It writes JSON with the mechanism, the keys and the counts (null for keys
only). Then it prints one line and waits for another, so that its processor time and memory are read while
all its processes still live.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """The data and the budget."""

    path: str
    epsilon: float
    delta: float
    max_keys: int


@dataclass(frozen=True)
class Published:
    """What a library published, and the version and mechanism that made it."""

    version: str
    mechanism: str
    keys: list[str]
    counts: list[float] | None


def serve(tasks: dict[str, Callable[[Asked], Published]]) -> None:
    """Run the task of the command line."""
    task, path, out, epsilon, delta, max_keys = sys.argv[1:]
    published = tasks[task](Asked(path, float(epsilon), float(delta), int(max_keys)))
    Path(out).write_text(json.dumps(vars(published)))
    print("done", flush=True)
    sys.stdin.readline()
