"""Publish a day of page views: `python -m experiments.pageviews.run`. It takes some minutes."""

from __future__ import annotations

import argparse
import datetime
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from experiments.pageviews.day import Day
from experiments.pageviews.page import page

import hushcount as hc

# What Wikimedia publishes of its release by country, project and page: how many pages of a device and day
# count, the budget of zero-concentrated differential privacy, and the least noisy count that is released.
FIRST, RHO, THRESHOLD = 10, 0.015, 90
DELTA = 1e-9
KEY = ("country", "project", "page")


def command(path: Path, out: Path) -> list[str]:
    """Return the one command that publishes the day."""
    columns = [part for name in KEY for part in ("--column", name)]
    budget = ["--user", "device", "--max-keys", str(FIRST), "--rho", str(RHO), "--delta", str(DELTA)]
    return ["hushcount", "top", str(path), *columns, *budget, "--output", str(out)]


def published(path: Path, folder: Path) -> tuple[hc.Release, dict[str, float]]:
    """Run the command, and return the release and what it took."""
    out = folder / "release.json"
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", *command(path, out)], check=True, capture_output=True)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - started
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return hc.read_release(out), {"cpu_s": cpu, "wall_s": wall, "peak_mb": after.ru_maxrss * 1024 / 1e6}


def true_counts(path: Path) -> pa.Table:
    """Return for every key how many devices have it, and how many do if each has at most FIRST keys."""
    keys = ", ".join(KEY)
    bounded = f"""
        WITH pairs AS (SELECT DISTINCT device, {keys} FROM '{path}'), placed AS (SELECT *, row_number() OVER
        (PARTITION BY device ORDER BY hash(device, {keys})) AS place FROM pairs) SELECT {keys}, count(*) AS
        devices, count(*) FILTER (place <= {FIRST}) AS kept FROM placed GROUP BY {keys}
    """
    return duckdb.sql(bounded).to_arrow_table()


def enumerated(true: pa.Table, possible: int) -> dict[str, Any]:
    """Simulate the published parameters: Gaussian noise on every possible key, and a threshold."""
    generator, kept = np.random.default_rng(1), true["kept"].to_numpy()
    sigma = math.sqrt(FIRST / (2 * RHO))
    noisy = kept + generator.normal(0, sigma, len(kept))
    empty = generator.binomial(possible - len(kept), math.erfc(THRESHOLD / sigma / math.sqrt(2)) / 2)
    shown = noisy >= THRESHOLD
    return {
        "sigma": sigma,
        "threshold": THRESHOLD,
        "drawn": possible,
        **judged(true, shown, noisy, int(empty)),
    }


def judged(true: pa.Table, shown: np.ndarray, noisy: np.ndarray, empty: int) -> dict[str, Any]:
    """Return how many rows there are, and which shares are missing, of no device, and wrong.

    Missing are keys that THRESHOLD devices have after the bound; the error is against the devices before it.
    """
    frequent, devices = true["kept"].to_numpy() >= THRESHOLD, true["devices"].to_numpy()
    return {
        "published": int(shown.sum()) + empty,
        "dropped": float((frequent & ~shown).sum() / frequent.sum()),
        "spurious": empty / (int(shown.sum()) + empty),
        "error": float(np.median(np.abs(noisy - devices)[shown] / devices[shown])),
    }


def ours(release: hc.Release, true: pa.Table) -> dict[str, Any]:
    """Return the same of the release."""
    counts = dict(
        zip(
            map(tuple, release.keys.select(KEY).to_pandas().to_numpy()),
            release.counts.to_pylist(),
            strict=True,
        )
    )
    keys = [tuple(row) for row in zip(*(true[name].to_pylist() for name in KEY), strict=True)]
    shown = np.array([key in counts for key in keys])
    noisy = np.array([counts.get(key, 0) for key in keys])
    parameters = release.guarantee.parameters
    found = {name: parameters[name] for name in ("sigma", "threshold") if name in parameters}
    empty = len(counts) - int(shown.sum())
    return {**found, "drawn": len(keys), **judged(true, shown, noisy, empty)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the day, publish it in both ways, and write results and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=Day.devices)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args(arguments)
    day = Day(devices=asked.devices)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "views.parquet"
        rows = day.write(path)
        release, took = published(path, Path(name))
        true = true_counts(path)
    results = {
        "date": datetime.date.today().isoformat(),
        "day": asdict(day) | {"possible": day.possible, "rows": rows, "keys": len(true)},
        "asked": {"first": FIRST, "rho": RHO, "delta": DELTA, "threshold": THRESHOLD},
        "command": " ".join(command(Path("views.parquet"), Path("release.json"))),
        "frequent": int((true["kept"].to_numpy() >= THRESHOLD).sum()),
        "took": took,
        "rows": {"every possible key": enumerated(true, day.possible), "hushcount": ours(release, true)},
    }
    asked.folder.mkdir(exist_ok=True)
    (asked.folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (asked.folder / "README.md").write_text(page(results))


if __name__ == "__main__":
    main()
