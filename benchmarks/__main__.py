"""python -m benchmarks: measure, show tables, and after a full run write benchmarks/latest.json.

Chosen parts or --quick show their tables and write nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import (
    contest,
    hierarchy,
    ldp_client,
    linear,
    machine,
    noise,
    required,
    spark,
    start,
    threads,
    updates,
    users,
    utility,
)
from benchmarks.page import page
from benchmarks.tables import Table, tables

PARTS = (
    "ints",
    "strings",
    "parquet",
    "terms",
    "noise",
    "linear",
    "hierarchy",
    "ldp_client",
    "utility",
    "users",
    "threads",
    "spark",
    "start",
)
LATEST = Path(__file__).parent / "latest.json"
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, for a first look")
    parser.add_argument("--keep", action="store_true", help="keep the Parquet file for the next run")
    parser.add_argument("--page", action="store_true", help="only write docs/benchmarks.md again")
    chosen = parser.parse_args(words)
    chosen.parts = chosen.only.split(",")
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"--only takes some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}.")
    return chosen


def measured(chosen: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen parts one after the other."""
    sizes = updates.QUICK if chosen.quick else updates.FULL
    runs: dict[str, Callable[[], Any]] = {
        "ints": lambda: updates.measure("ints", sizes, say),
        "strings": lambda: updates.measure("strings", sizes, say),
        "parquet": lambda: contest.measure(chosen.quick, chosen.keep, say),
        "terms": lambda: contest.measure_terms(chosen.quick, say),
        "noise": noise.measure,
        "linear": lambda: linear.measure(chosen.quick),
        "hierarchy": lambda: hierarchy.measure(chosen.quick),
        "ldp_client": ldp_client.measure,
        "utility": utility.measure,
        "users": lambda: users.measure(chosen.quick),
        "threads": lambda: threads.measure(chosen.quick),
        "spark": lambda: spark.measure(chosen.quick),
        "start": start.measure,
    }
    results: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": " ".join(["python -m benchmarks", *sys.argv[1:]]),
        "machine": machine.facts(),
        "rounds": sizes.rounds,
    }
    for part in chosen.parts:
        say(part)
        results[part] = runs[part]()
    results["required"] = [line.to_dict() for line in required.lines(results)]
    return results


def show(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Shown

    shown = Shown(title=table.title, title_justify="left")
    shown.add_column(table.columns[0])
    for column in table.columns[1:]:
        shown.add_column(column, justify="right")
    for row in table.rows:
        shown.add_row(*row)
    Console().print(shown)


def say(words: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {words}", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    chosen = arguments(words)
    if chosen.page:
        PAGE.write_text(page(json.loads(LATEST.read_text())))
        return 0
    results = measured(chosen)
    for table in tables(results):
        show(table)
    if set(chosen.parts) == set(PARTS) and not chosen.quick:
        LATEST.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
        say("written: benchmarks/latest.json and docs/benchmarks.md")
    return 0 if all(line["passed"] for line in results["required"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
