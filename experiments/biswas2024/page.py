"""What the results for Biswas et al. 2024 say: figures, claims and tables."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.biswas2024.claims import claims
from experiments.common.chart import Panel, draw, panel_of
from experiments.common.study import Results, Row, Study, markdown, pictures, rows_where

SETTING = """The paper has no experiments; these measure what it says of its algorithms. {flows:,} synthetic
flows with a heavy-tailed prefix structure ([flows.py](../hierarchy/flows.py)); delta = {delta:g};
{repetitions} repetitions with fresh noise, bars are the 5% and 95% quantiles. Unless they are on the axis,
epsilon = {epsilon:g}, the height is 32 (one level for each bit of an address), and a node is heavy if its
residual is at least {share:g} of the flows. Streaming methods have {counters:,} counters for each level.
The root is left out, as in the paper.

- **Offline**: ours; Algorithm 1 as printed, which is **not private** ([errata](../../docs/errata.md));
  the same with a fresh gamma for each node, as the authors announced in 2026. Theirs is truncated at a
  place that we have not read; here it is (2/epsilon) ln(h/delta), and nothing is claimed of its privacy.
- **Compared**: Laplace noise of scale h/epsilon on every node that has events (the others cannot reach
  these thresholds but with negligible probability), stability histograms for each level, and counting
  over trees (Ghazi et al. 2022) as the paper describes it, half of the budget for choosing levels. Heavy
  hitters are found from their counts.
- **Streaming**: ours, and Algorithms 3 and 4 as printed, which are **not private**. Our copy has lost the
  loop of Algorithm 4, so a node is published if its noisy count, less what is published below, reaches
  the threshold.

The error is that of the totals of published nodes; a total published by the first three offline methods
is a sum of residuals, each with its noise. Missed over the threshold: the largest residual of a node that
is not published, less the threshold. A method without a line published nothing there."""
FIGURES = {
    "error": "mean error of totals",
    "relative": "mean relative error",
    "f1": "F1",
    "missed": "missed over the threshold",
}
SEEN = 1e-9  # divergences below are not drawn
TITLES = {"height": "height", "epsilon": "epsilon", "hitters": "exact heavy hitters"}
CAPTIONS = {
    "figure_height": "Over the height of the tree.",
    "figure_epsilon": "Over epsilon, at height 32.",
    "figure_hitters": "Over the number of exact hierarchical heavy hitters, at height 32.",
    "figure_privacy": "What an attack finds, with epsilon = 1: a private method stays below its delta (ours:"
    " 1e-6).",
}


def setting(results: Results) -> str:
    """Return what was run."""
    return SETTING.format(**results["settings"])


def figures(results: Results) -> dict[str, str]:
    """Return a figure for each thing varied, and one of the attacks."""
    rows = results["rows"]
    found = {
        f"figure_{sweep}": draw([_panel(rows, sweep, shown) for shown in ("error", "relative", "f1")])
        for sweep in TITLES
    }
    attacks = panel_of(
        rows,
        "attacks",
        ("value", "height", "divergence", "hockey-stick divergence"),
        lambda row: row["sweep"] == "privacy" and row["divergence"] > SEEN,
        log_x=True,
        log_y=True,
    )
    return found | {"figure_privacy": draw([attacks])}


def _panel(rows: list[Row], sweep: str, shown: str) -> Panel:
    return panel_of(
        rows,
        f"{FIGURES[shown]} over {TITLES[sweep]}",
        ("value", TITLES[sweep], shown, FIGURES[shown]),
        lambda row: row["sweep"] == sweep and row[shown] is not None,
        log_x=True,
        log_y=shown != "f1",
        bounds=(0.0, 1.0) if shown == "f1" else None,
    )


def body(results: Results) -> str:
    """Return the figures and the tables."""
    return "\n## Figures\n" + pictures(CAPTIONS) + "\n## Tables\n" + "".join(_tables(results["rows"]))


def _tables(rows: list[Row]) -> Iterator[str]:
    for sweep, title in TITLES.items():
        columns = {"value": title, "method": "method", "published": "published", "exact": "exact", **FIGURES}
        yield f"\n### Over {title}\n\n" + markdown(rows_where(rows, sweep=sweep), columns)
    columns = {"value": "height", "method": "method", "divergence": "hockey-stick divergence"}
    yield "\n### Attacks\n\n" + markdown(rows_where(rows, sweep="privacy"), columns)


STUDY = Study(
    "biswas2024",
    "Private hierarchical heavy hitters: what Biswas et al. 2024 say, measured",
    setting,
    claims,
    figures,
    body,
)
