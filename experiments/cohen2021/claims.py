"""What Cohen et al. 2021 claim of their figures (Section 8 and the abstract), judged on the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from experiments.cohen2021.data import BASELINE, NO_SAMPLING, NOT_PRIVATE, OPTIMAL, RATIO, SAMPLED
from experiments.common.claims import Claim, judged
from experiments.common.study import Results, Row, rows_where

Line = dict[float, float]


def claims(results: Results) -> list[Claim]:
    """Return the claims of the figures that the results have."""
    known = {row["figure"] for row in results["rows"]}
    return [claim for name, check in CHECKS.items() if name in known for claim in check(results["rows"])]


def line(rows: list[Row], figure: str, panel: str, method: str) -> Line:
    """Return one line of a figure: value by place."""
    (found,) = rows_where(rows, figure=figure, panel=panel, method=method)
    return dict(zip(found["x"], found["y"], strict=True))


def panels(rows: list[Row], figure: str) -> list[str]:
    """Return the panels of a figure."""
    return list(dict.fromkeys(row["panel"] for row in rows_where(rows, figure=figure)))


def gains(optimal: Line, baseline: Line) -> Line:
    """Return how many more keys, as a fraction of the baseline's."""
    return {place: optimal[place] / baseline[place] - 1 for place in optimal}


def figure_1(rows: list[Row]) -> Iterator[Claim]:
    """Reporting without sampling."""
    both = {
        panel: [line(rows, "figure_1", panel, method) for method in (OPTIMAL, BASELINE)]
        for panel in panels(rows, "figure_1")
    }
    earlier, found, ratios = True, [], []
    for panel, (optimal, baseline) in both.items():
        full = min(count for count in optimal if optimal[count] >= 1 - 1e-9)
        earlier &= baseline[full] < 1 - 1e-9 and all(
            optimal[at] >= baseline[at] * (1 - 1e-5) for at in optimal
        )
        found.append(f"{panel}: 1 from count {full:g} on, where the baseline is at {baseline[full]:.3f}")
        ratios.append((panel, optimal[1] / baseline[1], max(optimal[at] / baseline[at] for at in optimal)))
    yield Claim(
        "Figure 1",
        "optimal reporting is above that of the stability histogram, and reaches 1 earlier",
        judged(earlier),
        "; ".join(found),
        "figure_1",
    )
    limits = [2 / float(panel.split("epsilon=")[1].split(",")[0]) for panel in both]
    yield Claim(
        "Section 8.1",
        "the ratio of both is 2 for a count of 1, and at most 2/epsilon",
        judged(
            all(math.isclose(first, 2, rel_tol=0.02) for _, first, _ in ratios)
            and all(most <= limit for (_, _, most), limit in zip(ratios, limits, strict=True))
        ),
        "; ".join(
            f"{panel}: {first:.3f}, at most {most:.1f} for {limit:.0f}"
            for (panel, first, most), limit in zip(ratios, limits, strict=True)
        )
        + "; the supremum is 2 exp(epsilon)/(exp(epsilon) - 1)",
        "figure_1",
    )


def figure_2(rows: list[Row]) -> Iterator[Claim]:
    """Keys over delta."""
    for panel in panels(rows, "figure_2"):
        gain = gains(line(rows, "figure_2", panel, OPTIMAL), line(rows, "figure_2", panel, BASELINE))
        least, most = min(gain.values()), max(gain.values())
        held = min((delta for delta, value in gain.items() if value >= 0.2), default=math.nan)
        yield Claim(
            "Figure 2, abstract",
            f"20% to 300% more keys over delta in [1e-8, 1], {panel}",
            judged(least >= 0.2 and most <= 3),
            f"{least:.0%} to {most:.0%}; at least 20% from delta = {held:.2g} on",
            "figure_2",
        )


