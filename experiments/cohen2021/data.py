"""The numbers behind the figures of Cohen et al. 2021: closed forms and exact rows, no simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from experiments.cohen2021 import words
from experiments.common.study import short
from tests.reference.stability import SampledStabilityHistogram, StabilityHistogram

from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Ppswor, Scheme
from hushcount.privacy import Budget
from hushcount.releases.estimators import MaximumLikelihood
from hushcount.releases.sums import Moments, identity, moments

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Record = dict[str, float | str]  # panel and method, and the values x and y

OPTIMAL, BASELINE, NOT_PRIVATE = "optimal", "stability histogram", "not private"
SAMPLED = "sampled stability histogram"
RATIO = "keys published: optimal / baseline"
NO_SAMPLING = 2.0  # stands for no sampling on an axis of rates
EVENTS, KEYS = 1_000_000, 100_000
EPSILON = 0.1
DELTAS = [0.999, *(10.0**-exponent for exponent in np.arange(0.5, 8.5, 0.5))]
RATES = [float(rate) for rate in np.logspace(-3, 0, 13)]


def zipf(alpha: float) -> tuple[Counts, Counts]:
    """Distinct counts and how many keys have each; the i-th key has a share i^-alpha, at least one event."""
    weights = np.arange(1, KEYS + 1, dtype=np.float64) ** -alpha
    counts = np.maximum(1, np.rint(EVENTS * weights / weights.sum())).astype(np.int64)
    return np.unique(counts, return_counts=True)


def power_law(alpha: float, largest: int) -> tuple[Counts, Counts]:
    """Distinct counts and how many keys have each; the i-th key has largest / i^alpha events."""
    ranks = np.arange(1, round(largest ** (1 / alpha)) + 1, dtype=np.float64)
    counts = np.maximum(1, np.floor(largest / ranks**alpha)).astype(np.int64)
    return np.unique(counts, return_counts=True)


def gain(counts: Counts, keys: Counts, rate: float | None) -> float:
    """How many more keys than the baseline at epsilon = 0.1, delta = 0.001; None is without sampling."""
    budget = Budget(EPSILON, 0.001)
    if rate is None:
        optimal, baseline = (
            SampleDistribution.of(budget).reporting(counts),
            StabilityHistogram(budget).reporting(counts),
        )
    else:
        optimal = SampleDistribution.of(budget, Ppswor(rate)).reporting(counts)
        baseline = SampledStabilityHistogram(budget, rate).reporting(counts)
    return float(optimal @ keys) / float(baseline @ keys) - 1


def figure_1() -> Iterator[Record]:
    """Reporting probability by count, without sampling."""
    for epsilon, delta, last in ((0.1, 0.01, 120), (0.01, 1e-6, 3000)):
        budget = Budget(epsilon, delta)
        counts = np.unique(np.linspace(1, last, 150).astype(np.int64))
        optimal, baseline = (
            SampleDistribution.of(budget).reporting(counts),
            StabilityHistogram(budget).reporting(counts),
        )
        panel = f"epsilon={epsilon:g}, delta={delta:g}"
        yield from _lines(panel, counts, {"optimal": optimal, "stability histogram": baseline})


def figure_2() -> Iterator[Record]:
    """Fraction of the keys published, by delta."""
    for alpha in (1.0, 2.0):
        yield from _by_delta(f"Zipf[{alpha:g}]", *zipf(alpha))


def figure_3() -> Iterator[Record]:
    """The same for counts of words and of pairs of letters, and the ratio of the two methods."""
    for name, counted in words.DATA.items():
        records = list(_by_delta(name, *counted()))
        yield from records
        yield from _ratios(records, name, BASELINE)


def figure_6_and_7() -> Iterator[Record]:
    """Fraction of the keys published of these counts, by sampling rate, and the ratio of the two methods."""
    for name, counted in words.DATA.items():
        records = list(_by_rate(name, *counted()))
        yield from records
        yield from _ratios(records, name, SAMPLED)


def _by_delta(panel: str, counts: Counts, keys: Counts) -> Iterator[Record]:
    lines: dict[str, list[float]] = {OPTIMAL: [], BASELINE: []}
    for delta in DELTAS:
        budget = Budget(EPSILON, delta)
        for name, law in ((OPTIMAL, SampleDistribution.of(budget)), (BASELINE, StabilityHistogram(budget))):
            lines[name].append(float(law.reporting(counts) @ keys) / float(keys.sum()))
    yield from _lines(panel, DELTAS, lines)


def _by_rate(panel: str, counts: Counts, keys: Counts) -> Iterator[Record]:
    budget, every = Budget(EPSILON, 0.001), float(keys.sum())
    lines: dict[str, list[float]] = {NOT_PRIVATE: [], OPTIMAL: [], SAMPLED: []}
    for rate in RATES:
        scheme = Ppswor(rate)
        reported = {
            NOT_PRIVATE: scheme.probability(counts),
            OPTIMAL: SampleDistribution.of(budget, scheme).reporting(counts),
            SAMPLED: SampledStabilityHistogram(budget, rate).reporting(counts),
        }
        for name, chances in reported.items():
            lines[name].append(float(chances @ keys) / every)
    yield from _lines(panel, RATES, lines)


def _ratios(records: list[Record], panel: str, baseline: str) -> Iterator[Record]:
    """Yield the ratio of the optimal method to a baseline, a line for each data set."""
    found = {(record["method"], record["x"]): float(record["y"]) for record in records}
    for (method, place), value in found.items():
        if method == OPTIMAL:
            ratio = short(value / found[baseline, place])
            yield {"panel": RATIO, "method": panel, "x": place, "y": ratio}


def figure_4() -> Iterator[Record]:
    """Reporting probability by count, with sampling."""
    for epsilon, delta, rate, last in (
        (0.1, 0.001, 0.1, 150),
        (0.1, 0.001, 0.01, 400),
        (0.1, 1e-6, 0.001, 2000),
    ):
        budget = Budget(epsilon, delta)
        counts = np.unique(np.linspace(1, last, 150).astype(np.int64))
        lines = {
            "not private": Ppswor(rate).probability(counts),
            "optimal": SampleDistribution.of(budget, Ppswor(rate)).reporting(counts),
            "sampled stability histogram": SampledStabilityHistogram(budget, rate).reporting(counts),
        }
        yield from _lines(f"delta={delta:g}, rate={rate:g}", counts, lines)


def figure_5() -> Iterator[Record]:
    """Fraction of the keys published, by sampling rate."""
    for alpha in (0.5, 1.0, 2.0):
        yield from _by_rate(f"Zipf[{alpha:g}]", *zipf(alpha))


def figure_5_printed() -> Iterator[Record]:
    """Gains over the baseline on counts n / i^alpha, without sampling (rate 2) and at every rate."""
    for alpha, largest in ((0.5, 1000), (1, 100_000), (2, 1_000_000)):
        counts, keys = power_law(alpha, largest)
        gains = [gain(counts, keys, None), *(gain(counts, keys, rate) for rate in RATES)]
        yield from _lines("gain", [NO_SAMPLING, *RATES], {f"n / i^{alpha:g}": gains})


def figure_8_bias() -> Iterator[Record]:
    """Bias over count, by count, at several rates; sampling does not change that of the baseline."""
    budget, counts = Budget(EPSILON, 0.001), np.unique(np.linspace(1, 250, 100).astype(np.int64))
    baseline = (StabilityHistogram(budget).expectation(counts) - counts) / counts
    lines: dict[str, Floats] = {"stability histogram": baseline}
    for rate in (None, 0.1, 0.01, 0.002):
        name = "optimal, no sampling" if rate is None else f"optimal, rate {rate:g}"
        scheme = EVERY_KEY if rate is None else Ppswor(rate)
        lines[name] = _likelihood(budget, scheme, counts).bias / counts
    yield from _lines("bias / count", counts, lines)


def figure_8_error() -> Iterator[Record]:
    """NRMSE of the total of 200,000 keys with counts uniform on 1..200, by sampling rate."""
    budget, counts, each = Budget(EPSILON, 0.001), np.arange(1, 201), 1000
    total = float(counts.sum()) * each
    lines: dict[str, list[float]] = {"not private": [], "optimal": [], "sampled stability histogram": []}
    expected = StabilityHistogram(budget).expectation(counts) - counts
    for rate in RATES:
        scheme = Ppswor(rate)
        chance = scheme.probability(counts)
        lines["not private"].append(_nrmse(np.zeros(200), counts**2 * (1 / chance - 1), each, total))
        law = _likelihood(budget, scheme, counts)
        lines["optimal"].append(_nrmse(law.bias, law.variance, each, total))
        square = SampledStabilityHistogram(budget, rate).mean_square(counts)
        variance = square - expected**2
        lines["sampled stability histogram"].append(_nrmse(expected, variance, each, total))
    yield from _lines("NRMSE", RATES, lines)


def figure_9() -> Iterator[Record]:
    """Variance of the estimate of one key over the square of its count, and the variance itself, by count."""
    budget, counts = Budget(EPSILON, 0.001), np.unique(np.linspace(1, 300, 100).astype(np.int64))
    expected = StabilityHistogram(budget).expectation(counts)
    for rate in (None, 0.1, 0.01):
        scheme = EVERY_KEY if rate is None else Ppswor(rate)
        baseline = StabilityHistogram(budget) if rate is None else SampledStabilityHistogram(budget, rate)
        chance = np.ones(len(counts)) if rate is None else Ppswor(rate).probability(counts)
        lines = {
            NOT_PRIVATE: counts**2 * (1 / chance - 1),
            OPTIMAL: _likelihood(budget, scheme, counts).variance,
            SAMPLED: baseline.mean_square(counts) - (expected - counts) ** 2,
        }
        name = "no sampling" if rate is None else f"rate {rate:g}"
        yield from _lines(
            f"variance / count^2, {name}", counts, {key: each / counts**2 for key, each in lines.items()}
        )
        yield from _lines(f"variance, {name}", counts, lines)


def _likelihood(budget: Budget, scheme: Scheme, counts: Counts) -> Moments:
    law = SampleDistribution.of(budget, scheme)
    estimator = MaximumLikelihood(law, identity)
    parts = [
        moments(law, estimator, identity, part) for part in np.array_split(counts, 1 + len(counts) // 100)
    ]
    return Moments(np.concatenate([p.bias for p in parts]), np.concatenate([p.variance for p in parts]))


def _nrmse(bias: Floats, variance: Floats, each: int, total: float) -> float:
    return float(np.sqrt(variance.sum() * each + (bias.sum() * each) ** 2)) / total


def _lines(
    panel: str, places: npt.ArrayLike, lines: dict[str, Floats] | dict[str, list[float]]
) -> Iterator[Record]:
    for name, values in lines.items():
        for place, value in zip(np.asarray(places).tolist(), np.asarray(values).tolist(), strict=True):
            yield {"panel": panel, "method": name, "x": short(place), "y": short(value)}
