"""Compare releases of keys without counts: hushcount, OpenDP and PipelineDP on the same data and budget.

Run from the root of the repository: make keys
It makes an environment for each other library, below .venv-peers, and writes results.json beside this
file, docs/keys.md and docs/images/keys.svg.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import hushcount as hc
from hushcount.mechanisms.histograms.gaussian import sparse_histogram
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.privacy import Budget

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
RESULTS, PEERS = HERE / "results.json", ROOT / ".venv-peers"
LIBRARIES = {"OpenDP": "opendp", "PipelineDP": "pipelinedp"}  # and their environments
EPSILON, DELTA, USERS, KEYS, LARGEST, SEED = 1.0, 1e-6, 60_000, 1_000_000, 1000, 20261116
BOUNDS = (1, 2, 4, 8, 16, 32)
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


def peers(arrays: dict[str, Counts]) -> dict[str, dict]:
    """Return what each other library publishes of each array, by the Python of its own environment."""
    versions: dict[str, str] = {}
    found: dict[str, dict[str, int]] = {name: {} for name in arrays}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.npz"
        np.savez(path, **arrays)
        for library, environment in LIBRARIES.items():
            python = str(PEERS / environment / "bin" / "python")
            command = [python, str(HERE / "peers.py"), library, str(path), str(EPSILON), str(DELTA)]
            said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            versions |= said["versions"]
            for name, keys in said["found"].items():
                found[name][library] = keys
    return {"versions": versions, "found": found}


def one(law: str, power: float, place: int) -> tuple[dict[str, object], dict[str, Counts]]:
    """Return the keys that hushcount finds on one data set, and the counts for the other libraries."""
    users, keys = pairs(law, power, np.random.default_rng(SEED + place))
    table = pa.table({"user": users, "key": keys})
    row: dict[str, object] = {"sizes": law, "zipf": power, "pairs": len(users)}
    for method in METHODS:
        released = hc.keys(table, column="key", user="user", epsilon=EPSILON, delta=DELTA, method=method)
        row[method] = len(released)
    counts = {most: bounded(users, keys, most) for most in BOUNDS}
    found, most = max((with_counts(each, most), most) for most, each in counts.items())
    row["counts"], row["counts m"] = round(found), most
    return row, {f"users-{most}-{place}": each for most, each in counts.items()}


def events(power: float, place: int) -> tuple[dict[str, object], dict[str, Counts]]:
    """Return the same for single events: a million rows, each its own unit."""
    rng = np.random.default_rng(SEED + 100 + place)
    weights = np.arange(1, KEYS + 1, dtype=np.float64) ** -power
    keys = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(1_000_000))
    counts = np.bincount(keys)
    released = hc.keys(pa.array(keys), epsilon=EPSILON, delta=DELTA)
    return {"zipf": power, "hushcount": len(released)}, {f"events-1-{place}": counts[counts > 0]}


def with_peers(kind: str, rows: list[dict[str, object]], found: dict[str, dict[str, int]]) -> None:
    """Add to each row what each library publishes, at the bound where that is most."""
    for place, row in enumerate(rows):
        for library in LIBRARIES:
            bounds = BOUNDS if kind == "users" else (1,)
            row[library], best = max((found[f"{kind}-{most}-{place}"][library], most) for most in bounds)
            if kind == "users":
                row[f"{library} m"] = best


def main() -> None:
    """Measure, and write the table and the picture."""
    laws = [(law, power) for law in SIZES for power in POWERS]
    users, single, arrays = [], [], {}
    for place, (law, power) in enumerate(laws):
        row, counts = one(law, power, place)
        users.append(row)
        arrays |= counts
        print(row, flush=True)
    for place, power in enumerate(POWERS):
        row, counts = events(power, place)
        single.append(row)
        arrays |= counts
    others = peers(arrays)
    with_peers("users", users, others["found"])
    with_peers("events", single, others["found"])
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    results = {"date": date, "versions": others["versions"], "users": users, "events": single}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    from page import write

    write(results, ROOT)


if __name__ == "__main__":
    main()
