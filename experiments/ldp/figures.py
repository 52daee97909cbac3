"""Plots of the comparison: recall, F1 and relative error over epsilon and users; variances."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import altair as alt
from experiments.ldp import baselines
from experiments.ldp.hadamard_sketch import HadamardSketch

DATA = {"words": "English words", "zipf": "93 Zipf words"}
FIGURES = {
    "recall": ("recall", "linear"),
    "f1": ("F1", "linear"),
    "relative_error": ("mean relative error", "log"),
}
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "cross",
    "diamond",
    "triangle-down",
    "triangle-left",
    "triangle-right",
]


def write(rows: list[dict[str, Any]], folder: Path) -> None:
    """One file a figure."""
    folder.mkdir(exist_ok=True)
    charts = {name: against_epsilon(rows, name) for name in FIGURES}
    charts["recall_users"] = against_users(rows)
    charts["variance"] = variances()
    for name, chart in charts.items():
        chart.save(str(folder / f"{name}.svg"))


def against_epsilon(rows: list[dict[str, Any]], figure: str) -> alt.FacetChart:
    """A figure over epsilon; a panel for each data set and number of users."""
    return _panels(rows, figure, _axis("epsilon", "epsilon", [0.5, 1, 2, 4]), "by_users")


def against_users(rows: list[dict[str, Any]]) -> alt.FacetChart:
    """Recall over the number of users; a panel for each data set and epsilon."""
    return _panels(rows, "recall", _axis("users", "users", [1e5, 1e6, 1e7]), "by_epsilon")


def _axis(field: str, title: str, values: list[float]) -> alt.X:
    axis = alt.Axis(values=values, format="~g" if field == "epsilon" else "~s")
    scale = alt.Scale(type="log", domain=[values[0], values[-1]], padding=12)
    return alt.X(f"{field}:Q", scale=scale, title=title, axis=axis)


def _panels(rows: list[dict[str, Any]], figure: str, axis: alt.X, column: str) -> alt.FacetChart:
    values = [row | _labels(row) for row in rows if row[figure] is not None]
    title, scale = FIGURES[figure]
    methods = list(dict.fromkeys(row["method"] for row in rows))
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=1.5, point=alt.OverlayMarkDef(size=50, filled=True))
        .encode(
            axis,
            alt.Y(f"{figure}:Q", scale=alt.Scale(type=scale, nice=False), title=title),
            alt.Color("method:N", title=None, scale=alt.Scale(domain=methods, scheme="dark2")),
            alt.Shape("method:N", title=None, scale=alt.Scale(domain=methods, range=SHAPES[: len(methods)])),
        )
        .properties(width=230, height=200)
    )
    columns = list(dict.fromkeys(value[column] for value in values))
    return chart.facet(
        row=alt.Row("by_data:N", title=None, sort=list(DATA.values())),
        column=alt.Column(f"{column}:N", title=None, sort=columns),
    )


def _labels(row: dict[str, Any]) -> dict[str, str]:
    return {
        "by_data": DATA[row["data"]],
        "by_users": f"{row['users']:,} users",
        "by_epsilon": f"epsilon = {row['epsilon']:g}",
    }


def variances() -> alt.Chart:
    """Variance of the estimate of an absent item over that of OUE, by the formulas."""
    grid = [0.5 * 2 ** (step / 16) for step in range(49)]
    values = [
        {"epsilon": epsilon, "ratio": variance(epsilon) / VARIANCES["OUE"](epsilon), "oracle": oracle}
        for oracle, variance in VARIANCES.items()
        for epsilon in grid
    ]
    oracles = list(VARIANCES)
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line()
        .encode(
            _axis("epsilon", "epsilon", [0.5, 1, 2, 4]),
            alt.Y(
                "ratio:Q",
                scale=alt.Scale(type="log", domain=[0.9, 20], nice=False),
                title="variance of an absent item / that of OUE",
            ),
            alt.Color("oracle:N", title=None, scale=alt.Scale(domain=oracles, scheme="dark2")),
            alt.StrokeDash("oracle:N", title=None, scale=alt.Scale(domain=oracles)),
        )
        .properties(width=420, height=300)
    )


def hadamard_hashing(epsilon: float) -> float:
    """Variance a user of Hadamard local hashing, b bits: local hashing over 2^b values."""
    q = 1 << min(5, max(1, round(math.log2(math.exp(epsilon) + 1))))
    p = math.exp(epsilon) / (math.exp(epsilon) + q - 1)
    return float(baselines.Support(p, 1 / q).variance(0, 1))


VARIANCES = {
    "HCMS, 1-bit Hadamard": lambda epsilon: HadamardSketch(epsilon).variance(0, 0, 1),
    "RAPPOR": lambda epsilon: baselines.unary(epsilon).variance(0, 1),
    "b-bit Hadamard": hadamard_hashing,
    "OLH": lambda epsilon: baselines.local_hashing(epsilon).variance(0, 1),
    "OUE": lambda epsilon: baselines.optimised_unary(epsilon).variance(0, 1),
}
