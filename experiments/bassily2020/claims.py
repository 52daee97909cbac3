"""What Bassily et al. 2020 say of their experiments (Section 4) and tables, judged on a run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
from experiments.bassily2020.oracles import OURS, RAPPOR, THEIRS
from experiments.common.claims import Claim, judged
from experiments.common.study import ROOT, Results, Row, column, rows_where, shown

PERCENTILES = ("50th percentile", "90th percentile", "95th percentile")
RANKS = ("rank 1", "rank 10", "rank 100")
PRINTED = {  # Table 2
    "zipf": {"precision": 0.36, "recall": 0.95},
    "words": {"precision": 0.24, "recall": 0.86},
}
FLAT = 1.5  # what counts as insensitive: the largest error of a sweep over the smallest
CHANCE = 4  # standard errors that chance may take one of these means from the truth
LARGE = ROOT / "ldp" / "required.json"  # searches among ten million users, of another run
SEARCH, OUR_SEARCH = "TreeHistPaper", "TreeHist (ours)"


def claims(results: Results) -> list[Claim]:
    """Return the claims of Section 4 and of both tables."""
    rows = results["rows"]
    return [
        *_frequencies(rows, results["settings"]["repetitions"]),
        *_demo(rows),
        *_costs(rows),
        *_searches(rows),
    ]


def _frequencies(rows: list[Row], runs: int) -> list[Claim]:
    synthetic = [*rows_where(rows, sweep="users"), *rows_where(rows, sweep="epsilon")]
    words = rows_where(rows, sweep="words")
    found = [
        _unbiased(synthetic, runs, ("Figure 1", "figure_1"), PERCENTILES),
        _unbiased(words, runs, ("Figure 3", "figure_3"), RANKS),
    ]
    for where, sweep, figure in (
        ("Figure 1", "users", "figure_errors"),
        ("Figure 1", "epsilon", "figure_errors"),
        ("Figure 3", "words", "figure_errors"),
    ):
        error = {method: column(rows, "error_share", sweep=sweep, method=method) for method in (THEIRS, OURS)}
        found.append(
            Claim(
                where,
                f"the error of the shares falls with more {'users' if sweep == 'users' else 'epsilon'}"
                + (", English words" if sweep == "words" else ""),
                judged(error[THEIRS][-1] < error[THEIRS][0], error[OURS][-1] < error[OURS][0]),
                "root mean squared: " + "; ".join(f"{name} {_list(each)}" for name, each in error.items()),
                figure,
            )
        )
    widths = column(rows, "error", sweep="width", method=THEIRS)
    values = column(rows, "value", sweep="width", method=THEIRS)
    found.append(
        Claim(
            "Figure 2",
            "the width of the sketch hardly changes the result",
            judged(max(widths) <= FLAT * min(widths)),
            f"root mean squared error {_list(widths)} users for {_list(values)} sqrt(n) cells",
            "figure_2",
        )
    )
    return found


def _unbiased(rows: list[Row], runs: int, where: tuple[str, str], places: Sequence[str]) -> Claim:
    """The mean of all runs is not further from the truth than chance takes it."""
    off = [
        abs(row[place] - row[f"{place}, true"]) / row["error_share"]
        for row in rows_where(rows, method=THEIRS)
        for place in places
    ]
    errors = max(off) * math.sqrt(runs)
    return Claim(
        where[0],
        "the oracle is unbiased: mean estimates are about as far from the truth as one standard deviation,"
        " or less",
        judged(errors <= CHANCE),
        f"at most {max(off):.2f} standard deviations, {np.mean(off):.2f} in the mean; at most {errors:.1f}"
        " standard"
        f" errors of a mean of {runs} runs",
        where[1],
    )


def _demo(rows: list[Row]) -> list[Claim]:
    found = {row["method"]: row for row in rows_where(rows, sweep="demo") if row["method"] != "true"}
    high, low = ({name: row[f"{end}_error"] for name, row in found.items()} for end in ("high", "low"))
    return [
        Claim(
            "Figure 4",
            "RAPPOR reports most rare words as 0",
            judged(found[RAPPOR]["zeros"] > 0.5),
            f"{found[RAPPOR]['zeros']:.0%} of the rarer half of the words",
            "figure_4",
        ),
        Claim(
            "Figure 4",
            "for frequent words both perform alike",
            judged(0.5 <= high[THEIRS] / high[RAPPOR] <= 2),
            f"mean error of the shares: {_named(high)}",
            "figure_4",
        ),
        Claim(
            "Figure 4",
            "for rare words the sketch is closer to the truth than RAPPOR",
            judged(low[THEIRS] < low[RAPPOR], low[OURS] < low[RAPPOR]),
            f"mean error of the shares: {_named(low)}; 0 is the nearest that noise of this size allows",
            "figure_4",
        ),
    ]


def _costs(rows: list[Row]) -> list[Claim]:
    both = {}
    for method in ("TreeHistPaper", "BitstogramPaper"):
        mine = rows_where(rows, sweep="search", data="zipf", method=method)
        both[method] = [(row["value"], row["server_seconds"]) for row in mine]
    sizes = {row["report_bytes"] for row in rows_where(rows, sweep="search")}
    error = [(row["value"], row["error"]) for row in rows_where(rows, sweep="users", method=THEIRS)]
    slopes = {method: _slope(pairs) for method, pairs in both.items()}
    return [
        Claim(
            "Table 1",
            "the time of the server grows no faster than n",
            judged(all(slope <= 1.1 for slope in slopes.values())),
            "exponents "
            + ", ".join(f"{slope:.2f} ({method})" for method, slope in slopes.items())
            + "; CPU seconds "
            + "; ".join(_list([seconds for _, seconds in pairs]) for pairs in both.values()),
        ),
        Claim(
            "Table 1",
            "the communication of a user is constant",
            judged(len(sizes) == 1),
            f"{_list(sorted(sizes))} bytes, one bit of which is the answer",
        ),
        Claim(
            "Table 1",
            "the error grows like the root of n",
            judged(0.35 <= _slope(error) <= 0.65),
            f"exponent {_slope(error):.2f}; {_list([value for _, value in error])} users",
            "figure_errors",
        ),
    ]


def _searches(rows: list[Row]) -> list[Claim]:
    found = []
    large = json.loads(LARGE.read_text())
    for kind, printed in PRINTED.items():
        last = {
            method: rows_where(rows, sweep="search", data=kind, method=method)[-1]
            for method in (SEARCH, OUR_SEARCH, "BitstogramPaper", "Bitstogram (ours)")
        }
        (ours,) = rows_where(large["rows"], method="TreeHist", data=kind, epsilon=2.0)
        reached = [all(row[name] >= least for name, least in printed.items()) for row in (last[SEARCH], ours)]
        words = "93 words that follow a power law" if kind == "zipf" else "words of English"
        found.append(
            Claim(
                "Table 2",
                f"TreeHist has precision {printed['precision']} and recall {printed['recall']} on {words}",
                judged(*reached),
                f"precision / recall of {shown(last[SEARCH]['heavy'])} heavy words among"
                f" {shown(last[SEARCH]['value'])} users: {', '.join(_pair(*each) for each in last.items())};"
                " among"
                f" {large['users']:,} users {_pair(OUR_SEARCH, ours)}",
            )
        )
    return found


def _pair(name: str, row: Row) -> str:
    return f"{shown(row['precision'])} / {shown(row['recall'])} ({name})"


def _slope(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the exponent of growth."""
    if len(pairs) < 2:
        return 0.0
    places, values = np.log(np.array(pairs)).T
    return float(np.polyfit(places, values, 1)[0])


def _named(values: dict[str, float]) -> str:
    return ", ".join(f"{shown(value)} ({name})" for name, value in values.items())


def _list(values: Sequence[float]) -> str:
    return ", ".join(shown(float(f"{value:.3g}")) for value in values)
