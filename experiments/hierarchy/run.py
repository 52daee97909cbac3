"""Private trees of IPv4 flows against the exact one: python -m experiments.hierarchy.run

Writes results.json and README.md beside this file, or where --folder says.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from experiments.hierarchy.compare import Truth, compare
from experiments.hierarchy.flows import addresses
from experiments.hierarchy.page import page

from hushcount.hierarchies.addresses import Ipv4
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.noise.bits import Bits, system_bits
from hushcount.privacy import Budget
from hushcount.sketches.leaves import count_leaves
from hushcount.sketches.levels import HierarchySketch

FOLDER = Path(__file__).parent
EPSILONS = (0.1, 1.0, 10.0)
STEPS = (8, 1)  # heights 4 and 32


def main(arguments: list[str] | None = None, bits: Bits | None = None) -> dict[str, Any]:
    """Both methods on both hierarchies at every epsilon."""
    chosen = _arguments(arguments)
    flows = pa.array(addresses(chosen.flows, chosen.seed))
    rows = [row for step in STEPS for row in measured(flows, step, chosen, bits or system_bits())]
    settings = vars(chosen) | {"folder": None, "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    results = {"settings": settings, "rows": rows}
    folder = Path(chosen.folder)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "README.md").write_text(page(results))
    return results


def measured(flows: pa.Array, step: int, chosen: argparse.Namespace, bits: Bits) -> Iterator[dict[str, Any]]:
    """The figures of one hierarchy."""
    hierarchy = Ipv4(step)
    threshold = round(chosen.share * len(flows))
    shape = count_leaves(hierarchy, flows)
    truth = Truth.of(shape, threshold)
    sketch = HierarchySketch(hierarchy, chosen.counters)
    sketch.update(flows)
    methods = (("offline", HierarchyRelease, shape), ("streaming", LevelFloorRelease, sketch.shape()))
    for epsilon in EPSILONS:
        budget = Budget(epsilon, chosen.delta)
        for method, kind, counted in methods:
            start = time.process_time()
            tree = kind(budget, counted.public(), threshold).release(counted, bits)
            spent = time.process_time() - start
            print(f"height {hierarchy.height}, epsilon {epsilon:g}, {method}", flush=True)
            figures = compare(tree, truth) | {"release_s": spent}
            yield {"method": method, "height": hierarchy.height, "epsilon": epsilon, **figures}


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare private trees with the exact one.")
    parser.add_argument("--flows", type=int, default=10_000_000)
    parser.add_argument("--counters", type=int, default=8192, help="for each level of the streaming method")
    parser.add_argument("--share", type=float, default=0.001, help="the threshold, of the number of flows")
    parser.add_argument("--delta", type=float, default=1e-8)
    parser.add_argument("--seed", type=int, default=1, help="of the flows; noise has none")
    parser.add_argument("--folder", default=str(FOLDER))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
