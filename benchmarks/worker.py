"""One contender in a process of its own: rounds on demand, and what they add to its memory.

The process prepares the contender named in its argument, then runs one round for every line it
is sent, and answers each with CPU seconds (all threads), wall seconds and peak memory.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.contenders import CONTENDERS, THREADS, Task

ROOT = Path(__file__).parents[1]
STATUS = Path("/proc/self/status")


def megabytes(field: str) -> float | None:
    """VmRSS or VmHWM of this process; unlike ru_maxrss it does not start at the parent's peak."""
    if not STATUS.exists():
        return None
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024 / 1e6


def forget_peak() -> None:
    """Let VmHWM begin anew, where the system allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


class Worker:
    """The parent's side: a running process for one task."""

    def __init__(self, task: Task) -> None:
        environment = {**os.environ, "POLARS_MAX_THREADS": str(THREADS)}
        command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asdict(task))]
        self.task = task
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._answer()

    def round(self) -> dict[str, Any]:
        """Run once."""
        assert self._process.stdin is not None
        print("run", file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.task.contender} ended with exit code {self._process.wait()}.")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def workers(tasks: list[Task]) -> Iterator[list[Worker]]:
    """Processes for tasks, ended together."""
    started: list[Worker] = []
    try:
        for task in tasks:
            started.append(Worker(task))
        yield started
    finally:
        for worker in started:
            worker.close()


def main(task: Task) -> None:
    run = CONTENDERS[task.contender](task)
    gc.collect()
    forget_peak()
    before = megabytes("VmRSS")
    print("{}", flush=True)
    for _ in sys.stdin:
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = megabytes("VmHWM")
        added = None if peak is None or before is None else peak - before
        print(json.dumps({"cpu_s": cpu, "wall_s": wall, "added_mb": added, "peak_mb": peak}), flush=True)


if __name__ == "__main__":
    main(Task(**json.loads(sys.argv[1])))
