"""Trees: python -m benchmarks --only hierarchy

Streaming: events per CPU second, times the height, as a share of the rate of SpaceSaving on the same keys
with as many counters. Offline: a file of 10M flows, about 1M distinct addresses, at height 32, in a process
of its own. Calibration: the longest paths that are promised, cold.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from experiments.hierarchy.flows import addresses
from pyarrow import parquet

from benchmarks.worker import megabytes
from hushcount.mechanisms.hierarchy.chains import calibrate
from hushcount.privacy import Budget
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.levels import HierarchySketch

EVENTS, TEXTS, COUNTERS, ROUNDS = 4_000_000, 1_000_000, 4096, 3
LONGEST = 129  # tests of a path of height 128
THRESHOLD = 10_000


def measure(quick: bool = False) -> dict[str, Any]:
    """All figures."""
    flows = 1_000_000 if quick else 10_000_000
    return {"streaming": streaming(quick), "offline": offline(flows), "calibration_s": calibration()}


def streaming(quick: bool) -> dict[str, dict[str, float]]:
    """The share of the SpaceSaving rate, times the height, for each hierarchy."""
    numbers = pa.array(addresses(EVENTS // 4 if quick else EVENTS))
    names = pa.array(domain_names(TEXTS // 4 if quick else TEXTS))
    found = {}
    texts = (("domain/4", names), ("path/4", slashed(names)), ("ipv6/8", ipv6_addresses(len(names))))
    for hierarchy, keys in (("ipv4/8", numbers), ("ipv4/1", numbers), *texts):
        height = HierarchySketch(hierarchy, 2).hierarchy.height
        alone = _seconds(lambda keys=keys: SpaceSaving(COUNTERS).update(keys))
        tree = _seconds(lambda name=hierarchy, keys=keys: HierarchySketch(name, COUNTERS).update(keys))
        rates = {"m_events_s": len(keys) / tree / 1e6, "space_saving_m_events_s": len(keys) / alone / 1e6}
        found[hierarchy] = {"height": height, **rates, "share_times_height": height * alone / tree}
    return found


def domain_names(count: int) -> list[str]:
    """Names of three or four parts, a Zipf law in each."""
    random = np.random.default_rng(3)
    parts = [random.zipf(1.3, count) % size for size in (40, 20_000, 500)]
    return [f"h{host}.site{site}.tld{top}" for top, site, host in zip(*parts, strict=True)]


def slashed(names: pa.Array) -> pa.Array:
    """The same names as paths, with a file at the end."""
    return pc.binary_join_element_wise("", pc.replace_substring(names, ".", "/"), "index.html", "/")


def ipv6_addresses(count: int) -> pa.Array:
    """Addresses of a few thousand networks as text, a Zipf law in networks and hosts."""
    random = np.random.default_rng(5)
    networks, hosts = random.zipf(1.3, count) % 3000, random.zipf(1.2, count) % 50_000
    pairs = zip(networks.tolist(), hosts.tolist(), strict=True)
    return pa.array([f"2001:db8:{network:x}:{network % 17:x}::{host:x}" for network, host in pairs])


def calibration() -> float:
    """CPU seconds for the longest paths."""
    start = time.process_time()
    calibrate(LONGEST, Budget(1.0, 1e-6))
    return time.process_time() - start


def offline(flows: int) -> dict[str, float]:
    """Wall and CPU seconds and peak memory of one tree of a Parquet file at height 32."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flows.parquet"
        parquet.write_table(pa.table({"source": addresses(flows)}), path)
        command = [sys.executable, "-m", "benchmarks.hierarchy", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return {"flows": flows, **figures}


def one_tree(path: str) -> None:
    """The work of the process that is measured."""
    import hushcount as hc

    hc.tree([1], hierarchy="ipv4/1", threshold=THRESHOLD, epsilon=1.0, delta=1e-8)  # compiles
    cpu, wall = time.process_time(), time.perf_counter()
    tree = hc.tree(path, column="source", hierarchy="ipv4/1", threshold=THRESHOLD, epsilon=1.0, delta=1e-8)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    figures = {"cpu_s": cpu, "wall_s": wall, "peak_mb": megabytes("VmHWM"), "published": len(tree)}
    print(json.dumps(figures))


def _seconds(call: Callable[[], Any]) -> float:
    times = []
    for _ in range(ROUNDS + 1):  # the first compiles
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


if __name__ == "__main__":
    one_tree(sys.argv[1])