def figure_3(rows: list[Row]) -> Iterator[Claim]:
    """Keys over delta, counts that a package carries."""
    found = {name: line(rows, "figure_3", RATIO, name) for name in _names(rows, "figure_3")}
    yield Claim(
        "Figure 3",
        "on real data the gain is similar to that on Zipf data (20% to 300%)",
        judged(all(min(each.values()) >= 1.2 and max(each.values()) <= 4 for each in found.values())),
        "; ".join(
            f"{name}: {min(each.values()) - 1:.0%} to {max(each.values()) - 1:.0%} more keys"
            for name, each in found.items()
        ),
        "figure_3",
    )


def figure_4(rows: list[Row]) -> Iterator[Claim]:
    """Reporting with sampling."""
    holds, found = True, []
    for panel in panels(rows, "figure_4"):
        sampled, optimal, baseline = (
            line(rows, "figure_4", panel, each) for each in (NOT_PRIVATE, OPTIMAL, SAMPLED)
        )
        holds &= all(baseline[at] <= optimal[at] * (1 + 1e-4) for at in optimal)
        holds &= all(optimal[at] <= sampled[at] * (1 + 1e-4) for at in optimal)
        reached = min(at for at in optimal if math.isclose(optimal[at], sampled[at], rel_tol=1e-5))
        lost = 1 - baseline[reached] / sampled[reached]
        holds &= lost > 0.01
        found.append(f"{panel}: no loss from count {reached:g} on, where the baseline loses {lost:.0%}")
    yield Claim(
        "Figure 4",
        "with sampling, private reporting reaches that of the sample at a lower count than the baseline",
        judged(holds),
        "; ".join(found),
        "figure_4",
    )


def figure_5(rows: list[Row]) -> Iterator[Claim]:
    """Keys over the sampling rate."""
    for alpha, claimed in ((0.5, 2.30), (1, 0.97), (2, 0.37)):
        panel = f"Zipf[{alpha:g}]"
        sampled, optimal, baseline = (
            line(rows, "figure_5", panel, each) for each in (NOT_PRIVATE, OPTIMAL, SAMPLED)
        )
        gain = gains(optimal, baseline)
        yield Claim(
            "Figure 5",
            f"at least {claimed:.0%} more keys at every sampling rate, {panel}",
            judged(min(gain.values()) >= claimed),
            f"{min(gain.values()):.0%} to {max(gain.values()):.0%} on a million events over 100,000 keys",
            "figure_5",
        )
        yield Claim(
            "Figure 5",
            f"what is published approaches the sample as the rate approaches delta, {panel}",
            judged(math.isclose(optimal[0.001], sampled[0.001], rel_tol=1e-4)),
            f"{optimal[0.001] / sampled[0.001]:.4f} of the sample at rate 0.001",
            "figure_5",
        )


def figure_5_printed(rows: list[Row]) -> Iterator[Claim]:
    """The gains of figure 5 on counts n / i^alpha down to 1."""
    for alpha, claimed in ((0.5, 2.30), (1, 0.97), (2, 0.37)):
        gain = line(rows, "figure_5_printed", "gain", f"n / i^{alpha:g}")
        plain, least = gain.pop(NO_SAMPLING), min(gain.values())
        yield Claim(
            "Figure 5",
            f"the same on counts n / i^{alpha:g} down to 1, on which the printed numbers are those without"
            " sampling",
            judged(least >= claimed),
            f"{plain:.0%} without sampling, at least {least:.0%} over all rates",
        )


def figure_6_and_7(rows: list[Row]) -> Iterator[Claim]:
    """Keys over the sampling rate, counts that a package carries."""
    figure = "figure_6_and_7"
    for name in _names(rows, figure):
        sampled, optimal = (line(rows, figure, name, each) for each in (NOT_PRIVATE, OPTIMAL))
        ratio = line(rows, figure, RATIO, name)
        near = optimal[min(optimal)] / sampled[min(sampled)]
        yield Claim(
            "Figures 6 and 7",
            f"more keys than the baseline at every rate, near those of the sample at low rates, {name}",
            judged(min(ratio.values()) > 1 and near > 0.99),
            f"{min(ratio.values()) - 1:.0%} to {max(ratio.values()) - 1:.0%} more keys; {near:.3f} of the"
            " sample at the"
            " lowest rate",
            figure,
        )


