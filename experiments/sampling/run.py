"""Regenerate figures of Cohen et al. 2021 on Zipf data, check its claims: python -m
experiments.sampling.run"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import altair as alt
from experiments.sampling import claims, data
from experiments.sampling.data import Record

FOLDER = Path(__file__).parent / "figures"
FIGURES = {
    "figure_1": (data.figure_1, "count", "linear", "log"),
    "figure_2": (data.figure_2, "delta", "log", "log"),
    "figure_4": (data.figure_4, "count", "linear", "log"),
    "figure_5": (data.figure_5, "rate", "log", "log"),
    "figure_8_bias": (data.figure_8_bias, "count", "linear", "linear"),
    "figure_8_error": (data.figure_8_error, "rate", "log", "log"),
}


def plot(records: Iterable[Record], axis: str, scale: str, value_scale: str) -> alt.FacetChart:
    """One panel beside the other, one line a method."""
    chart = (
        alt.Chart(alt.Data(values=list(records)))
        .mark_line()
        .encode(
            alt.X(f"{axis}:Q", scale=alt.Scale(type=scale)),
            alt.Y("value:Q", scale=alt.Scale(type=value_scale), title=None),
            alt.Color("method:N", title=None),
        )
        .properties(width=280, height=220)
    )
    return chart.facet(alt.Column("panel:N", title=None)).resolve_scale(x="independent", y="independent")


def main() -> None:
    """Write the figures, then print what was found."""
    FOLDER.mkdir(exist_ok=True)
    for name, (records, axis, scale, value_scale) in FIGURES.items():
        plot(records(), axis, scale, value_scale).save(str(FOLDER / f"{name}.svg"))
    for number, check in claims.FIGURES.items():
        for sentence in check():
            print(f"figure {number}: {sentence}")


if __name__ == "__main__":
    main()
