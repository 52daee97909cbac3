"""What the theorems of Lebeda and Tětek 2023 say of errors, judged on the numbers of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from experiments.common.claims import Claim, judged
from experiments.common.study import Results, column, rows_where, shown
from experiments.lebeda2023 import measures as m
from experiments.lebeda2023 import theory

FLAT = 1.3  # what counts as no growth: the largest of a sweep over its first
Values = Callable[..., list[float]]


def claims(results: Results) -> list[Claim]:
    """Return the claims of Sections 1 and 5 to 8."""
    values = partial(_values, results)
    return [*_one(results, values), *_pure(results, values), *_many(values), *_users(values)]


def _values(results: Results, sweep: str, method: str, error: str = "error") -> list[float]:
    return column(results["rows"], error, sweep=sweep, method=method)


def _high(results: Results, sweep: str, method: str, error: str) -> list[float]:
    """Return the 95% quantiles."""
    rows = rows_where(results["rows"], sweep=sweep, method=method)
    return [row.get(f"{error}_high", row[error]) for row in rows]


def _one(results: Results, values: Values) -> list[Claim]:
    settings = results["settings"]
    ks, epsilon, delta, beta = (settings[name] for name in ("ks", "epsilon", "delta", "beta"))
    bounds = [theory.pmg_noise(k, epsilon, delta, beta) for k in ks]
    whole = [theory.pmg_error(settings["events"], k, epsilon, delta, beta) for k in ks]
    noise, error = (_high(results, "k", m.PAPER, what) for what in ("noise", "error"))
    chan, paper, ours = (values("k", method, "noise") for method in (m.CHAN, m.PAPER, m.EXACT))
    best = {method: min(values("k", method)) for method in (m.CHAN, m.PAPER, m.FLOOR)}
    return [
        Claim(
            "Lemma 13",
            "the noise of PMG is at most 2 ln((k+1)/beta)/epsilon, and its threshold 1 + 2"
            " ln(3/delta)/epsilon more",
            judged(_below(noise, bounds)),
            f"95% quantiles {_list(noise)} for k = {_list(ks)}; the bounds are {_list(bounds)}",
            "figure_k",
        ),
        Claim(
            "Theorem 14",
            "its error against the truth is at most n/(k+1) more",
            judged(_below(error, whole)),
            f"95% quantiles {_list(error)}; the bounds are {_list(whole)}",
            "figure_k",
        ),
        Claim(
            "Section 1",
            "noise for all counters (Chan et al. 2012) grows like k, that of PMG does not depend on k",
            judged(chan[-1] > 10 * paper[-1] and max(paper) <= max(bounds)),
            f"{m.CHAN} {_list(chan)}; PMG {_list(paper)}; with the exact threshold {_list(ours)}",
            "figure_k",
        ),
        Claim(
            "Section 1",
            "no k makes the error of Chan et al. 2012 smaller than about sqrt(n ln(1/delta)/epsilon); PMG"
            " can be"
            " more accurate",
            judged(best[m.CHAN] > best[m.PAPER]),
            "smallest error over all k: "
            + ", ".join(f"{shown(value)} ({name})" for name, value in best.items()),
            "figure_k",
        ),
    ]


def _pure(results: Results, values: Values) -> list[Claim]:
    settings = results["settings"]
    n, k, epsilon, beta = (settings[name] for name in ("pure_events", "counters", "pure_epsilon", "beta"))
    bounds = [theory.pure_error(n, k, epsilon, bits, beta) for bits in settings["domain_bits"]]
    error = _high(results, "domain", m.PURE, "error")
    ours, chan = values("domain", m.PURE_BOUNDED), values("domain", m.PURE_CHAN)
    return [
        Claim(
            "Section 6",
            "with delta = 0, reduced counters have an error of n/(k+1) + 2 ln(d/beta)/epsilon",
            judged(_below(error, bounds)),
            f"95% quantiles {_list(error)} for log2 d = {_list(settings['domain_bits'])}; the bounds are"
            f" {_list(bounds)}; with a public length (ours) {_list(ours)}",
            "figure_domain",
        ),
        Claim(
            "Section 6",
            "that improves on noise k/epsilon (Chan et al. 2012)",
            judged(all(a < b for a, b in zip(error, chan, strict=True))),
            f"{m.CHAN} {_list(chan)}",
            "figure_domain",
        ),
    ]


def _many(values: Values) -> list[Claim]:
    added, reduced, chan, gaussian, shards = (
        values("even", method)
        for method in (m.UNTRUSTED, m.REDUCED, m.MERGED_CHAN, m.MERGED_GAUSSIAN, m.SHARDS)
    )
    dealt = {
        method: values("machines", method) for method in (m.UNTRUSTED, m.FLOORS_ADDED, m.REDUCED, m.SHARDS)
    }
    growth = added[-1] / added[0]
    return [
        Claim(
            "Section 7",
            "if machines do not trust the aggregator, the error of the thresholds grows like their number",
            judged(growth > 0.5 * len(added) and _slope(added) > 0.8),
            f"even stream: PMG of each, added, {_list(added)}; floor release of each, added (ours),"
            f" {_list(values('even', m.FLOORS_ADDED))}; of the whole stream dealt at random"
            f" {_list(dealt[m.UNTRUSTED])}",
            "figure_machines",
        ),
        Claim(
            "Section 7",
            "if they trust it, reduced counters summed have an error that does not depend on their number",
            judged(max(dealt[m.REDUCED]) <= FLAT * dealt[m.REDUCED][0]),
            f"dealt at random {_list(dealt[m.REDUCED])}; even stream {_list(reduced)}; shard release (ours)"
            f" {_list(dealt[m.SHARDS])} and {_list(shards)}",
            "figure_machines",
        ),
        Claim(
            "Section 7",
            "Gaussian noise of a merged sketch grows like sqrt(k), slower than k/epsilon",
            judged(values("machines", m.MERGED_GAUSSIAN)[-1] < values("machines", m.MERGED_CHAN)[-1]),
            f"dealt at random, most machines: {shown(values('machines', m.MERGED_GAUSSIAN)[-1])} against"
            f" {shown(values('machines', m.MERGED_CHAN)[-1])}; even stream {_list(gaussian)} against"
            f" {_list(chan)}",
            "figure_machines",
        ),
    ]


def _users(values: Values) -> list[Claim]:
    group, aware, ours = (values("users", method, "noise") for method in (m.GROUP, m.PAMG, m.OUR_PAMG))
    error = {method: values("users", method) for method in (m.GROUP, m.OUR_GROUP, m.PAMG, m.OUR_PAMG)}
    return [
        Claim(
            "Section 8",
            "for users with m keys the noise of PMG grows like m",
            judged(_slope(group) > 0.8 or group[-1] > 0.5 * len(group) * group[0]),
            f"{_list(group)}",
            "figure_users",
        ),
        Claim(
            "Theorem 2, Lemma 27",
            "the noise of PAMG does not depend on m",
            judged(max(aware) <= FLAT * aware[0]),
            f"{_list(aware)}; with correlated noise (ours) {_list(ours)}",
            "figure_users",
        ),
        Claim(
            "Section 8",
            "PAMG has less noise than PMG for users with many keys",
            judged(aware[-1] < group[-1], ours[-1] < group[-1]),
            "error against the truth: " + "; ".join(f"{name} {_list(each)}" for name, each in error.items()),
            "figure_users",
        ),
    ]


def _slope(values: Sequence[float]) -> float:
    """Return the exponent of growth over values that are varied by doubling."""
    steps = np.arange(len(values)) * np.log(2)
    return float(np.polyfit(steps, np.log(np.maximum(values, 1e-9)), 1)[0])


def _below(values: Sequence[float], bounds: Sequence[float]) -> bool:
    return all(value <= bound for value, bound in zip(values, bounds, strict=True))


def _list(values: Sequence[float]) -> str:
    return ", ".join(shown(round(float(value), 1)) for value in values)
