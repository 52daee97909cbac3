"""Local protocols against each other, over epsilon and the number of users: python -m experiments.ldp.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from experiments.ldp import figures
from experiments.ldp.methods import METHODS
from experiments.ldp.page import write_page
from experiments.ldp.quality import Campaign, quality

FOLDER = Path(__file__).parent
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEEDS = {100_000: 5, 1_000_000: 3, 10_000_000: 1}
QUICK_EPSILONS = (2.0,)
QUICK_SEEDS = {100_000: 1}


def main(arguments: list[str] | None = None) -> None:
    """Run every method at every epsilon and number of users on both data sets."""
    chosen = _arguments(arguments)
    folder = Path(chosen.folder)
    epsilons, seeds = (QUICK_EPSILONS, QUICK_SEEDS) if chosen.quick else (EPSILONS, SEEDS)
    rows = [
        row(name, users, epsilon, range(repeats))
        for name in ("words", "zipf")
        for users, repeats in seeds.items()
        for epsilon in epsilons
    ]
    results = {"date": time.strftime("%Y-%m-%d"), "rows": [each for group in rows for each in group]}
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    figures.write(results["rows"], folder / "figures")
    write_page(folder)


def row(name: str, users: int, epsilon: float, seeds: Iterable[int]) -> list[dict[str, Any]]:
    """What every method reaches at one setting, the mean of some seeds."""
    found = []
    for method, publish in METHODS.items():
        print(f"{name}, {users:,} users, epsilon {epsilon:g}, {method}", flush=True)
        campaigns = [Campaign(name, users, epsilon, seed) for seed in seeds]
        figures_of = [quality(campaign, publish(campaign)) for campaign in campaigns]
        setting = {"data": name, "users": users, "epsilon": epsilon, "method": method}
        found.append(setting | {"seeds": len(campaigns)} | mean(figures_of))
    return found


def mean(figures_of: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean of every figure over the runs that have it; of the least count, the least."""
    means = {}
    for figure in figures_of[0]:
        values = [each[figure] for each in figures_of if each[figure] is not None]
        pick = min if figure == "least_count" else lambda numbers: sum(numbers) / len(numbers)
        means[figure] = pick(values) if values else None
    return means


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare protocols of the local model.")
    parser.add_argument("--quick", action="store_true", help="one small setting, one seed")
    parser.add_argument("--folder", default=str(FOLDER))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
