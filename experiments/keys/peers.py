"""Keys that OpenDP and PipelineDP publish, counted in an environment of their own by compare.py.

It is run with a file of arrays, `users-m-place` and `events-1-place`: numbers of users (or events) by key
for each bound m on the keys of a user. It prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import opendp.prelude as dp
import pipeline_dp
from pipeline_dp.partition_selection import create_partition_selection_strategy

FEWEST = 4  # users of a key that is offered to these libraries at all


def opendp(counts: np.ndarray, most: int, epsilon: float, delta: float) -> int:
    """Return how many keys OpenDP's Laplace threshold publishes."""
    domain = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    given = dict(enumerate(counts[counts >= FEWEST].tolist()))

    def laplace(threshold: int) -> Callable:
        return (domain, metric) >> dp.m.then_laplace_threshold(scale=most / epsilon, threshold=threshold)

    low, high = 1, 1 << 24
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if laplace(middle).map((most, most, 1))[1] <= delta else (middle, high)
    return len(laplace(high)(given))


def pipelinedp(counts: np.ndarray, most: int, epsilon: float, delta: float) -> int:
    """Return how many keys PipelineDP selects: the better of two strategies."""
    found = []
    for kind in ("TRUNCATED_GEOMETRIC", "GAUSSIAN_THRESHOLDING"):
        strategy = pipeline_dp.PartitionSelectionStrategy[kind]
        chosen = create_partition_selection_strategy(strategy, epsilon, delta, most)
        found.append(sum(map(chosen.should_keep, counts[counts >= FEWEST].tolist())))
    return max(found)


def main(path: str, epsilon: float, delta: float) -> None:
    """Print the versions, and for each array the keys that each library publishes."""
    dp.enable_features("contrib", "honest-but-curious")
    libraries = {"OpenDP": opendp, "PipelineDP": pipelinedp}
    found = {}
    with np.load(path) as arrays:
        for name, counts in arrays.items():
            most = int(name.split("-")[1])
            found[name] = {
                library: select(counts, most, epsilon, delta) for library, select in libraries.items()
            }
    versions = {name: version(name) for name in ("opendp", "pipeline-dp")}
    print(json.dumps({"versions": versions, "found": found}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
