"""Small tables: the program on a file of ten lines, and `hc.top` of a few keys in a process that goes on."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.worker import ROOT

PROGRAMS, CALLS = 7, 200
KEYS = ["tea", "milk", "tea", "water"] * 50
LINES = "tea\nmilk\ntea\nwater\ntea\n" * 2


def measure() -> dict[str, float]:
    """Medians: CPU seconds of the program, and CPU milliseconds of a call after the first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "keys.txt"
        path.write_text(LINES)
        programs = [_program(path) for _ in range(PROGRAMS + 1)][1:]  # the first writes bytecode
    return {"program_cpu_s": statistics.median(programs), "call_cpu_ms": 1e3 * statistics.median(_calls())}


def _program(path: Path) -> float:
    """CPU seconds of `hushcount top` from its start to its end, with bytecode as an installation has it."""
    command = [sys.executable, "-m", "hushcount", "top", str(path), "--epsilon", "1", "--delta", "1e-6"]
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(path.parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with subprocess.Popen(
        [*command, "--quiet"], cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"hushcount ended with exit code {process.returncode}.")
    return usage.ru_utime + usage.ru_stime


def _calls() -> list[float]:
    """CPU seconds of each call."""
    import hushcount as hc

    taken = []
    for _ in range(CALLS + 1):
        before = time.process_time()
        hc.top(KEYS, epsilon=1, delta=1e-6)
        taken.append(time.process_time() - before)
    return taken[1:]
