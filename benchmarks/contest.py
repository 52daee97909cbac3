"""A Parquet file of text keys: `hushcount top` against DuckDB's exact GROUP BY, two threads each.

The first file has 100 million rows (1.3 GB, snappy): Zipf 1.1 over 2^31 keys, text of 8 to 30 characters. The
second has 20 million rows of 170,000 such terms, which Parquet stores as codes; they are counted with the
default number of counters, fewer than terms, so that keys are evicted.
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
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.contenders import THREADS
from benchmarks.worker import ROOT, megabytes

if TYPE_CHECKING:
    from benchmarks.data import Integers

ROWS, QUICK_ROWS = 100_000_000, 10_000_000
TERM_ROWS, QUICK_TERM_ROWS, TERMS = 20_000_000, 5_000_000, 170_000
ROUNDS, QUICK_ROUNDS = 5, 3
DISTRIBUTION = "zipf 1.1"
COMPRESSION = "snappy"
CHUNK = 1 << 20
WARM = 20_000  # rows of a file that loads kernels
DICTIONARY = 1 << 23  # bytes of a dictionary of terms; by default pyarrow gives it up at a megabyte
COUNTERS, TERM_COUNTERS = 100_000, 131_072
FOLDER = Path(__file__).parent / "data"
MEASURES = ("job_wall_s", "job_cpu_s", "process_wall_s", "process_cpu_s", "peak_mb")

Say = Callable[[str], None]


def measure(quick: bool, keep: bool, say: Say) -> dict[str, Any]:
    """Medians of the alternating runs and their ratios."""
    from benchmarks.data import integer_chunks

    rows, rounds = (QUICK_ROWS, QUICK_ROUNDS) if quick else (ROWS, ROUNDS)
    path = FOLDER / f"contest_{rows}.parquet"
    if not path.exists():
        say(f"writing {rows} rows")
        write(path, integer_chunks(rows, DISTRIBUTION, CHUNK))
    return _contest(path, rows, COUNTERS, (rounds, keep, say))


def measure_terms(quick: bool, say: Say) -> dict[str, Any]:
    """The same for rows that share their terms."""
    rows, rounds = (QUICK_TERM_ROWS, QUICK_ROUNDS) if quick else (TERM_ROWS, ROUNDS)
    path = FOLDER / f"terms_{rows}.parquet"
    write(path, terms(rows), DICTIONARY)
    return _contest(path, rows, TERM_COUNTERS, (rounds, False, say))


def terms(rows: int) -> Iterator[Integers]:
    """Zipf 1.1 over so few keys that Parquet keeps a dictionary of them."""
    import numpy as np

    from benchmarks.data import scrambled, zipf

    generator = np.random.default_rng(1)
    for start in range(0, rows, CHUNK):
        yield scrambled(zipf(generator, min(CHUNK, rows - start), 1.1, TERMS))


def _contest(path: Path, rows: int, counters: int, how: tuple[int, bool, Say]) -> dict[str, Any]:
    """Let the programs take turns with one file."""
    rounds, keep, say = how
    try:
        _compile_once()
        _read_once(path)
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in JOBS}
        for number in range(rounds):
            say(f"{path.name}, round {number + 1} of {rounds}")
            for name, of_name in runs.items():
                of_name.append(_run(name, path, counters))
        size = path.stat().st_size
    finally:
        if not keep:
            path.unlink()
    about = {"rows": rows, "file_mb": size / 1e6, "compression": COMPRESSION, "counters": counters}
    return {**about, "rounds": rounds, **_summary(runs)}


def write(path: Path, chunks: Iterator[Integers], dictionary: int = 1 << 20) -> None:
    """Write the file a chunk at a time; it appears under its name when it is whole."""
    import pyarrow as pa
    from pyarrow import parquet

    from benchmarks.data import texts

    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(".part")
    schema = pa.schema([("key", pa.string())])
    with parquet.ParquetWriter(
        unfinished, schema, compression=COMPRESSION, dictionary_pagesize_limit=dictionary
    ) as writer:
        for chunk in chunks:
            writer.write_table(pa.table({"key": texts(chunk)}))
    unfinished.rename(path)


def _compile_once() -> None:
    from benchmarks.data import integer_chunks

    path = FOLDER / "contest_small.parquet"
    write(path, integer_chunks(QUICK_ROWS // 100, DISTRIBUTION, CHUNK))
    try:
        _run("hushcount", path, COUNTERS)
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


def _run(name: str, path: Path, counters: int) -> dict[str, float]:
    """Run one job in a process of its own on two cores."""
    command = [sys.executable, "-m", "benchmarks.contest", name, str(path), str(counters)]
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


def hushcount(path: str, counters: int) -> Callable[[], object]:
    """The job `top`, with its kernels loaded."""
    import hushcount as hc

    def top(data: Any, column: str | None, counters: int) -> object:
        return hc.top(data, column=column, counters=counters, epsilon=1.0, delta=1e-8)

    top(["warm"] * 5000, None, counters)  # fewer rows would be counted without kernels
    if Path(path).name.startswith("terms"):
        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder) / "small.parquet"
            write(small, iter([next(terms(CHUNK))[:WARM]]), DICTIONARY)
            for number in (counters, WARM // 100):  # all keys have room, or some are evicted
                top(small, "key", number)
    return lambda: top(path, "key", counters)


def duckdb(path: str, counters: int) -> Callable[[], object]:
    """Exact counts, which need no number of counters."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    query = "SELECT key, count(*) FROM read_parquet(?) GROUP BY key ORDER BY 2 DESC LIMIT 1000"
    return lambda: connection.execute(query, [path]).fetchall()


JOBS = {"hushcount": hushcount, "DuckDB exact": duckdb}


def main(name: str, path: str, counters: str) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    job = JOBS[name](path, int(counters))
    cpu, wall = time.process_time(), time.perf_counter()
    job()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = megabytes("VmHWM") or float("nan")
    print(json.dumps({"job_cpu_s": cpu, "job_wall_s": wall, "peak_mb": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
