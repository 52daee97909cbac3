"""The numbers behind the figures: closed forms and exact rows, no simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from tests.reference.stability import SampledStabilityHistogram, StabilityHistogram

from hushcount.mechanisms.sampling.distribution import SampleDistribution
from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Ppswor, Scheme
from hushcount.privacy import Budget
from hushcount.releases.estimators import MaximumLikelihood
from hushcount.releases.sums import Moments, identity, moments

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Record = dict[str, float | str]

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
        yield from _lines(panel, "count", counts, {"optimal": optimal, "stability histogram": baseline})


def figure_2() -> Iterator[Record]:
    """Fraction of the keys published, by delta."""
    for alpha in (1.0, 2.0):
        counts, keys = zipf(alpha)
        lines: dict[str, list[float]] = {"optimal": [], "stability histogram": []}
        for delta in DELTAS:
            budget = Budget(EPSILON, delta)
            lines["optimal"].append(float(SampleDistribution.of(budget).reporting(counts) @ keys) / KEYS)
            baseline = StabilityHistogram(budget).reporting(counts)
            lines["stability histogram"].append(float(baseline @ keys) / KEYS)
        yield from _lines(f"Zipf[{alpha:g}]", "delta", DELTAS, lines)


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
        yield from _lines(f"delta={delta:g}, rate={rate:g}", "count", counts, lines)


def figure_5() -> Iterator[Record]:
    """Fraction of the keys published, by sampling rate."""
    budget = Budget(EPSILON, 0.001)
    for alpha in (0.5, 1.0, 2.0):
        counts, keys = zipf(alpha)
        lines: dict[str, list[float]] = {"not private": [], "optimal": [], "sampled stability histogram": []}
        for rate in RATES:
            scheme, baseline = Ppswor(rate), SampledStabilityHistogram(budget, rate)
            lines["not private"].append(float(scheme.probability(counts) @ keys) / KEYS)
            lines["optimal"].append(
                float(SampleDistribution.of(budget, scheme).reporting(counts) @ keys) / KEYS
            )
            lines["sampled stability histogram"].append(float(baseline.reporting(counts) @ keys) / KEYS)
        yield from _lines(f"Zipf[{alpha:g}]", "rate", RATES, lines)


def figure_8_bias() -> Iterator[Record]:
    """Bias over count, by count, at several rates; sampling does not change that of the baseline."""
    budget, counts = Budget(EPSILON, 0.001), np.unique(np.linspace(1, 250, 100).astype(np.int64))
    baseline = (StabilityHistogram(budget).expectation(counts) - counts) / counts
    lines: dict[str, Floats] = {"stability histogram": baseline}
    for rate in (None, 0.1, 0.01, 0.002):
        name = "optimal, no sampling" if rate is None else f"optimal, rate {rate:g}"
        scheme = EVERY_KEY if rate is None else Ppswor(rate)
        lines[name] = _likelihood(budget, scheme, counts).bias / counts
    yield from _lines("bias / count", "count", counts, lines)


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
    yield from _lines("NRMSE", "rate", RATES, lines)


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
    panel: str, axis: str, places: npt.ArrayLike, lines: dict[str, Floats] | dict[str, list[float]]
) -> Iterator[Record]:
    for name, values in lines.items():
        for place, value in zip(np.asarray(places).tolist(), np.asarray(values).tolist(), strict=True):
            yield {"panel": panel, "method": name, axis: place, "value": value}
