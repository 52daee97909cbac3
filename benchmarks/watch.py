"""Closing a period of a watch with many waiting keys, and reading a year: `python -m benchmarks.watch`."""

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
import pyarrow.parquet as pq

import hushcount as hc
from hushcount.jobs.watch.feed_files import FeedWriter
from hushcount.jobs.watch.state import open_state
from hushcount.jobs.watch.terms import WatchTerms
from hushcount.jobs.watch.watch import Watch
from hushcount.noise.bits import system_bits

MOST_SECONDS, MOST_MEGABYTES = 4, 600
MOST_READING = 2  # seconds in which a year of hours is read and summed
KEYS = 1000
PARTS = ("close", "users", "feed")
YEAR = "1h", "2025-10-01", "2026-10-01"


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


def prepare_users(folder: Path, pairs: int, rows: int) -> None:
    """Make a watch in which so many pairs of user and key have counted, and a file of rows to be added."""
    hc.Ledger(folder / "spent.db").init("site", epsilon=1, delta=1e-6, slack=0, unit="user")
    terms = {"ledger": folder / "spent.db", "dataset": "site", "epsilon": 1, "delta": 1e-8}
    users = {"column": "url", "user": "id", "max_pairs": 8}
    hc.watch(folder / "site.hw", period="1h", start="2025-10-01", until="2026-10-01", **terms, **users)
    with open_state(folder / "site.hw") as state:
        state.connection.execute(
            "INSERT INTO seen SELECT i // 5, 'https://example.org/page/' || hash(i) % 1000000"
            f" FROM range({pairs}) t(i)"
        )
    draw = np.random.default_rng(1)
    owners = pa.array(draw.integers(0, pairs // 4, rows))
    keys = pa.array(draw.integers(0, 1_000_000, rows)).cast(pa.string())
    urls = pc.binary_join_element_wise("https://example.org/page", keys, "/")
    pq.write_table(pa.table({"id": owners, "url": urls}), folder / "rows.parquet")


def write_year(folder: Path) -> None:
    """Write the feed of a year of hours: all keys enter in the first one and are then always known."""
    terms = WatchTerms(*YEAR, 1.0, 1e-8, "", "site", levels=("1h", "1d", "30d"))
    writer, levels, gate = FeedWriter(folder, terms), terms.watching.levels, terms.watching.gate
    keys = pa.array([f"https://example.org/page/{each:05}" for each in range(KEYS)])
    draw = np.random.default_rng(1)

    def rows(kind: str, level: int | None, start: int, stop: int) -> pa.Table:
        values = {"kind": kind, "level": level, "start": start, "value": None, "stop": stop, "partial": False}
        table = pa.table({"k0": keys, **{name: pa.array([each] * KEYS) for name, each in values.items()}})
        counts = pa.array(
            draw.poisson(40, KEYS) * (stop - start) + (0 if level is not None else gate.tau), pa.int64()
        )
        return table.set_column(4, "value", counts).set_column(
            2, "level", pa.array([level] * KEYS, pa.int64())
        )

    writer.write(0, rows("entry", None, 0, 1))
    for place in range(1, terms.calendar.periods):
        ended = [rows("node", node.level, max(node.start, 1), node.stop) for node in levels.ending(place)]
        writer.write(place, pa.concat_tables(ended).sort_by("k0"))


def read_year(folder: Path) -> float:
    """Return the seconds of processor time in which a table of the whole year is made."""
    started = time.process_time()
    table = hc.feed(folder).top(10)
    seconds = time.process_time() - started
    assert len(table) == 10
    return seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print one JSON line; another process prepares, whose memory does not count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--waiting", type=int, default=10_000_000)
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args(arguments)
    if asked.prepare:
        if asked.only == "feed":
            write_year(asked.prepare / "feed")
        elif asked.only == "users":
            prepare_users(asked.prepare, asked.waiting, asked.events)
        else:
            prepare(asked.prepare, asked.waiting, asked.events)
        return
    found: dict[str, float] = {}
    for part in PARTS:
        if asked.only in (None, part):
            with tempfile.TemporaryDirectory() as folder:
                words = ["--prepare", folder, "--waiting", str(asked.waiting), "--events", str(asked.events)]
                command = [sys.executable, "-m", "benchmarks.watch", *words, "--only", part]
                subprocess.run(command, check=True)
                found |= measured(part, Path(folder))
    print(json.dumps(found))
    if found.get("close", 0) > MOST_SECONDS or found.get("MB", 0) > MOST_MEGABYTES:
        sys.exit(f"closing must take at most {MOST_SECONDS} s and {MOST_MEGABYTES} MB")
    if found.get("feed", 0) > MOST_READING:
        sys.exit(f"a year of hours must be read and summed in at most {MOST_READING} s")


def measured(part: str, folder: Path) -> dict[str, float]:
    """Return what closing a period, or reading a feed, takes."""
    if part == "feed":
        return {"feed": round(read_year(folder / "feed"), 2)}
    started = time.process_time()
    if part == "users":
        Watch(folder / "site.hw").add(folder / "rows.parquet")
    else:
        with open_state(folder / "site.hw") as state:
            state.close(system_bits())
    seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    names = ("add of users", "MB of users") if part == "users" else ("close", "MB")
    return dict(zip(names, (round(seconds, 2), megabytes), strict=True))


if __name__ == "__main__":
    main()
