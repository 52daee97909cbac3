"""Run the comparison: `python -m experiments.continual.run`. It takes some minutes."""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from experiments.continual.page import page, picture
from experiments.continual.year import Toeplitz, Year, covered, measured, nights, watch
from tests.seeded_bits import SeededBits

from hushcount.privacy import Budget


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, publish in three ways, and write results, page and picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=36_500_000)
    parser.add_argument("--places", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args(arguments)
    year, budget = Year(asked.events, asked.places, asked.days, seed=24), Budget(1.0, 1e-8)
    stream = year.stream()
    totals = np.zeros(2 * year.places, np.int64)
    for keys, events in stream:
        totals[keys] += events
    started = time.process_time()
    feed, summed = watch(year, stream, budget, SeededBits(1))
    seconds = time.process_time() - started
    toeplitz = Toeplitz.of(budget, year.days)
    rows = {
        "disjoint nights": measured(nights(year, stream, budget, SeededBits(2)), totals),
        "sqrt-Toeplitz": measured(toeplitz.publish(totals, np.random.default_rng(3)), totals),
        "gate and levels": measured(feed, totals),
    }
    results = {
        "settings": asdict(year) | {"epsilon": budget.epsilon, "delta": budget.delta},
        "date": datetime.date.today().isoformat(),
        "events": int(totals.sum()),
        "keys": int((totals > 0).sum()),
        "frequent": int((totals >= 50).sum()),
        "covered": covered(summed, totals, budget, year.days),
        "seconds": round(seconds, 1),
        "rows": rows,
    }
    asked.folder.mkdir(exist_ok=True)
    (asked.folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (asked.folder / "README.md").write_text(page(results))
    (asked.folder / "year.svg").write_text(picture(results))


if __name__ == "__main__":
    main()
