"""What the results for Lebeda and Tětek 2023 say: figures with the theory's curves, claims and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from experiments.common.chart import Panel, Point, draw, panel_of
from experiments.common.study import Results, Row, Study, markdown, pictures, rows_where
from experiments.lebeda2023 import theory
from experiments.lebeda2023.claims import claims

SETTING = """The paper has no experiments; these measure what its theorems say. epsilon = {epsilon:g}, delta =
{delta:g}; {repetitions} repetitions with fresh noise, bars are the 5% and 95% quantiles. {events:,}
events with Zipf(1.1) keys of {domain:,}. An error is that of the key with the largest one, against what
the sketch estimates (*noise*) or against the true count (*error*); a key that is not published counts as
0. Lines that end in "theory" are curves of the paper, with failure beta = {beta:g}.

- **k**: one Misra-Gries sketch with k counters.
- **Machines**: {counters} counters on each; events dealt to machines at random (*dealt*), and a stream of
  which every machine has each of its keys {each} times (*even*), the worst case of Section 7: no machine
  publishes such a key.
- **Users**: each has m distinct keys, {four_counters:,} counters, the same number of events for each m.
- **Pure**: delta = 0 and epsilon = {pure_epsilon:g}, {pure_events:,} events, {counters} counters, over a
  public domain."""
CAPTIONS = {
    "figure_k": "One sketch: noise and error over the number of counters.",
    "figure_machines": "Several machines: the largest error over their number.",
    "figure_users": "Users with several keys: noise and error over the number of keys of a user.",
    "figure_domain": "delta = 0: the largest error over the size of the public domain.",
}
TITLES = {
    "k": "counters k",
    "machines": "machines",
    "even": "machines",
    "users": "keys of a user, m",
    "domain": "log2 of the domain",
}
ERRORS = {"noise": "largest error against the sketch", "error": "largest error against the truth"}
Curve = Callable[[float], float]


def setting(results: Results) -> str:
    """Return what was run."""
    settings = results["settings"]
    return SETTING.format(**settings, four_counters=4 * settings["counters"])


def curves(settings: dict[str, Any]) -> dict[tuple[str, str], dict[str, Curve]]:
    """Return the curves of the theory, for each thing varied and each error."""
    n, few, k = settings["events"], settings["pure_events"], settings["counters"]
    epsilon, delta, beta = settings["epsilon"], settings["delta"], settings["beta"]
    pure = settings["pure_epsilon"]
    even = settings["each"] * (k // 8)
    return {
        ("k", "noise"): {
            "PMG, theory": lambda at: theory.pmg_noise(int(at), epsilon, delta, beta),
            "Chan et al. 2012, theory": lambda at: theory.chan_noise(int(at), epsilon, delta, beta),
        },
        ("k", "error"): {"PMG, theory": lambda at: theory.pmg_error(n, int(at), epsilon, delta, beta)},
        ("machines", "error"): {
            "untrusted, theory": lambda at: theory.untrusted_error(n, k, epsilon, delta, int(at))
        },
        ("even", "error"): {
            "untrusted, theory": lambda at: theory.untrusted_error(even, k, epsilon, delta, int(at))
        },
        ("users", "noise"): {
            "PMG at epsilon/m, theory": lambda at: theory.group_noise(int(at), 4 * k, (epsilon, delta), beta),
            "PAMG, theory": lambda _: theory.gaussian_noise(4 * k, epsilon, delta),
        },
        ("users", "error"): {},
        ("domain", "error"): {
            "reduced counters, theory": lambda at: theory.pure_error(few, k, pure, at, beta),
            "Chan et al. 2012, theory": lambda at: theory.chan_pure_error(few, k, pure, at, beta),
        },
    }


def figures(results: Results) -> dict[str, str]:
    """Return the four figures."""
    panels = {key: _panel(results, *key) for key in curves(results["settings"])}
    return {
        "figure_k": draw([panels["k", "noise"], panels["k", "error"]], 2),
        "figure_machines": draw([panels["machines", "error"], panels["even", "error"]], 2),
        "figure_users": draw([panels["users", "noise"], panels["users", "error"]], 2),
        "figure_domain": draw([panels["domain", "error"]], 2),
    }


def _panel(results: Results, sweep: str, error: str) -> Panel:
    axes = ("value", TITLES[sweep], error, ERRORS[error])
    words = {"k": "one sketch", "machines": "dealt", "even": "even", "users": "users", "domain": "pure"}
    panel = panel_of(
        (row for row in results["rows"] if row.get(error) is not None),
        f"{words[sweep]}: {error}",
        axes,
        lambda row: row["sweep"] == sweep,
        log_x=sweep != "domain",
        log_y=True,
    )
    places = sorted({row["value"] for row in rows_where(results["rows"], sweep=sweep)})
    for name, curve in curves(results["settings"])[sweep, error].items():
        panel.lines[name] = [_point(place, curve(place)) for place in places]
    return panel


def _point(place: float, value: float) -> Point:
    return place, value, value, value


def body(results: Results) -> str:
    """Return the figures and the tables."""
    return "\n## Figures\n" + pictures(CAPTIONS) + "\n## Tables\n" + "".join(_tables(results["rows"]))


def _tables(rows: list[Row]) -> Iterator[str]:
    for sweep, title in TITLES.items():
        columns = {"value": title, "method": "method", "published": "published", **ERRORS}
        if sweep not in ("k", "users"):
            del columns["noise"]
        yield f"\n### {sweep.capitalize()}\n\n" + markdown(rows_where(rows, sweep=sweep), columns)


STUDY = Study(
    "lebeda2023",
    "Private Misra-Gries: the theorems of Lebeda and Tětek 2023, measured",
    setting,
    claims,
    figures,
    body,
)
