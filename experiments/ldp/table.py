"""What the protocols must reach, means of ten campaigns of ten million: python -m experiments.ldp.table

Writes required.json and README.md beside this file, or where --folder says; fails if a bound does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.ldp.page import write_page
from experiments.ldp.products import PRODUCTS, simulate
from experiments.ldp.quality import Campaign, quality
from experiments.ldp.run import FOLDER, mean

USERS = 10_000_000
SEEDS = 10
LEAST_COUNT = 0.5  # in units of tau: of no published item the true count is lower
SERVER_SECONDS = 5.0  # of CPU, for the reports of all users


@dataclass(frozen=True)
class Bound:
    """Least mean precision and recall of a method on a data set."""

    method: str
    data: str
    epsilon: float
    precision: float
    recall: float


BOUNDS = (
    Bound("TreeHist", "words", 2.0, 0.95, 0.96),
    Bound("TreeHist", "zipf", 2.0, 0.96, 0.96),
    Bound("Bitstogram", "words", 2.0, 0.94, 0.96),
    Bound("Bitstogram", "zipf", 2.0, 0.93, 0.95),
    Bound("TreeHist, 1 bit", "words", 2.0, 0.92, 0.90),
    Bound("TreeHist, 1 bit", "zipf", 2.0, 0.92, 0.90),
    Bound("Bitstogram, binary", "words", 2.0, 0.92, 0.90),
    Bound("Bitstogram, binary", "zipf", 2.0, 0.92, 0.90),
    Bound("TreeHist", "words", 1.0, 0.90, 0.90),
    Bound("TreeHist", "words", 4.0, 0.98, 0.98),
)


def main(arguments: list[str] | None = None) -> None:
    """Run every bound, write the table, and say which do not hold."""
    chosen = _arguments(arguments)
    path = Path(chosen.folder) / "required.json"
    rows = stored(path, chosen.only)
    for bound in BOUNDS:
        if not chosen.only or bound.method in chosen.only:
            rows = [row for row in rows if _key(row) != _key(asdict(bound))]
            rows.append(reached(bound, chosen.users, chosen.seeds))
            rows.sort(key=_order)
            results = {"date": time.strftime("%Y-%m-%d"), "users": chosen.users, "seeds": chosen.seeds}
            path.write_text(json.dumps(results | {"rows": rows}, indent=1) + "\n")
            write_page(path.parent)
    failed = [
        f"{row['method']}, {row['data']}, epsilon {row['epsilon']:g}" for row in rows if not row["holds"]
    ]
    if failed and not chosen.report_only:
        sys.exit("bounds that do not hold: " + "; ".join(failed))


def stored(path: Path, only: list[str]) -> list[dict[str, Any]]:
    """The rows that were found before and are kept, if only some methods are run."""
    return list(json.loads(path.read_text())["rows"]) if only and path.exists() else []


def _key(row: dict[str, Any]) -> tuple[str, str, float]:
    return row["method"], row["data"], row["epsilon"]


def _order(row: dict[str, Any]) -> int:
    return [_key(asdict(bound)) for bound in BOUNDS].index(_key(row))


def reached(bound: Bound, users: int, seeds: int) -> dict[str, Any]:
    """The means that a method reaches, and the CPU seconds of its server."""
    simulate(PRODUCTS[bound.method], Campaign(bound.data, min(users, 100_000), bound.epsilon, 0))  # compiles
    figures = []
    for seed in range(seeds):
        campaign = Campaign(bound.data, users, bound.epsilon, seed)
        published, seconds = simulate(PRODUCTS[bound.method], campaign)
        figures.append(quality(campaign, published) | {"server_seconds": seconds})
        print(bound.method, bound.data, bound.epsilon, figures[-1], flush=True)
    asked = asdict(bound)
    least = {"least_precision": asked.pop("precision"), "least_recall": asked.pop("recall")}
    row = asked | least | mean(figures)
    return row | {"holds": holds(row)}


def holds(row: dict[str, Any]) -> bool:
    """Whether a row of the table keeps all its bounds."""
    return bool(
        row["precision"] >= row["least_precision"]
        and row["recall"] >= row["least_recall"]
        and row["least_count"] >= LEAST_COUNT
        and row["server_seconds"] <= SERVER_SECONDS
    )


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Check what the protocols of the local model must reach.")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD", help="keep the rows of the others")
    parser.add_argument("--report-only", action="store_true", help="do not fail if a bound does not hold")
    parser.add_argument("--folder", default=str(FOLDER))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
