"""Private hierarchical heavy hitters, after Biswas et al. 2024: python -m experiments.biswas2024.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from experiments.biswas2024 import methods, privacy
from experiments.biswas2024.methods import Data, Setting
from experiments.biswas2024.page import STUDY
from experiments.biswas2024.trees import Published, Tree, exact, largest_missed
from experiments.common.study import Row, asked, made, summary
from experiments.hierarchy.flows import addresses

SEED, DELTA, EPSILON = 1, 1e-8, 1.0
STEPS = (8, 4, 1)  # heights 4, 8 and 32
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Size:
    """How many flows, what is heavy, and how often each release is drawn."""

    flows: int
    share: float
    shares: tuple[float, ...]
    repetitions: int
    counters: int


SIZES = {
    "tiny": Size(60_000, 0.01, (0.003, 0.03), 2, 1024),
    "small": Size(1_000_000, 0.003, (0.0003, 0.001, 0.003, 0.01, 0.03), 5, 4096),
    "full": Size(10_000_000, 0.001, (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03), 20, 8192),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every method over the height, epsilon and the threshold, and compute what attacks find."""
    chosen = asked(STUDY, SIZES, arguments)
    if chosen.only_page:
        return STUDY.draw(chosen.folder)
    size = SIZES[chosen.size]
    repetitions = chosen.repetitions or size.repetitions
    rows = [*measured(size, repetitions), *privacy.rows(chosen.size == "tiny")]
    settings: dict[str, Any] = asdict(size) | {"repetitions": repetitions, "delta": DELTA, "epsilon": EPSILON}
    return STUDY.write({"made": made(STUDY, chosen), "settings": settings, "rows": rows}, chosen.folder)


def measured(size: Size, repetitions: int) -> Iterator[Row]:
    """Yield the figures of each method over what is varied."""
    flows = addresses(size.flows, SEED)
    for step in STEPS:
        data = Data(flows, step, size.counters)
        yield from _rows(data, ("height", data.tree.height, EPSILON, size.share), repetitions)
    for epsilon in EPSILONS:  # with the highest tree
        yield from _rows(data, ("epsilon", epsilon, epsilon, size.share), repetitions)
    for share in size.shares:
        yield from _rows(data, ("hitters", share, EPSILON, share), repetitions)


def _rows(data: Data, varied: tuple[str, float, float, float], repetitions: int) -> Iterator[Row]:
    what, value, epsilon, share = varied
    print(f"{what} {value:g}", flush=True)
    setting = Setting(epsilon, DELTA, round(share * len(data.addresses)), data.counters)
    truth = exact(data.tree, setting.threshold)
    place = float(len(truth)) if what == "hitters" else value
    for method, draw in methods.draws(data, setting).items():
        samples = [figures(draw(), truth, data.tree, setting.threshold) for _ in range(repetitions)]
        yield {"sweep": what, "value": place, "method": method, **summary(samples)}


def figures(published: Published, truth: Published, tree: Tree, threshold: int) -> dict[str, float]:
    """Return how close what is published comes to the exact tree at the same threshold."""
    hits = len(published.keys() & truth.keys())
    missed = largest_missed(tree, published) - threshold
    found = {"exact": len(truth), "published": len(published), "missed": missed}
    found["f1"] = 2 * hits / (len(published) + len(truth))
    if not published:
        return found | {"error": math.nan, "relative": math.nan, "largest": math.nan}
    true = tree.totals(published)
    errors = np.abs(np.array(list(published.values())) - true)
    relative = errors / true
    return found | {
        "error": float(errors.mean()),
        "relative": float(relative.mean()),
        "largest": float(relative.max()),
    }


if __name__ == "__main__":
    main()
