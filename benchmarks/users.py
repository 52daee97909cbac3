"""Tables of users: python -m benchmarks --only users

A Parquet file of 20M rows of 2M users with text keys, at most 8 keys a user, counted exactly on disk, in a
process of its own. Noise: the truncated geometric beside the Laplace threshold on 499,000 different keys.
"""

from __future__ import annotations

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
        command = [sys.executable, "-m", "benchmarks.users", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"rows": rows, **json.loads(done.stdout), **noise()}


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


if __name__ == "__main__":
    one_table(sys.argv[1])
