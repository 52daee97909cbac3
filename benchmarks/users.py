"""Tables of users: python -m benchmarks --only users

A Parquet file of 20M rows of 2M users with text keys, at most 8 keys a user, counted exactly on disk, in a
process of its own. Beside it DuckDB counts the different pairs of the same file, without bound and noise, so
that runs on machines of other speed can be compared. Noise: the truncated geometric beside the Laplace
threshold on 499,000 different keys. More rows: python -m benchmarks.users --rows 200000000
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.noise import cpu
from benchmarks.worker import megabytes
from hushcount.mechanisms.histograms.laplace import LaplaceThreshold
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget
from hushcount.shapes import Histogram

ROWS, QUICK_ROWS, USERS_OF_ROWS = 20_000_000, 2_000_000, 10
CHUNK, KEYS, MAX_KEYS = 1 << 20, 1_000_000, 8
DISTINCT, ROUNDS = 499_000, 5
ASKED = {"column": "key", "user": "user", "epsilon": 1.0, "delta": 1e-8}


def measure(quick: bool = False) -> dict[str, Any]:
    """CPU and wall seconds and peak memory of one table, and CPU seconds of noise."""
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "users.parquet"
        write(path, rows)
        found = _process("one_table", path)
        pairs = _process("distinct_pairs", path)
    return {"rows": rows, **found, **pairs, **noise()}


def _process(work: str, path: Path) -> dict[str, Any]:
    """Do some work in a process of its own, and return what it measured."""
    program = f"from benchmarks import users; users.{work}({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def write(path: Path, rows: int) -> None:
    """Write rows of users, uniform, with keys by a Zipf law."""
    generator, users = np.random.default_rng(7), rows // USERS_OF_ROWS
    schema = pa.schema({"user": pa.int64(), "key": pa.string()})
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            keys = [f"key-{key}" for key in (generator.zipf(1.2, count) % KEYS).tolist()]
            table = {"user": generator.integers(0, users, count), "key": keys}
            writer.write_table(pa.table(table, schema=schema))


def noise() -> dict[str, float]:
    """CPU seconds of the two releases of the same exact counts."""
    counts = np.random.default_rng(1).zipf(1.5, DISTINCT)
    shape = Histogram(pa.array(np.arange(DISTINCT)), np.minimum(counts, 10**9))
    kinds = {"truncated_geometric": TruncatedGeometric, "laplace_threshold": LaplaceThreshold}
    made = {name: kind(Budget(1.0, 1e-6)) for name, kind in kinds.items()}
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(ROUNDS + 1):  # the first fills tables
        for name, mechanism in made.items():
            times[name].append(cpu(lambda each=mechanism: each.release(shape, system_bits())))
    return {f"{name}_cpu_s": statistics.median(each[1:]) for name, each in times.items()}


def one_table(path: str) -> None:
    """The work of the process that is measured."""
    import hushcount as hc

    cpu_s, wall_s = time.process_time(), time.perf_counter()
    release = hc.top(path, max_keys=MAX_KEYS, **ASKED)
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    figures = {"cpu_s": cpu_s, "wall_s": wall_s, "peak_mb": megabytes("VmHWM"), "published": len(release)}
    print(json.dumps(figures))


def distinct_pairs(path: str) -> None:
    """The same file in plain DuckDB, with two threads: how many different pairs of user and key it has."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(config={"threads": 2, "memory_limit": "2GB", "temp_directory": folder})
        connection.execute("SET enable_progress_bar = false")  # it would be printed among the figures
        cpu_s = time.process_time()
        query = 'SELECT count(*) FROM (SELECT DISTINCT "user", key FROM read_parquet(?))'
        found = connection.execute(query, [path]).fetchone()
        assert found is not None
        print(json.dumps({"duckdb_pairs": found[0], "duckdb_cpu_s": time.process_time() - cpu_s}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.users")
    parser.add_argument("--rows", type=int, default=ROWS)
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "users.parquet"
        asked = parser.parse_args().rows
        write(file, asked)
        print(json.dumps({"rows": asked, **_process("one_table", file)}))
