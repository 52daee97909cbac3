"""Floor release against error envelopes, with and without deletions: python -m experiments.linear.run

Writes results.json and README.md beside this file, or where --folder says.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from experiments.linear.compare import METHODS, Setting, compare
from experiments.linear.page import page
from experiments.linear.streams import STREAMS

FOLDER = Path(__file__).parent
EPSILONS = (0.1, 1.0, 4.0)


def main(arguments: list[str] | None = None) -> None:
    """Run every method on every stream at every epsilon."""
    chosen = _arguments(arguments)
    rows: list[dict[str, Any]] = []
    for name, make in STREAMS.items():
        stream = make(chosen.events)
        for epsilon in EPSILONS:
            setting = Setting(chosen.events, chosen.counters, chosen.share, epsilon, chosen.delta)
            for method in METHODS:
                print(f"{name}, epsilon {epsilon:g}, {method}", flush=True)
                rows.append({"stream": name, "epsilon": epsilon, **compare(method, stream, setting)})
    results = {"settings": vars(chosen) | {"folder": None}, "rows": rows}
    folder = Path(chosen.folder)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "README.md").write_text(page(results))


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare the floor release with error envelopes.")
    parser.add_argument("--events", type=int, default=10_000_000, help="additions and deletions together")
    parser.add_argument("--counters", type=int, default=8192)
    parser.add_argument("--share", type=int, default=1000, help="heavy is a key with 1/share of the events")
    parser.add_argument("--delta", type=float, default=1e-8)
    parser.add_argument("--folder", default=str(FOLDER))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
