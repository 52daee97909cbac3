"""What Biswas et al. 2024 say of their algorithms, judged on the numbers of a run.

Their Algorithms 1 and 3 are not private as printed, so what is said of them can hold with our change at best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from experiments.biswas2024 import methods as m
from experiments.biswas2024 import privacy
from experiments.common.claims import Claim, judged
from experiments.common.study import Results, column, rows_where, shown

FLAT = 2  # what counts as no growth: the largest of a sweep over the smallest
FAILURE = 0.05
SWEEPS = ("height", "epsilon", "hitters")
Values = Callable[..., list[float]]


def claims(results: Results) -> list[Claim]:
    """Return the claims of Sections 1 to 5."""
    values = partial(_values, results)
    return [*_private(results), *_scaling(values), *_compared(results, values), *_bounds(results, values)]


def _values(results: Results, sweep: str, method: str, figure: str = "error") -> list[float]:
    return column(results["rows"], figure, sweep=sweep, method=method)


def _private(results: Results) -> list[Claim]:
    found = {
        method: column(results["rows"], "divergence", sweep="privacy", method=method)
        for method in (privacy.PRINTED, privacy.OURS, privacy.STREAM, privacy.OUR_STREAM)
    }
    heights = _list(
        [row["value"] for row in rows_where(results["rows"], sweep="privacy", method=privacy.OURS)]
    )

    def claim(where: str, printed: str, ours: str) -> Claim:
        kept = {method: max(found[method]) <= privacy.DELTA for method in (printed, ours)}
        return Claim(
            where,
            f"{printed.partition(' as')[0]} is (epsilon, delta)-differentially private for every height",
            judged(kept[printed], kept[ours]),
            f"an attack reaches {_list(found[printed])} at heights {heights}, where delta is"
            f" {privacy.DELTA:g}; ours"
            f" {_list(found[ours])}",
            "figure_privacy",
        )

    return [
        claim("Theorem 3.1", privacy.PRINTED, privacy.OURS),
        claim("Theorem 5.1", privacy.STREAM, privacy.OUR_STREAM),
    ]


def _scaling(values: Values) -> list[Claim]:
    found = []
    for where, sweep in (("Sections 1 and 3, Theorem 3.2", "height"), ("Sections 1 and 3", "hitters")):
        offline = {method: values(sweep, method) for method in (m.PRINTED, m.REPAIRED, m.OFFLINE, m.LAPLACE)}
        relative = values(sweep, m.OFFLINE, "relative")
        flat = {method: _growth(each) <= FLAT for method, each in offline.items()}
        words = "the height" if sweep == "height" else "the number of hierarchical heavy hitters"
        found.append(
            Claim(
                where,
                f"the error of a node does not depend on {words}",
                judged(False, flat[m.OFFLINE]),
                f"mean error over {sweep}: {_all(offline)}; relative, ours, {_list(relative)}",
                f"figure_{sweep}",
            )
        )
    noisy = {method: values("height", method) for method in (m.LAPLACE, m.STABILITY)}
    found.append(
        Claim(
            "Section 2",
            "Laplace and stability histograms for each level have noise that grows with the height",
            judged(all(_growth(each) > 4 for each in noisy.values())),
            f"{_all(noisy)} for heights 4 to 32",
            "figure_height",
        )
    )
    return found


def _compared(results: Results, values: Values) -> list[Claim]:
    counting, stable = (
        [*values("height", each), *values("epsilon", each)] for each in (m.COUNTING, m.STABILITY)
    )
    recall = {
        each: values("height", each, "f1")
        for each in (m.OFFLINE, m.PRINTED, m.LAPLACE, m.STABILITY, m.COUNTING)
    }
    last = {each: _last(results, each) for each in (m.OFFLINE, m.PRINTED, m.LAPLACE, m.STABILITY, m.COUNTING)}
    streams = {each: values("height", each) for each in (m.STREAMING, m.PRINTED_STREAMING)}
    f1 = {each: values("height", each, "f1") for each in streams}
    others = (m.LAPLACE, m.STABILITY, m.COUNTING)
    return [
        Claim(
            "Section 2",
            "histograms for each level beat counting over trees (Ghazi et al. 2022) in nearly all cases",
            judged(sum(a > b for a, b in zip(counting, stable, strict=False)) >= 0.9 * len(stable)),
            f"mean error of counting over trees {_list(counting)}, of histograms {_list(stable)}",
            "figure_height",
        ),
        Claim(
            "Section 1",
            "the algorithm estimates nodes of high trees better than all of these",
            judged(False, all(last[m.OFFLINE] < last[each] for each in others)),
            f"height 32: {', '.join(f'{shown(value)} ({name})' for name, value in last.items())}; F1 over"
            " the height:"
            f" {_all(recall)}",
            "figure_height",
        ),
        Claim(
            "Section 5",
            "the streaming algorithm finds the hierarchical heavy hitters with noise of h/epsilon and the"
            " error of"
            " its sketches",
            judged(False, f1[m.STREAMING][-1] > f1[m.PRINTED_STREAMING][-1] and f1[m.STREAMING][-1] > 0.5),
            f"mean error {_all(streams)}; F1 {_all(f1)}",
            "figure_height",
        ),
    ]


def _bounds(results: Results, values: Values) -> list[Claim]:
    settings = results["settings"]
    threshold = settings["share"] * settings["flows"]
    heights = sorted({row["value"] for row in rows_where(results["rows"], sweep="height")})
    noise = [
        8 / settings["epsilon"] * (math.log(1 / settings["delta"]) + math.log(2 * height / FAILURE))
        for height in heights
    ]
    missed = {each: values("height", each, "missed") for each in (m.PRINTED, m.OFFLINE)}
    largest = {each: values("height", each, "largest") for each in (m.PRINTED, m.OFFLINE)}
    return [
        Claim(
            "Theorem 3.2, coverage",
            "a node that is not published has a residual of at most tau - Delta",
            judged(_below(missed[m.PRINTED], [-value for value in noise])),
            f"residuals reach tau + ({_all(missed)}), where Delta is {_list(noise)}",
        ),
        Claim(
            "Theorem 3.2, coverage, corrected",
            "a node that is not published has a residual of at most tau + Delta",
            judged(False, _below(missed[m.OFFLINE], noise)),
            f"as above: at most {shown(max(missed[m.OFFLINE]))} above tau (ours)",
        ),
        Claim(
            "Theorem 3.2, error",
            "the relative error of a node is at most Delta/tau",
            judged(False, _below(largest[m.OFFLINE], [value / threshold for value in noise])),
            f"largest, of published nodes: {_all(largest)}; Delta/tau is"
            f" {_list([value / threshold for value in noise])}",
            "figure_height",
        ),
    ]


def _last(results: Results, method: str) -> float:
    """Return the error at the largest height, or infinity if nothing is published there."""
    row = rows_where(results["rows"], sweep="height", method=method)[-1]
    return math.inf if row["error"] is None else float(row["error"])


def _growth(values: Sequence[float]) -> float:
    return max(values) / min(values) if values else math.inf


def _below(values: Sequence[float], bounds: Sequence[float]) -> bool:
    return len(values) == len(bounds) and all(a <= b for a, b in zip(values, bounds, strict=True))


def _all(each: dict[str, list[float]]) -> str:
    return "; ".join(f"{name} {_list(values)}" for name, values in each.items())


def _list(values: Sequence[float]) -> str:
    return ", ".join(shown(float(f"{value:.3g}")) for value in values) or "none"
