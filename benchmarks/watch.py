"""Closing a period of a watch with many waiting keys: `python -m benchmarks.watch`."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import hushcount as hc
from hushcount.jobs.watch.state import open_state
from hushcount.jobs.watch.watch import Watch
from hushcount.noise.bits import system_bits

MOST_SECONDS, MOST_MEGABYTES = 4, 600


def prepare(folder: Path, waiting: int, events: int) -> None:
    """Make a watch with waiting keys of one to five events, and add events to its open period."""
    hc.Ledger(folder / "spent.db").init("site", epsilon=1, delta=1e-6, slack=0)
    hc.watch(
        folder / "site.hw",
        period="1h",
        start="2026-10-01",
        until="2026-10-31",
        epsilon=1,
        delta=1e-8,
        ledger=folder / "spent.db",
        dataset="site",
    )
    with open_state(folder / "site.hw") as state:
        state.connection.execute(
            "INSERT INTO waiting SELECT 'https://example.org/page/' || i, 1 + i % 5,"
            f" floor(-ln(1 - random()))::BIGINT, 0 FROM range({waiting}) t(i)"
        )
    places = np.random.default_rng(1).integers(0, waiting * 11 // 10, events)
    numbers = pa.array(places).cast(pa.string())
    rows = pa.table({"key": pc.binary_join_element_wise("https://example.org/page", numbers, "/")})
    Watch(folder / "site.hw").add(rows, label="events")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON line; another process prepares, whose memory does not count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--waiting", type=int, default=10_000_000)
    parser.add_argument("--prepare", type=Path)
    asked = parser.parse_args(arguments)
    if asked.prepare:
        prepare(asked.prepare, asked.waiting, asked.events)
        return
    with tempfile.TemporaryDirectory() as folder:
        words = ["--prepare", folder, "--waiting", str(asked.waiting), "--events", str(asked.events)]
        subprocess.run([sys.executable, "-m", "benchmarks.watch", *words], check=True)
        started = time.process_time()
        with open_state(Path(folder, "site.hw")) as state:
            state.close(system_bits())
        seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"close": round(seconds, 2), "MB": megabytes}))
    if seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES:
        sys.exit(f"closing must take at most {MOST_SECONDS} s and {MOST_MEGABYTES} MB")


if __name__ == "__main__":
    main()
