"""Compare releases of keys without counts: hushcount, OpenDP and PipelineDP on the same data and budget.

Run from the root of the repository: python experiments/keys/compare.py
It needs opendp and pipeline-dp, and writes results.json beside it, docs/keys.md and docs/images/keys.svg.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import hushcount as hc
from hushcount.mechanisms.histograms.gaussian import sparse_histogram
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.privacy import Budget

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")
EPSILON, DELTA, USERS, KEYS, LARGEST, SEED = 1.0, 1e-6, 60_000, 1_000_000, 1000, 20261116
BOUNDS = (1, 2, 4, 8, 16, 32)
FEWEST = 4  # users of a key that is offered to the other libraries at all
POWERS = (0.8, 1.1, 1.5)
SIZES = ("lognormal", "Pareto(.8)", "Pareto(1.2)")
METHODS = ("steered", "sips", "weighted")
Counts = npt.NDArray[np.int64]


def sizes(law: str, rng: np.random.Generator) -> Counts:
    """Return how many keys each user draws, at most LARGEST."""
    if law == "lognormal":
        drawn = np.ceil(rng.lognormal(2, 1.3, USERS))
    else:
        drawn = np.ceil(rng.pareto(float(law[7:-1]), USERS))
    return np.clip(drawn, 1, LARGEST).astype(np.int64)


def pairs(law: str, power: float, rng: np.random.Generator) -> tuple[Counts, Counts]:
    """Return users and their different keys, in a random order within each user."""
    weights = np.arange(1, KEYS + 1, dtype=np.float64) ** -power
    many = sizes(law, rng)
    users = np.repeat(np.arange(USERS), many)
    steps = np.cumsum(weights / weights.sum())
    keys = np.minimum(np.searchsorted(steps, rng.random(len(users))), KEYS - 1)
    both = np.unique(users * KEYS + keys)
    both = both[rng.permutation(len(both))]
    both = both[np.argsort(both // KEYS, kind="stable")]
    return both // KEYS, both % KEYS


def bounded(users: Counts, keys: Counts, most: int) -> Counts:
    """Return the numbers of users by key, at most `most` keys of each user."""
    starts = np.flatnonzero(np.r_[True, users[1:] != users[:-1]])
    place = np.arange(len(users)) - np.repeat(starts, np.diff(np.r_[starts, len(users)]))
    counts = np.bincount(keys[place < most])
    return counts[counts > 0]


def with_counts(counts: Counts, most: int) -> float:
    """Return how many keys a table with counts is expected to hold: the better of two exact routes."""
    found = sparse_histogram(EPSILON, DELTA, most)
    gaussian = float(found.noise.tail(found.threshold - counts).sum())
    row = TruncatedGeometric(Budget(EPSILON / most, DELTA / most)).noise
    distinct, times = np.unique(counts, return_counts=True)
    cumulative = np.asarray(row.cumulative())
    kept = cumulative[np.minimum(distinct, len(cumulative) - 1)]
    return max(gaussian, float(kept @ times))


def opendp(counts: Counts, most: int) -> int:
    """Return how many keys OpenDP's Laplace threshold publishes."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    domain = dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    given = dict(enumerate(counts[counts >= FEWEST].tolist()))

    def laplace(threshold: int) -> object:
        return (domain, metric) >> dp.m.then_laplace_threshold(scale=most / EPSILON, threshold=threshold)

    low, high = 1, 1 << 24
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if laplace(middle).map((most, most, 1))[1] <= DELTA else (middle, high)
    return len(laplace(high)(given))


def pipelinedp(counts: Counts, most: int) -> int:
    """Return how many keys PipelineDP selects: the better of two strategies."""
    import pipeline_dp
    from pipeline_dp.partition_selection import create_partition_selection_strategy

    found = []
    for kind in ("TRUNCATED_GEOMETRIC", "GAUSSIAN_THRESHOLDING"):
        strategy = pipeline_dp.PartitionSelectionStrategy[kind]
        chosen = create_partition_selection_strategy(strategy, EPSILON, DELTA, most)
        found.append(sum(map(chosen.should_keep, counts[counts >= FEWEST].tolist())))
    return max(found)


def best(counts: dict[int, Counts], select: Callable[[Counts, int], float]) -> tuple[float, int]:
    """Return the most keys over all bounds on the keys of a user, and that bound."""
    return max((float(select(each, most)), most) for most, each in counts.items())


def one(law: str, power: float, seed: int) -> dict[str, object]:
    """Return the keys that each route finds on one data set."""
    users, keys = pairs(law, power, np.random.default_rng(seed))
    table = pa.table({"user": users, "key": keys})
    row: dict[str, object] = {"sizes": law, "zipf": power, "pairs": len(users)}
    for method in METHODS:
        released = hc.keys(table, column="key", user="user", epsilon=EPSILON, delta=DELTA, method=method)
        row[method] = len(released)
    counts = {most: bounded(users, keys, most) for most in BOUNDS}
    for name, select in (("counts", with_counts), ("OpenDP", opendp), ("PipelineDP", pipelinedp)):
        found, most = best(counts, select)
        row[name], row[f"{name} m"] = round(found), most
    return row


def events(power: float, seed: int) -> dict[str, object]:
    """Return the same for single events: a million rows, each its own unit."""
    rng = np.random.default_rng(seed)
    weights = np.arange(1, KEYS + 1, dtype=np.float64) ** -power
    keys = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(1_000_000))
    counts = np.bincount(keys)
    counts = counts[counts > 0]
    released = hc.keys(pa.array(keys), epsilon=EPSILON, delta=DELTA)
    return {
        "zipf": power,
        "hushcount": len(released),
        "OpenDP": opendp(counts, 1),
        "PipelineDP": pipelinedp(counts, 1),
    }


def main() -> None:
    """Measure, and write the table and the picture."""
    rows = []
    for place, (law, power) in enumerate((law, power) for law in SIZES for power in POWERS):
        rows.append(one(law, power, SEED + place))
        print(rows[-1], flush=True)
    single = [events(power, SEED + 100 + place) for place, power in enumerate(POWERS)]
    versions = {name: version(name) for name in ("opendp", "pipeline-dp")}
    RESULTS.write_text(json.dumps({"versions": versions, "users": rows, "events": single}, indent=1) + "\n")
    from page import write

    write(json.loads(RESULTS.read_text()), ROOT)


if __name__ == "__main__":
    main()
