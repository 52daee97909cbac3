"""A simulated year of `hushcount watch` in about a minute: what a shop sells, day by day.

    python examples/watch_year.py build/watch

It makes a ledger, a watch and its feed in that folder, closes 365 days one after the other, and writes a
report. The rows are invented: things of all year, things of a season, a thing that becomes fashionable, and
many rare ones.
"""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice
from pathlib import Path

import numpy as np

import hushcount as hc

FIRST, DAYS = date(2025, 1, 1), 365
ALL_YEAR = {"bread": 60, "milk": 50, "coffee": 40, "soap": 12, "batteries": 5}
SEASONS = {"ice cream": (200, 45), "strawberries": (165, 30), "gloves": (15, 40), "candles": (345, 35)}
MOST = 80  # sales of a seasonal thing on its best day
FASHION, FROM_DAY = "paper kites", 240


def sold(day: int, rng: np.random.Generator) -> list[str]:
    """Return what is sold on a day, one entry for each sale."""
    rates = dict(ALL_YEAR)
    for name, (best, width) in SEASONS.items():
        away = min(abs(day - best), DAYS - abs(day - best))
        rates[name] = MOST * math.exp(-((away / width) ** 2))
    if day >= FROM_DAY:
        rates[FASHION] = 90 * math.exp(-(day - FROM_DAY) / 40)
    rows = [name for name, rate in rates.items() for _ in range(rng.poisson(rate))]
    return rows + [f"special order {number}" for number in rng.integers(0, 4000, 30)]


def days() -> Iterator[tuple[str, list[str]]]:
    """Yield the days of the year with their sales."""
    rng = np.random.default_rng(2025)
    for day in range(DAYS):
        yield (FIRST + timedelta(day)).isoformat(), sold(day, rng)


def main(folder: Path, most: int = DAYS) -> None:
    """Run the year, or its first days, and write the feed and its report."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    hc.Ledger(folder / "spent.db").init("shop", epsilon=1, delta=1e-8, slack=0)
    watch = hc.watch(
        folder / "shop.hw",
        period="1d",
        start="2025-01-01",
        until="2026-01-01",
        levels=["1d", "4w"],
        epsilon=1,
        delta=1e-8,
        ledger=folder / "spent.db",
        dataset="shop",
        retire_below=20,
    )
    for name, rows in islice(days(), most):
        watch.add(rows, label=name)
        watch.close(folder / "feed", f"{name}T00")
        if name.endswith("-01"):
            print(f"{name} is published.", flush=True)
    feed = hc.feed(folder / "feed")
    print(feed.top(10))
    print(feed.top(5, last="28d"))
    feed.report(folder / "report.html")
    print(f"The report is {folder / 'report.html'}: open it in a browser.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/watch"))
