"""Processor time and memory of a program and everything it started, read while all of it is alive."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "programs"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """What a program published, and what it took."""

    published: dict[str, Any]
    cpu_s: float
    wall_s: float
    peak_mb: float


class ProgramError(Exception):
    """A program that ended without a result, with the last line that it wrote."""


def run(python: Path, program: str, task: str, asked: list[str], limit: float) -> Run:
    """Run a program to its result, for at most `limit` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "published.json", Path(folder) / "errors"
        path, *budget = asked
        command = [str(python), str(PROGRAMS / program), task, path, str(out), *budget]
        start = time.perf_counter()
        with (
            errors.open("w") as told,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True
            ) as process,
        ):
            timer = threading.Timer(limit, process.kill)
            timer.start()
            assert process.stdout is not None
            said = any(line == "done\n" for line in process.stdout)
            wall = time.perf_counter() - start
            timer.cancel()
            if not said:
                process.wait()
                raise ProgramError(f"more than {limit:g} s" if wall >= limit else last_line(errors))
            family = tree(process.pid)
            cpu, peak = sum(map(cpu_seconds, family)), sum(map(peak_mb, family))
            process.communicate("\n")
        return Run(json.loads(out.read_text()), cpu, wall, peak)


def last_line(path: Path) -> str:
    """Return the last line of a file that is not empty."""
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    return lines[-1] if lines else "no result"


def tree(pid: int) -> list[int]:
    """Return a process and its descendants."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    threads = [path for path in Path(f"/proc/{pid}/task").iterdir() if path.name != str(pid)]
    for thread in threads:
        children += (thread / "children").read_text().split()
    return [pid, *(each for child in children for each in tree(int(child)))]


def cpu_seconds(pid: int) -> float:
    """Return user and system time of a process and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def peak_mb(pid: int) -> float:
    """Return the most memory that a process held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6
