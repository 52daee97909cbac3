"""What the numbers of the figures of Cohen et al. 2021 say: figures, claims, and the data behind them."""

from __future__ import annotations

from experiments.cohen2021 import data
from experiments.cohen2021.claims import claims
from experiments.common.chart import Panel, draw
from experiments.common.study import Results, Row, Study, pictures, rows_where

SETTING = """Every number is computed from the rows of the sampling distributions and from closed forms;
nothing is simulated, so all sizes give the same. epsilon = 0.1 and delta = 0.001 unless a panel says
something else.

The Zipf data are 1,000,000 events over 100,000 keys, the i-th key with a share proportional to i^-alpha
and at least one event. The paper does not say how many keys and events it had. In place of its two real
data sets, which are not carried by any package, Figures 3, 6 and 7 have data of the same form
(`words.py`): the words of seven million words of English (headlines there), by the frequencies of the
package wordfreq, and the nodes of a graph of the letters of the same words, by degree (a graph of people
there)."""
# The axes of each figure, and whether they are logarithmic.
AXES = {
    "figure_1": ("count", "reporting probability", False, True),
    "figure_2": ("delta", "keys published", True, True),
    "figure_3": ("delta", "keys published", True, True),
    "figure_4": ("count", "reporting probability", False, True),
    "figure_5": ("sampling rate", "keys published", True, True),
    "figure_6_and_7": ("sampling rate", "keys published", True, True),
    "figure_8_bias": ("count", "bias / count", False, False),
    "figure_8_error": ("sampling rate", "NRMSE", True, True),
    "figure_9": ("count", "variance", False, True),
}
CAPTIONS = {
    "figure_1": "Figure 1: the probability that a key is published, by its count.",
    "figure_2": "Figure 2: the share of keys published over delta, Zipf data.",
    "figure_3": "Figure 3: the same for counts that a package carries, and the ratio of both methods.",
    "figure_4": "Figure 4: the probability that a key is published, with sampling.",
    "figure_5": "Figure 5: the share of keys published over the sampling rate, Zipf data.",
    "figure_6_and_7": "Figures 6 and 7: the same for counts that a package carries, and the ratio of both"
    " methods.",
    "figure_8_bias": "Figure 8, top: bias over count.",
    "figure_8_error": "Figure 8, bottom: the error of a sum over 200,000 keys with counts uniform on 1 to"
    " 200.",
    "figure_9": "Figure 9: variance over the square of the count, and variance.",
}
NOTES = """
## Where a claim does not hold

For Zipf[2] the gain of Figure 2 falls below 20% when delta is below 1e-4. It has to: with counts
proportional to i^-2 the number of keys above a count w goes as w^(-1/2), and the thresholds L and T of
the two methods differ by 31 of 185 at delta = 1e-8, a gain of (185/154)^(1/2) - 1 = 10%. And on counts n
/ i^2 down to 1 the gain of Figure 5 falls with the rate, since keys too frequent to lose anything then
dominate the sample.
"""


def setting(results: Results) -> str:
    """Return what was computed."""
    return SETTING


def figures(results: Results) -> dict[str, str]:
    """Return the figures of the paper that the results have."""
    return {
        name: draw([_panel(name, panel, results["rows"]) for panel in panels])
        for name in AXES
        if (panels := _panels(name, results["rows"]))
    }


def _panels(figure: str, rows: list[Row]) -> list[str]:
    """Return the panels of a figure in their order, those with a ratio last."""
    found = list(dict.fromkeys(row["panel"] for row in rows_where(rows, figure=figure)))
    return sorted(found, key=lambda panel: panel == data.RATIO)


def _panel(figure: str, panel: str, rows: list[Row]) -> Panel:
    x, y, log_x, log_y = AXES[figure]
    drawn = {
        row["method"]: [(at, value, value, value) for at, value in zip(row["x"], row["y"], strict=True)]
        for row in rows_where(rows, figure=figure, panel=panel)
    }
    return Panel(panel, x, "ratio" if panel == data.RATIO else y, drawn, log_x, log_y and panel != data.RATIO)


def body(results: Results) -> str:
    """Return the figures and why some claims do not hold."""
    known = figures(results)
    return "\n## Figures\n" + pictures({name: CAPTIONS[name] for name in known}) + NOTES


STUDY = Study(
    "cohen2021",
    "Private weighted sampling: the figures of Cohen et al. 2021, regenerated",
    setting,
    claims,
    figures,
    body,
)
