"""Keys that OpenDP or PipelineDP publishes, counted in an environment of its own by compare.py.

It is run with the name of the library and a file of arrays, `users-m-place` and `events-1-place`: numbers of
users (or events) by key for each bound m on the keys of a user. It prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.metadata import version

import numpy as np

FEWEST = 4  # users of a key that is offered to these libraries at all


def opendp(counts: np.ndarray, most: int, epsilon: float, delta: float) -> int:
    """Return how many keys OpenDP's Laplace threshold publishes."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
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
    import pipeline_dp
    from pipeline_dp.partition_selection import create_partition_selection_strategy

    found = []
    for kind in ("TRUNCATED_GEOMETRIC", "GAUSSIAN_THRESHOLDING"):
        strategy = pipeline_dp.PartitionSelectionStrategy[kind]
        chosen = create_partition_selection_strategy(strategy, epsilon, delta, most)
        found.append(sum(map(chosen.should_keep, counts[counts >= FEWEST].tolist())))
    return max(found)


LIBRARIES = {"OpenDP": ("opendp", opendp), "PipelineDP": ("pipeline-dp", pipelinedp)}


def main(name: str, path: str, epsilon: float, delta: float) -> None:
    """Print the version of a library, and how many keys of each array it publishes."""
    package, select = LIBRARIES[name]
    with np.load(path) as arrays:
        found = {each: select(arrays[each], int(each.split("-")[1]), epsilon, delta) for each in arrays}
    print(json.dumps({"versions": {package: version(package)}, "found": found}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
