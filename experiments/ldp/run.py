"""Local protocols against each other, over epsilon and the number of users: python -m experiments.ldp.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from experiments.ldp import figures
from experiments.ldp.methods import METHODS, Published
from experiments.ldp.page import write_page
from experiments.ldp.quality import Campaign, quality

FOLDER = Path(__file__).parent
# Data sets, epsilons, and how many seeds for each number of users.
FULL = (("words", "zipf"), (0.5, 1.0, 2.0, 4.0), {100_000: 3, 1_000_000: 2, 10_000_000: 1})
QUICK = (("zipf",), (2.0,), {100_000: 1})


def main(arguments: list[str] | None = None) -> None:
    """Run every method at every epsilon and number of users on both data sets."""
    chosen = _arguments(arguments)
    path = Path(chosen.folder) / "results.json"
    names, epsilons, seeds = QUICK if chosen.quick else FULL
    kept = json.loads(path.read_text())["rows"] if chosen.only and path.exists() else []
    rows = []
    for name, users, epsilon, method in product(names, seeds, epsilons, METHODS):
        setting = {"data": name, "users": users, "epsilon": epsilon, "method": method}
        if chosen.only and method not in chosen.only:
            rows += [row for row in kept if setting.items() <= row.items()]
        else:
            rows.append(setting | reached(METHODS[method], Campaign(name, users, epsilon, 0), seeds[users]))
    path.write_text(json.dumps({"date": time.strftime("%Y-%m-%d"), "rows": rows}, indent=1) + "\n")
    figures.write(rows, path.parent / "figures")
    write_page(path.parent)


def reached(publish: Callable[[Campaign], Published], campaign: Campaign, seeds: int) -> dict[str, Any]:
    """What a method reaches in a campaign, the mean of some seeds."""
    campaigns = [replace(campaign, seed=seed) for seed in range(seeds)]
    found = mean([quality(each, publish(each)) for each in campaigns])
    print(campaign, {figure: found[figure] for figure in ("precision", "recall")}, flush=True)
    return {"seeds": seeds} | found


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
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD", help="keep the rows of the others")
    parser.add_argument("--folder", default=str(FOLDER))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