def figure_8_bias(rows: list[Row]) -> Iterator[Claim]:
    """Bias of one key."""
    names = ["optimal, no sampling", "optimal, rate 0.1", "optimal, rate 0.01", "optimal, rate 0.002"]
    lines = [line(rows, "figure_8_bias", "bias / count", name) for name in (BASELINE, *names)]
    worst = [sum(map(abs, each.values())) / len(each) for each in lines]
    yield Claim(
        "Figure 8, top",
        "the bias is lower than that of the baseline, lower still at lower rates, and vanishes for high"
        " counts",
        judged(worst == sorted(worst, reverse=True) and all(abs(each[250.0]) < 0.01 for each in lines[1:])),
        "mean absolute bias / count: "
        + ", ".join(f"{value:.3f}" for value in worst)
        + " (baseline, then lower"
        " rates)",
        "figure_8_bias",
    )


def figure_8_error(rows: list[Row]) -> Iterator[Claim]:
    """Error of a sum."""
    sampled, optimal, baseline = (
        line(rows, "figure_8_error", "NRMSE", each) for each in (NOT_PRIVATE, OPTIMAL, SAMPLED)
    )
    best = min(optimal, key=lambda rate: optimal[rate])
    falling = all(list(each.values()) == sorted(each.values(), reverse=True) for each in (sampled, baseline))
    yield Claim(
        "Figure 8, bottom",
        "the error of a sum is lower than that of the baseline, also without sampling",
        judged(all(optimal[rate] < baseline[rate] for rate in optimal)),
        f"NRMSE {optimal[1.0]:.3f} against {baseline[1.0]:.3f} at rate 1",
        "figure_8_error",
    )
    yield Claim(
        "Figure 8, bottom",
        "it is lowest at a middle rate; those of the others fall with the rate",
        judged(min(optimal) < best < max(optimal) and falling),
        f"lowest NRMSE {optimal[best]:.4f} at rate {best:.3g}",
        "figure_8_error",
    )


def figure_9(rows: list[Row]) -> Iterator[Claim]:
    """Variance of one key."""
    plain = "variance / count^2, no sampling"
    optimal, baseline = (line(rows, "figure_9", plain, each) for each in (OPTIMAL, SAMPLED))
    largest, last = max(optimal.values()), optimal[max(optimal)]
    above = [at for at, value in optimal.items() if value >= 1]
    yield Claim(
        "Figure 9",
        "without sampling the variance of the estimate is a fraction of the square of the count, and"
        " vanishes",
        judged(not above and last < 0.05),
        f"{last:.4f} at count {max(optimal):g}, and below 1 for counts above {max(above, default=0):g}; at"
        f" most {largest:.2f} below (baseline: at most {max(baseline.values()):.2f})",
        "figure_9",
    )
    for panel in panels(rows, "figure_9"):
        if panel.startswith("variance / count^2, rate"):
            sampled, optimal = (line(rows, "figure_9", panel, each) for each in (NOT_PRIVATE, OPTIMAL))
            ratios = {at: optimal[at] / sampled[at] for at in optimal if sampled[at] > 0.01}
            large = [at for at, ratio in ratios.items() if ratio > 2]
            yield Claim(
                "Figure 9",
                f"with sampling it is of the order of that of the sample itself, {panel.partition(', ')[2]}",
                judged(not large),
                f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times that of the sample"
                + (f"; above twice it for counts from {min(large):g} to {max(large):g}" if large else ""),
                "figure_9",
            )


def _names(rows: list[Row], figure: str) -> list[str]:
    return [panel for panel in panels(rows, figure) if panel != RATIO]


CHECKS: dict[str, Callable[[list[Row]], Iterator[Claim]]] = {
    check.__name__: check
    for check in (
        figure_1,
        figure_2,
        figure_3,
        figure_4,
        figure_5,
        figure_5_printed,
        figure_6_and_7,
        figure_8_bias,
        figure_8_error,
        figure_9,
    )
}
