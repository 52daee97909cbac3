"""Figures 1 to 9 of Cohen et al. 2021 and its claims: python -m experiments.cohen2021.run

Writes results.json, README.md and figures/ beside this file, or where --folder says. All sizes are the
same, because nothing is drawn: tiny leaves out the sampled figures, which take a minute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.cohen2021 import data
from experiments.cohen2021.page import STUDY
from experiments.common.study import Row, asked, made

SLOW = ("figure_5", "figure_5_printed", "figure_6_and_7", "figure_8_bias", "figure_8_error", "figure_9")
FIGURES = {
    "figure_1": data.figure_1,
    "figure_2": data.figure_2,
    "figure_3": data.figure_3,
    "figure_4": data.figure_4,
    "figure_5": data.figure_5,
    "figure_5_printed": data.figure_5_printed,
    "figure_6_and_7": data.figure_6_and_7,
    "figure_8_bias": data.figure_8_bias,
    "figure_8_error": data.figure_8_error,
    "figure_9": data.figure_9,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute every figure."""
    chosen = asked(STUDY, ("tiny", "small", "full"), arguments)
    if chosen.only_page:
        return STUDY.draw(chosen.folder)
    rows = []
    for name, records in FIGURES.items():
        if chosen.size == "tiny" and name in SLOW:
            continue
        print(name, flush=True)
        rows += lines(name, records())
    return STUDY.write({"made": made(STUDY, chosen), "rows": rows}, chosen.folder)


def lines(figure: str, records: Iterable[data.Record]) -> list[Row]:
    """Return one row for each line of a figure, with its values x and y as lists."""
    found: dict[tuple[str, str], Row] = {}
    for record in records:
        panel, method = str(record["panel"]), str(record["method"])
        empty: Row = {"figure": figure, "panel": panel, "method": method, "x": [], "y": []}
        row = found.setdefault((panel, method), empty)
        row["x"].append(record["x"])
        row["y"].append(record["y"])
    return list(found.values())


if __name__ == "__main__":
    main()
