"""What the results of the experiments of Holland 2025 say: claims, figures and tables."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.common.chart import Panel, draw, panel_of
from experiments.common.study import Results, Row, Study, markdown, pictures
from experiments.holland2025.claims import claims

TITLES = {"k": "1/k is heavy: k", "epsilon": "epsilon", "skew": "skew", "factor": "counters / k"}
FIGURES = {
    "recall": "recall",
    "precision": "precision",
    "are": "average relative error",
    "microseconds": "CPU microseconds per update",
    "bytes": "bytes",
}
LOG_X, LOG_Y = ("k", "epsilon"), ("are", "microseconds", "bytes")
SHARES = ("recall", "precision")
# The panels of each figure: what is varied, what is shown. The last three of figure 11 are the epsilon sweep.
PANELS = {
    "figure_10": (
        "zipf",
        [
            *(("k", shown) for shown in ("bytes", "microseconds", "recall", "precision", "are")),
            ("skew", "microseconds"),
        ],
    ),
    "figure_11": (
        "zipf",
        [(what, shown) for what in ("skew", "epsilon") for shown in ("precision", "are", "recall")],
    ),
    "figure_12": (
        "trace",
        [(what, shown) for what in ("k", "epsilon") for shown in ("precision", "are", "recall")]
        + [("factor", "microseconds"), ("factor", "are"), ("factor", "recall")],
    ),
}
CAPTIONS = {
    "figure_10": "Figure 10: Zipf keys over k, and (f) over the skew.",
    "figure_11": "Figure 11: Zipf keys over the skew and over epsilon.",
    "figure_12": "Figure 12: a stream in the form of a network trace, over k, epsilon and the number of"
    " counters.",
}
SETTING = """{events:,} Zipf events over 100,001 keys, and {packets:,} packets of {sources:,} sources in the
form of a network trace: a heavy tail, and trains of packets from one source (`streams.py`; the trace of
the paper may not be passed on, so this one is synthetic). delta = {delta:g}; epsilon = 0.1, skew 1.1, k = {k}
(trace: {trace_k}, and {factor_k} where the number of counters is varied) unless they are on the axis.
{repetitions} repetitions with fresh noise and hash functions; bars are the 5% and 95% quantiles.

Heavy is a key with at least 1/k of the events. Counters hold 2k keys, and 4k keys are tracked beside a
linear sketch. The length of the stream is public in all of them but the two methods that are marked:
those have the exact length in their threshold, which is **not private** ([errata](../../docs/errata.md)).
The envelopes are those of hushcount, which correct the printed ones. The shard release has {machines}
sketches of 2k counters, as if {machines} machines had counted a part each. What is published is cut at
1/k of the length, and at gamma = ln(2/delta)/epsilon below it where Algorithm 3 prints so (the two that
are called as printed and with a public length). Recall and precision count as perfect if their mean over
the repetitions is at least 0.99; claims of private SpaceSaving are judged on the floor release."""

PRINTED_EVENTS = 1 << 24
SHORTER = """

The paper has streams of 16.8 million Zipf events and 26.6 million packets. With fewer, as here, a heavy
key has fewer events and the same noise, so small epsilons and large k are harder than there."""


def setting(results: Results) -> str:
    """Return what was run."""
    text = SETTING.format(**results["settings"], machines=4)
    return text + SHORTER if results["settings"]["events"] < PRINTED_EVENTS else text


def figures(results: Results) -> dict[str, str]:
    """Return the three figures of the paper."""
    return {
        name: draw([_panel(results["rows"], stream, *each) for each in panels])
        for name, (stream, panels) in PANELS.items()
    }


def _panel(rows: list[Row], stream: str, varied: str, shown: str) -> Panel:
    return panel_of(
        rows,
        f"{FIGURES[shown]} over {varied}",
        ("value", TITLES[varied], shown, FIGURES[shown]),
        lambda row: row["stream"] == stream and row["varied"] == varied,
        log_x=varied in LOG_X,
        log_y=shown in LOG_Y,
        bounds=(0.0, 1.0) if shown in SHARES else None,
    )


def body(results: Results) -> str:
    """Return the figures and the tables of the k sweeps."""
    return "\n## Figures\n" + pictures(CAPTIONS) + "\n## Tables\n" + "".join(_tables(results["rows"]))


def _tables(rows: list[Row]) -> Iterator[str]:
    columns = {"value": "", "method": "method", "heavy": "heavy keys", "published": "published", **FIGURES}
    for stream, words in (("zipf", "Zipf keys"), ("trace", "trace")):
        for varied, title in TITLES.items():
            found = [row for row in rows if (row["stream"], row["varied"]) == (stream, varied)]
            if found:
                named = columns | {"value": title}
                yield f"\n### {words}, over {varied}\n\n" + markdown(found, named)


STUDY = Study(
    "holland2025",
    "Private SpaceSaving: the experiments of Holland 2025, regenerated",
    setting,
    claims,
    figures,
    body,
)
