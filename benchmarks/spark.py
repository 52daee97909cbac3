"""Exact counts on Spark: python -m benchmarks --only spark

20M rows of whole numbers by a Zipf-like law in Parquet, on local[2]: `hc.top` of the frame in turn with what
Spark needs to count the same keys and to hand the counts over as Arrow data (groupBy, count, toArrow). CPU
time is that of all processes: this one, Java, and workers of Python if there are any.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROWS, QUICK_ROWS, LARGEST_KEY = 20_000_000, 2_000_000, 1e6
ROUNDS = 5
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
}


def measure(quick: bool = False) -> dict[str, Any]:
    """CPU and wall seconds of both, and their ratios: medians of rounds in turn, in a process of its own."""
    rows = QUICK_ROWS if quick else ROWS
    program = f"from benchmarks import spark; spark.rounds({rows})"
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def rounds(rows: int) -> None:
    """The work of the process that is measured."""
    import hushcount as hc

    with tempfile.TemporaryDirectory() as folder:
        session = _session(folder)
        frame = _events(session, rows, Path(folder))
        contenders: dict[str, Callable[[], object]] = {
            "plain": lambda: frame.groupBy("key").count().toArrow(),
            "hushcount": lambda: hc.top(frame, column="key", epsilon=1.0, delta=1e-10),
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for _ in range(ROUNDS + 2):  # in the first two Java compiles what runs often
            for name, run in contenders.items():
                cpu_s, wall_s = cpu(), time.perf_counter()
                run()
                times[name].append((cpu() - cpu_s, time.perf_counter() - wall_s))
        session.stop()
    found: dict[str, float] = {"rows": rows}
    for place, unit in enumerate(("cpu_s", "wall_s")):
        for name, each in times.items():
            found[f"{name}_{unit}"] = statistics.median(one[place] for one in each[2:])
        found[f"ratio_{unit}"] = found[f"hushcount_{unit}"] / found[f"plain_{unit}"]
    print(json.dumps(found))


def cpu() -> float:
    """CPU seconds of this process and of all below it."""
    this = psutil.Process()
    spent = [process.cpu_times() for process in [this, *this.children(recursive=True)]]
    return sum(each.user + each.system for each in spent)


def _session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder = SparkSession.builder.master("local[2]").appName("benchmarks")
    for name, value in {**SETTINGS, "spark.local.dir": folder}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def _events(session: Any, rows: int, folder: Path) -> Any:
    """Write and read keys 1, 2, ... with frequencies like log(1 + 1/key), functions of the row number."""
    from pyspark.sql import functions

    uniform = functions.xxhash64("id").bitwiseAND((1 << 53) - 1) / float(1 << 53)
    key = functions.floor(functions.pow(functions.lit(LARGEST_KEY), uniform)).alias("key")
    session.range(0, rows, numPartitions=8).select(key).write.parquet(str(folder / "events"))
    return session.read.parquet(str(folder / "events"))
