"""One Parquet file of text keys: `hushcount top` against DuckDB's exact GROUP BY, two threads each.

The file has 100 million rows (1.3 GB, snappy): Zipf 1.1 over 2^31 keys, text of 8 to 30 characters.
Every run is a process of its own. It reports what its job took once the libraries were loaded; the
parent reports what the whole process took. Before the first run, the file is read once and a small file
has compiled the kernels.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.contenders import THREADS
from benchmarks.worker import ROOT, megabytes

ROWS, QUICK_ROWS = 100_000_000, 10_000_000
ROUNDS, QUICK_ROUNDS = 5, 3
DISTRIBUTION = "zipf 1.1"
COMPRESSION = "snappy"
CHUNK = 1 << 20
COUNTERS = 100_000
FOLDER = Path(__file__).parent / "data"
MEASURES = ("job_wall_s", "job_cpu_s", "process_wall_s", "process_cpu_s", "peak_mb")

Say = Callable[[str], None]


def measure(quick: bool, keep: bool, say: Say) -> dict[str, Any]:
    """Medians of the alternating runs and their ratios."""
    rows, rounds = (QUICK_ROWS, QUICK_ROUNDS) if quick else (ROWS, ROUNDS)
    path = FOLDER / f"contest_{rows}.parquet"
    if not path.exists():
        say(f"writing {rows} rows")
        write(path, rows)
    try:
        _compile_once()
        _read_once(path)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in JOBS}
        for number in range(rounds):
            say(f"Parquet contest, round {number + 1} of {rounds}")
            for name, of_name in runs.items():
                of_name.append(_run(name, path))
        size = path.stat().st_size
    finally:
        if not keep:
            path.unlink()
    about = {"rows": rows, "file_mb": size / 1e6, "compression": COMPRESSION, "counters": COUNTERS}
    return {**about, "rounds": rounds, **_summary(runs)}


def write(path: Path, rows: int) -> None:
    """Write the file a chunk at a time; it appears under its name when it is whole."""
    import pyarrow as pa
    from pyarrow import parquet

    from benchmarks.data import integer_chunks, texts

    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".part")
    schema = pa.schema([("key", pa.string())])
    with parquet.ParquetWriter(unfinished, schema, compression=COMPRESSION) as writer:
        for chunk in integer_chunks(rows, DISTRIBUTION, CHUNK):
            writer.write_table(pa.table({"key": texts(chunk)}))
    unfinished.rename(path)


def _compile_once() -> None:
    path = FOLDER / "contest_small.parquet"
    write(path, QUICK_ROWS // 100)
    try:
        _run("hushcount", path)
    finally:
        path.unlink()


def _read_once(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def _summary(runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    medians = {
        name: {measure: statistics.median(run[measure] for run in of_name) for measure in MEASURES}
        for name, of_name in runs.items()
    }
    for name, of_name in runs.items():
        medians[name]["peak_mb"] = max(run["peak_mb"] for run in of_name)
    ours, theirs = medians["hushcount"], medians["DuckDB exact"]
    ratios = {measure: ours[measure] / theirs[measure] for measure in MEASURES}
    return {"medians": medians, "ratios": ratios, "runs": runs}


def _run(name: str, path: Path) -> dict[str, float]:
    """Run one job in a process of its own on two cores."""
    command = [sys.executable, "-m", "benchmarks.contest", name, str(path)]
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answer = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{name} ended with exit code {process.returncode}.")
    whole = {
        "process_wall_s": time.perf_counter() - start,
        "process_cpu_s": usage.ru_utime + usage.ru_stime,
    }
    return {**json.loads(answer), **whole}


def hushcount(path: str) -> Callable[[], object]:
    """The job `top`, with its kernels loaded."""
    import hushcount as hc

    def top(data: Any, column: str | None) -> object:
        return hc.top(data, column=column, counters=COUNTERS, epsilon=1.0, delta=1e-8)

    top(["warm"] * 100, None)
    return lambda: top(path, "key")


def duckdb(path: str) -> Callable[[], object]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    query = "SELECT key, count(*) FROM read_parquet(?) GROUP BY key ORDER BY 2 DESC LIMIT 1000"
    return lambda: connection.execute(query, [path]).fetchall()


JOBS = {"hushcount": hushcount, "DuckDB exact": duckdb}


def main(name: str, path: str) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    job = JOBS[name](path)
    cpu, wall = time.process_time(), time.perf_counter()
    job()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = megabytes("VmHWM") or float("nan")
    print(json.dumps({"job_cpu_s": cpu, "job_wall_s": wall, "peak_mb": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
