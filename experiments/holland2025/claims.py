"""What Holland 2025 says of its experiments (Section 6), judged on the numbers of a run.

DPSS as printed is not private, and the printed envelopes are not either, so what is said of them can hold
with our change at best: DPSS with a public length, the floor release, and the corrected envelopes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from experiments.common.claims import Claim, judged
from experiments.common.study import Results, column, shown
from experiments.holland2025.methods import BOUNDED, CODE, COUNT_MIN, COUNT_SKETCH, DPMG, FLOOR, PRINTED

OURS = (BOUNDED, FLOOR)
LINEAR = (COUNT_MIN, COUNT_SKETCH)
NEARLY = 0.99  # the mean over repetitions that counts as perfect recall or precision
MEMORY = 240_000
Values = Callable[..., list[float]]


def claims(results: Results) -> list[Claim]:
    """Return the claims of the three figures."""
    values = partial(_values, results)
    return [*_costs(values), *_synthetic(values), *_trace(values), *_counters(values)]


def _values(results: Results, figure: str, method: str, stream: str, varied: str) -> list[float]:
    return column(results["rows"], figure, method=method, stream=stream, varied=varied)


def _costs(values: Values) -> list[Claim]:
    memory = {each: values("bytes", each, "zipf", "k") for each in (DPMG, FLOOR, *LINEAR)}
    times = [[a / b for a, b in zip(memory[each], memory[FLOOR], strict=True)] for each in LINEAR]
    speed = {each: values("microseconds", each, "zipf", "k") for each in (DPMG, FLOOR, *LINEAR)}
    slower = [[a / b for a, b in zip(speed[each], speed[FLOOR], strict=True)] for each in LINEAR]
    skew = {each: values("microseconds", each, "zipf", "skew") for each in (DPMG, FLOOR, *LINEAR)}
    return [
        Claim(
            "10a, headline",
            "counters need at most 240 KB",
            judged(max(memory[DPMG] + memory[FLOOR]) <= MEMORY),
            f"{_kb(memory[FLOOR])} (SpaceSaving), {_kb(memory[DPMG])} (Misra-Gries); at most"
            f" {MEMORY // 1000} KB up"
            f" to k = {_fitting(memory, values('value', FLOOR, 'zipf', 'k')):g}; the tables of hushcount use"
            " a third of"
            " their slots",
            "figure_10",
        ),
        Claim(
            "10a",
            "linear sketches use about six times the memory of counters",
            judged(False, min(times[0] + times[1]) > 1),
            f"Count-Min {_range(times[0])} times, CountSketch {_range(times[1])} times that of SpaceSaving",
            "figure_10",
        ),
        Claim(
            "10b",
            "updates of counters are faster by a wide margin",
            judged(min(slower[0] + slower[1]) > 1.2),
            f"Count-Min {_range(slower[0])} times, CountSketch {_range(slower[1])} times the time of"
            " SpaceSaving,"
            f" which takes {_range(speed[FLOOR])} microseconds",
            "figure_10",
        ),
        Claim(
            "10f",
            "with more skew all updates are faster",
            judged(all(each[-1] < each[0] for each in skew.values())),
            "; ".join(
                f"{name} {shown(each[0])} to {shown(each[-1])} microseconds" for name, each in skew.items()
            ),
            "figure_10",
        ),
    ]


def _synthetic(values: Values) -> list[Claim]:
    found = []
    for where, figure, varied in (
        ("10c", "figure_10", "k"),
        ("11c", "figure_11", "skew"),
        ("11f", "figure_11", "epsilon"),
    ):
        found.append(_perfect(values, f"{where}, headline", ("recall", "zipf", varied), figure))
    for where, figure, varied in (
        ("10d", "figure_10", "k"),
        ("11a", "figure_11", "skew"),
        ("11d", "figure_11", "epsilon"),
    ):
        found.append(_perfect(values, f"{where}, headline", ("precision", "zipf", varied), figure))
    return [*found, _degrading(values, "10c", "zipf", "figure_10"), *_errors(values)]


def _perfect(values: Values, where: str, what: tuple[str, str, str], picture: str) -> Claim:
    """The recall or precision of SpaceSaving is perfect."""
    found = {each: values(what[0], each, *what[1:]) for each in (PRINTED, CODE, *OURS)}
    places = values("value", FLOOR, *what[1:])
    return Claim(
        where,
        f"{what[0]} of private SpaceSaving is perfect for every {what[2]}",
        judged(False, min(found[FLOOR]) >= NEARLY),
        "lowest mean: " + "; ".join(f"{name} {_lowest(each, places)}" for name, each in found.items()),
        picture,
    )


def _lowest(values: Sequence[float], places: Sequence[float]) -> str:
    """Return the lowest value, and where it is found if that is not everywhere."""
    low = min(values)
    if low == max(values):
        return shown(low)
    return f"{shown(low)} (at {places[values.index(low)]:g})"


def _degrading(values: Values, where: str, stream: str, picture: str) -> Claim:
    """Recall over k falls for linear sketches."""
    recall = {each: values("recall", each, stream, "k") for each in (DPMG, *LINEAR)}
    return Claim(
        where,
        "recall of linear sketches falls with larger k, because their noise meets the threshold",
        judged(False, all(recall[each][-1] < recall[each][0] for each in LINEAR)),
        "; ".join(f"{name} {' '.join(shown(value) for value in each)}" for name, each in recall.items()),
        picture,
    )


def _errors(values: Values) -> list[Claim]:
    every = (DPMG, PRINTED, FLOOR, *LINEAR)
    error = {each: values("are", each, "zipf", "k") for each in every}
    misra_gries = all(
        error[DPMG][at] == max(each[at] for each in error.values()) for at in range(len(error[DPMG]))
    )
    best = [min(error[FLOOR][at], error[PRINTED][at]) for at in range(len(error[DPMG]))]
    lowest = all(value <= min(error[each][at] for each in LINEAR) for at, value in enumerate(best))
    ours = all(value <= min(error[each][at] for each in LINEAR) for at, value in enumerate(error[FLOOR]))
    noise = {each: values("are", each, "zipf", "epsilon") for each in every}
    recall = values("recall", DPMG, "zipf", "epsilon")
    return [
        Claim(
            "10e",
            "Misra-Gries has the largest relative error and SpaceSaving the smallest",
            judged(False, misra_gries and (lowest or ours)),
            "; ".join(f"{name} {_range(each)}" for name, each in error.items()),
            "figure_10",
        ),
        Claim(
            "10e, takeaway",
            "Count-Min errs less than CountSketch (10e); CountSketch errs less than Count-Min (takeaway):"
            " the text"
            " says both",
            judged(False, all(a > b for a, b in zip(error[COUNT_MIN], error[COUNT_SKETCH], strict=True))),
            f"the second: Count-Min {_range(error[COUNT_MIN])}, CountSketch {_range(error[COUNT_SKETCH])}",
            "figure_10",
        ),
        Claim(
            "11e",
            "the relative error matters at tight budgets only",
            judged(False, noise[FLOOR][-1] <= noise[FLOOR][0]),
            "; ".join(f"{name} {shown(each[0])} to {shown(each[-1])}" for name, each in noise.items()),
            "figure_11",
        ),
        Claim(
            "11f",
            "epsilon hardly changes the recall of counters, with a dip of Misra-Gries at very small ones",
            judged(max(recall[2:]) - min(recall[2:]) <= 0.05),
            f"DPMG {' '.join(map(shown, recall))} for epsilon 0.001 to 10",
            "figure_11",
        ),
    ]


def _trace(values: Values) -> list[Claim]:
    error = {each: values("are", each, "trace", "k") for each in (COUNT_SKETCH, *OURS)}
    insensitive = values("are", FLOOR, "trace", "epsilon")
    misra_gries = values("recall", DPMG, "trace", "k")
    return [
        _perfect(values, "12a", ("precision", "trace", "k"), "figure_12"),
        _perfect(values, "12c", ("recall", "trace", "k"), "figure_12"),
        Claim(
            "12b, headline",
            "the relative error of SpaceSaving and CountSketch stays below 0.04",
            judged(False, max(error[FLOOR] + error[COUNT_SKETCH]) < 0.04),
            "largest: " + ", ".join(f"{shown(max(each))} ({name})" for name, each in error.items()),
            "figure_12",
        ),
        _degrading(values, "12c", "trace", "figure_12"),
        Claim(
            "12c",
            "recall of Misra-Gries gains from larger tables",
            judged(misra_gries[-1] > misra_gries[0]),
            f"DPMG {' '.join(map(shown, misra_gries))} over k",
            "figure_12",
        ),
        _perfect(values, "12d", ("precision", "trace", "epsilon"), "figure_12"),
        Claim(
            "12e",
            "the relative error hardly depends on epsilon: the sketch errs more than the noise",
            judged(False, max(insensitive[1:]) <= 2 * min(insensitive[1:])),
            f"floor release {' '.join(map(shown, insensitive))} for epsilon 0.001 to 10",
            "figure_12",
        ),
    ]


def _counters(values: Values) -> list[Claim]:
    """Figures 12 g to i: the number of counters."""
    time, error, recall = (
        {each: values(figure, each, "trace", "factor") for each in (DPMG, *OURS, *LINEAR)}
        for figure in ("microseconds", "are", "recall")
    )
    return [
        Claim(
            "12g",
            "the number of counters does not change the update time of counters",
            judged(max(time[FLOOR]) <= 1.5 * min(time[FLOOR]) and max(time[DPMG]) <= 1.5 * min(time[DPMG])),
            "; ".join(f"{name} {_range(each)} microseconds" for name, each in time.items()),
            "figure_12",
        ),
        Claim(
            "12h",
            "the relative error falls with more counters",
            judged(_falls(error[DPMG])),
            "; ".join(f"{name} {shown(each[0])} to {shown(each[-1])}" for name, each in error.items()),
            "figure_12",
        ),
        Claim(
            "12i",
            "recall rises with more counters",
            judged(_falls([-value for value in recall[DPMG]]) and recall[BOUNDED][-1] >= recall[BOUNDED][0]),
            "; ".join(f"{name} {shown(each[0])} to {shown(each[-1])}" for name, each in recall.items()),
            "figure_12",
        ),
    ]


def _fitting(memory: dict[str, list[float]], ks: Sequence[float]) -> float:
    """Return the largest k whose counters take no more memory than the paper says."""
    return max(
        (k for at, k in enumerate(ks) if max(memory[DPMG][at], memory[FLOOR][at]) <= MEMORY), default=0
    )


def _falls(values: Sequence[float]) -> bool:
    return all(later <= earlier for earlier, later in pairwise(values))


def _range(values: Sequence[float]) -> str:
    return f"{shown(min(values))} to {shown(max(values))}"


def _kb(sizes: Sequence[float]) -> str:
    return f"{min(sizes) / 1000:.0f} to {max(sizes) / 1000:.0f} KB"
