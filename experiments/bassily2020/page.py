"""What the results for Bassily et al. 2020 say: figures, claims and tables."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.bassily2020.claims import claims
from experiments.bassily2020.oracles import THEIRS
from experiments.common.chart import Panel, Point, draw, panel_of
from experiments.common.study import Results, Row, Study, markdown, pictures, rows_where

SETTING = """{users:,} users (the paper: 10,000,000), epsilon = {epsilon:g}, 285 rows of about sqrt(n)
cells, unless they are on the axis; means of {repetitions} simulated campaigns, bars are the 5% and 95%
quantiles. Every user reports, and the server reads the bytes.

- **Data**: 100 random words with shares like i^-1.5 (*synthetic*; 93 in the searches), and 26,000 English
  words cut to six letters by the frequencies of the package wordfreq. No package carries the words of the
  Brown corpus, which the paper drew from, so its numbers are another data set's.
- **Hashtogram** is the frequency oracle of the paper with Hadamard's transform, so that a user sends one
  bit; the paper's experiments had none. **TreeHist (ours)** is asked for the same words.
- **RAPPOR** has Bloom filters of 16 bits with 2 hashes in 64 cohorts, as in its demonstrations, flipped
  once at epsilon = ln 3, and knows the words; shares fall like exp(-i / 20), the form of its third
  demonstration.
- **Searches** (Table 2): heavy is a word of at least 15 sqrt(n) users. TreeHistPaper and BitstogramPaper
  follow the paper ([what differs](../../docs/ldp-paper.md)). Among ten million users ours are in
  [another run](../ldp/README.md), by which the claims of Table 2 are judged."""
CAPTIONS = {
    "figure_1": "Figure 1: frequencies of the synthetic words over users and epsilon, true and estimated.",
    "figure_2": "Figure 2: the same over the width of the sketch.",
    "figure_3": "Figure 3: the same for English words over epsilon.",
    "figure_errors": "The error of both oracles, of the 100 most frequent words.",
    "figure_4": "Figure 4: one campaign beside RAPPOR, by the rank of the word.",
    "figure_5_and_6": "Figures 5 and 6: the true distributions, by the rank of the word.",
}
PERCENTILES = ("50th percentile", "90th percentile", "95th percentile")
RANKS = ("rank 1", "rank 10", "rank 100")
TITLES = {"users": "users", "epsilon": "epsilon", "width": "cells of a row / sqrt(n)", "words": "epsilon"}
FOUND = {
    "heavy": "heavy words",
    "precision": "precision",
    "recall": "recall",
    "error": "mean error of those found",
    "server_seconds": "server, CPU s",
    "report_bytes": "bytes of a report",
}


def setting(results: Results) -> str:
    """Return what was run."""
    return SETTING.format(**results["settings"])


def figures(results: Results) -> dict[str, str]:
    """Return the six figures of the paper and one of errors."""
    rows = results["rows"]
    demo = {row["method"]: _by_rank(row["shares"]) for row in rows_where(rows, sweep="demo")}
    known = {row["method"]: _by_rank(row["shares"]) for row in rows_where(rows, sweep="data")}
    return {
        "figure_1": draw([_compared(rows, sweep, PERCENTILES) for sweep in ("users", "epsilon")], 2),
        "figure_2": draw([_compared(rows, "width", PERCENTILES)]),
        "figure_3": draw([_compared(rows, "words", RANKS)]),
        "figure_errors": draw([_errors(rows, sweep) for sweep in ("users", "epsilon", "words")]),
        "figure_4": draw([Panel("beside RAPPOR", "rank", "share", demo)]),
        "figure_5_and_6": draw(
            [Panel(name, "rank", "share", {name: line}, False, True) for name, line in known.items()]
        ),
    }


def _compared(rows: list[Row], sweep: str, places: tuple[str, ...]) -> Panel:
    """Return true and estimated shares at some places of the paper's oracle."""
    lines: dict[str, list[Point]] = {}
    for row in rows_where(rows, sweep=sweep, method=THEIRS):
        for place in places:
            true, value = row[f"{place}, true"], row[place]
            bar = row.get(f"{place}_low", value), row.get(f"{place}_high", value)
            lines.setdefault(f"{place}, true", []).append((row["value"], true, true, true))
            lines.setdefault(f"{place}, private", []).append((row["value"], value, *bar))
    return Panel(f"frequency over {TITLES[sweep]}", TITLES[sweep], "share", lines, log_x=True)


def _errors(rows: list[Row], sweep: str) -> Panel:
    title = "words" if sweep == "words" else "synthetic"
    return panel_of(
        rows,
        f"{title}: root mean squared error",
        ("value", TITLES[sweep], "error_share", "error / users"),
        lambda row: row["sweep"] == sweep,
        log_x=True,
        log_y=True,
    )


def _by_rank(shares: list[float]) -> list[Point]:
    return [(rank, share, share, share) for rank, share in enumerate(shares, start=1)]


def body(results: Results) -> str:
    """Return the figures and the tables."""
    return "\n## Figures\n" + pictures(CAPTIONS) + "\n## Tables\n" + "".join(_tables(results["rows"]))


def _tables(rows: list[Row]) -> Iterator[str]:
    columns = {"value": "users", "data": "data", "method": "method", **FOUND}
    yield "\n### Searches\n\n" + markdown(rows_where(rows, sweep="search"), columns)
    columns = {"value": "", "method": "oracle", "error": "root mean squared error, users"}
    for sweep, title in TITLES.items():
        words = "English words" if sweep == "words" else "synthetic"
        yield f"\n### Frequencies, {words}, over {title}\n\n" + markdown(
            rows_where(rows, sweep=sweep), columns | {"value": title}
        )
    columns = {
        "method": "method",
        "zeros": "words of the rarer half reported as 0",
        "low_error": "mean error, rarer half",
    }
    demo = [row for row in rows_where(rows, sweep="demo") if row["method"] != "true"]
    yield "\n### Beside RAPPOR\n\n" + markdown(
        demo, columns | {"high_error": "mean error, more frequent half"}
    )


STUDY = Study(
    "bassily2020",
    "Local heavy hitters: the experiments of Bassily et al. 2020, regenerated",
    setting,
    claims,
    figures,
    body,
)
