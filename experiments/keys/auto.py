"""Measure `--max-keys auto`: the keys it publishes, over those of the best fixed number of keys of a user.

Run from the root of the repository: python experiments/keys/auto.py
Data are drawn anew; the choice and the noise are not drawn: the probability of each choice and of each key being
published are computed from the mechanism itself. It writes auto.json beside it and docs/max-keys-auto.md.
"""

# ruff: noqa: E501 (lines of the page)
from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from compare import POWERS, ROOT, SIZES, pairs
from numpy.polynomial import Polynomial

from hushcount.mechanisms.histograms.chosen import CHOICE, ChosenBound, RankedCounts, bounds
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.users import best_for_exact
from hushcount.privacy import USER, Budget
from hushcount.shapes import ExactCounts, Public

BUDGET, DRAWS, SEED = Budget(1.0, 1e-6), 5, 20261118
LEAST = 0.92  # of the keys of the best fixed bound
PUBLIC = Public(unit=USER, moved=max(bounds()), shape=RankedCounts)
RESULTS = Path(__file__).with_name("auto.json")
PAGE = ROOT / "docs" / "max-keys-auto.md"
Matrix = npt.NDArray[np.int64]


def by_bound(users: Matrix, keys: Matrix) -> Matrix:
    """Return the numbers of users of each key, one column for each bound."""
    starts = np.flatnonzero(np.r_[True, users[1:] != users[:-1]])
    place = np.arange(len(users)) - np.repeat(starts, np.diff(np.r_[starts, len(users)]))
    found = [np.bincount(keys[place < most], minlength=int(keys.max()) + 1) for most in bounds()]
    counts = np.column_stack(found)
    return counts[counts[:, -1] > 0]


def chances(utilities: dict[int, int], sensitivity: int) -> dict[int, float]:
    """Return the probability of each choice: p_m times the integral of the product of 1 - p_s x over the others."""
    largest, epsilon = max(utilities.values()), float(CHOICE) * BUDGET.epsilon
    taken = {most: np.exp(-epsilon * (largest - each) / sensitivity) for most, each in utilities.items()}
    found = {}
    for most, own in taken.items():
        product = Polynomial([1.0])
        for other, chance in taken.items():
            if other != most:
                product *= Polynomial([1.0, -chance])
        found[most] = float(own * product.integ()(1.0))
    return found


def expected(mechanism: TruncatedGeometric | GaussianSparseHistogram, counts: Matrix) -> float:
    """Return how many keys a table is expected to hold."""
    distinct, times = np.unique(counts, return_counts=True)
    return float(mechanism.forecast().published(distinct.astype(np.float64), 0.0) @ times)


def fixed(most: int) -> TruncatedGeometric | GaussianSparseHistogram:
    """Return the mechanism of a table with a fixed bound, at the whole budget."""
    kinds = {kind.name: kind for kind in (TruncatedGeometric, GaussianSparseHistogram)}
    public = replace(PUBLIC, moved=most, shape=ExactCounts)
    return kinds[best_for_exact(BUDGET, most).mechanism](BUDGET, public)


def one(law: str, power: float, seed: int) -> dict[str, float]:
    """Return the expected keys of auto and of the best fixed bound on one draw of data."""
    counts = by_bound(*pairs(law, power, np.random.default_rng(seed)))
    shape = RankedCounts(lambda: iter([(pa.nulls(len(counts)), counts)]), np.zeros(0, np.int64), bounds())
    mechanism = ChosenBound(BUDGET, PUBLIC)
    chosen = chances(mechanism.utilities(shape), mechanism.sensitivity)
    columns = dict(zip(bounds(), counts.T, strict=True))
    tables = {most: expected(TABLES[most], columns[most]) for most in chosen}
    best, most = max((expected(FIXED[most], columns[most]), most) for most in bounds())
    wisest = max(tables.values())
    mean = sum(chance * tables[each] for each, chance in chosen.items())
    likely = max(chosen, key=lambda each: chosen[each])
    return {"auto": mean, "best": best, "m": most, "likely m": likely, "without doubt": wisest}


FIXED = {most: fixed(most) for most in bounds()}
TABLES = {most: ChosenBound(BUDGET, PUBLIC, most).table_mechanism for most in bounds()}


def row(law: str, power: float, place: int) -> dict[str, object]:
    """Return the means over all draws for one distribution."""
    draws = [one(law, power, SEED + 1000 * place + draw) for draw in range(DRAWS)]
    ratios = [draw["auto"] / draw["best"] for draw in draws]
    sure = [draw["without doubt"] / draw["best"] for draw in draws]
    return {
        "sizes": law,
        "zipf": power,
        "ratio": round(float(np.mean(ratios)), 4),
        "lowest": round(min(ratios), 4),
        "highest": round(max(ratios), 4),
        "if the choice were sure": round(float(np.mean(sure)), 4),
        "auto": round(float(np.mean([draw["auto"] for draw in draws])), 1),
        "best": round(float(np.mean([draw["best"] for draw in draws])), 1),
        "best m": sorted({int(draw["m"]) for draw in draws}),
        "likely m": sorted({int(draw["likely m"]) for draw in draws}),
    }


HEAD = """# How well `--max-keys auto` chooses

The keys that a table is expected to hold if `--max-keys auto` chooses the number of keys of a user, over those of the
best fixed number, which a real release cannot know: 60,000 users, 1,000,000 possible keys, epsilon 1, delta 1e-6. Keys
follow Zipf's law of the power shown; numbers of keys per user are lognormal(2, 1.3) or Pareto, rounded up, at most
1,000. Means over {draws} draws of the data. Neither choice nor noise is drawn: the probability of every choice, and of
every key being published, is that of the mechanism itself.

The fixed number has the whole of epsilon, the chosen one 95% of it: *if the choice were sure* is what that alone
leaves, with the best number always taken. Made by `python experiments/keys/auto.py` on {date}.
Proof: [users](proofs/histograms/users.md).

| keys per user | Zipf | auto | best fixed | best m | most likely choice | ratio | lowest, highest draw | if the choice were sure |
|---|---|---|---|---|---|---|---|---|
"""


def write(results: dict) -> None:
    """Write the page."""
    lines = [HEAD.format(draws=results["draws"], date=results["date"])]
    for each in results["rows"]:
        best, likely = (" or ".join(map(str, each[name])) for name in ("best m", "likely m"))
        lines.append(
            f"| {each['sizes']} | {each['zipf']} | {each['auto']:.1f} | {each['best']:.1f} | {best} | {likely}"
            f" | {each['ratio']:.3f} | {each['lowest']:.3f}, {each['highest']:.3f}"
            f" | {each['if the choice were sure']:.3f} |\n"
        )
    low = [each for each in results["rows"] if each["ratio"] < LEAST]
    lines.append(f"\nRows below {LEAST}: {len(low)}.\n")
    PAGE.write_text("".join(lines))


def main() -> None:
    """Measure, and write the figures and the page."""
    rows = []
    for place, (law, power) in enumerate((law, power) for law in SIZES for power in POWERS):
        rows.append(row(law, power, place))
        print(rows[-1], flush=True)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    results = {"date": date, "draws": DRAWS, "seed": SEED, "rows": rows}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    write(results)


if __name__ == "__main__":
    main()
