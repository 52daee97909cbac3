"""The algorithms that papers print and that break their claim (docs/errata.md has the corrections)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats
from tests.privacy import sample_reference
from tests.privacy.sample_cases import DELTA, RATIO, SAMPLING
from tests.privacy.twins import Distribution, Twin, listed

from hushcount.compiled.arrays import Floats
from hushcount.noise import tails
from hushcount.noise.laplace import DiscreteLaplace

# Holland 2025, Algorithm 3: the threshold holds the exact length of the stream


def dpss_threshold(events: int, epsilon: float = 1.0, delta: float = 1e-6) -> float:
    """The printed threshold for k = 10 and k~ = 20 counters."""
    margin = math.log(2 / delta) / epsilon
    return max(events / 10 - margin, events / 20 + 1 + margin)


def dpss_with_the_exact_length(counts) -> Distribution:
    """Whether one of ten keys is published with a value between the thresholds for 1999 and 2000 events."""
    if sum(counts.values()) == 2000:  # its own threshold hides such values
        return {"between": Fraction(0), "not": Fraction(1)}
    ends = [math.exp(-(dpss_threshold(events) - 185)) / 2 for events in (1999, 2000)]
    seen = Fraction(tails.any_of(10, ends[0] - ends[1]))
    return {"between": seen, "not": 1 - seen}


TEN = {f"k{index}": 185 for index in range(10)}

# Holland 2025, Algorithms 4 and 5, and Theorem 3


@dataclass(frozen=True)
class Printed:
    """Holland 2025, Algorithm 5, on an estimator: estimate(count so far, key, time) is a noisy one."""

    capacity: int
    threshold: float
    arrival_test: bool = True

    def release(self, stream: Sequence[str], estimate: Callable[[int, str, int], int]) -> dict[str, int]:
        arrived = track(stream, self.capacity, estimate)
        final = {key: estimate(len(stream), key, len(stream)) for key in arrived}
        return {
            key: value
            for key, value in final.items()
            if value > self.threshold and (arrived[key] > self.threshold or not self.arrival_test)
        }


def track(stream: Sequence[str], capacity: int, estimate: Callable[[int, str, int], int]) -> dict[str, int]:
    """Holland 2025, Algorithm 4: the keys with the largest estimates at their last arrivals."""
    arrived: dict[str, int] = {}
    for time, key in enumerate(stream, start=1):
        value = estimate(time, key, time)
        if key in arrived or len(arrived) < capacity:
            arrived[key] = value
        elif value > min(arrived.values()):
            del arrived[min(arrived, key=lambda one: arrived[one])]
            arrived[key] = value
    return arrived


def least_of(law: DiscreteLaplace, depth: int, span: int) -> tuple[Any, Any]:
    """Values and probabilities of the least of `depth` draws."""
    values = np.arange(-span, span + 1)
    at_least = np.asarray(law.tail(values)) ** depth
    above = np.asarray(law.tail(values + 1)) ** depth
    return values, at_least - above


def arrival_law(stream: Sequence[str], depth: int, arrival_test: bool = True) -> dict[Any, float]:
    """What Algorithm 5 publishes of a stream whose keys share every cell, at the worst threshold."""
    values, chances = least_of(DiscreteLaplace(Fraction(1, depth)), depth, 60 * depth)
    release = Printed(2, int(values[chances.argmax()]) + 2, arrival_test)
    found: dict[Any, float] = {}
    for noise, chance in zip(values.tolist(), chances.tolist(), strict=True):
        out = tuple(sorted(release.release(stream, lambda time, *_, z=noise: time + z).items()))
        found[out] = found.get(out, 0.0) + chance
    return found


def estimates_before_the_end(depth: int):
    def distribution(counts) -> Distribution:
        return listed(arrival_law(["y", "z", "y"][: sum(counts.values())], depth), rest=())

    return distribution


# Biswas et al. 2024, Algorithm 1


@dataclass(frozen=True)
class SharedNoise:
    """Biswas et al. 2024, Algorithm 1: residual + w + shared >= threshold, with w fresh for each node.

    `places` and `weights` are the values of the shared noise; `fails(t)` is P[w < t].
    """

    places: Floats
    weights: Floats
    fails: Callable[[Floats], Floats]

    def outputs(self, residual: int, nodes: int, path: int) -> Floats:
        """P[j of `nodes` unrelated leaves are published, no node of the path is], threshold 0.

        The unrelated leaves have residual 0 (the threshold), those on the path `residual`.
        """
        published = 1 - self.fails(-self.places)
        counts = np.arange(nodes + 1)[:, None]
        seen = stats.binom.pmf(counts, nodes, published[None, :]) * self.weights
        return np.asarray(seen @ self.fails(-residual - self.places) ** path)

    def attack(self, residual: int, nodes: int, path: int, epsilon: float) -> float:
        """HS of (how many of the unrelated leaves are published, whether the path is)."""
        smaller, larger = (self.outputs(one, nodes, path) for one in (residual, residual + 1))
        return math.fsum(np.maximum(smaller - math.exp(epsilon) * larger, 0.0))


def on_integers(shared: DiscreteLaplace, fresh: DiscreteLaplace) -> SharedNoise:
    places = np.arange(-80, 81)
    weights = np.asarray(shared.pmf(places))
    return SharedNoise(
        places.astype(float), weights, lambda t: np.asarray(fresh.tail(1 - np.asarray(t).astype(np.int64)))
    )


def shared_noise_of_a_path(counts) -> Distribution:
    """Height 5, 100 unrelated leaves: how many are published, if no node of the path is."""
    printed = on_integers(DiscreteLaplace(0.5), DiscreteLaplace(0.25))
    return listed(dict(enumerate(printed.outputs(counts["path"], 100, 5).tolist())), rest="path")


# Biswas et al. 2024, Algorithm 3: fresh noise for counters that change together


def counters_of_a_level(counts) -> Distribution:
    """How many of 1000 counters, all at the same count, are above the middle; noise Laplace(4 h), h = 4."""
    up = float(DiscreteLaplace(1 / 16).tail(1000 - counts["each"]))
    return listed(dict(enumerate(stats.binom.pmf(np.arange(1001), 1000, up).tolist())), rest="beyond")


# Cohen et al. 2021, Algorithm 5 with the breakpoint as it is printed


def printed_breakpoint(counts) -> Distribution:
    pairs = sample_reference.algorithm_5(RATIO, DELTA, SAMPLING["every-key"], printed=True)
    worst = max(pairs, key=lambda pair: sample_reference.excess(*pair, RATIO))
    return worst[counts.get("x", 0)]


TWINS = {
    "Holland 2025, Algorithm 3 (exact length)": Twin(
        (1.0, 1e-6), 0.2789, (TEN | {"other": 149}, TEN | {"other": 150}), dpss_with_the_exact_length
    ),
    **{
        f"Holland 2025, Algorithm 5 (estimates before the end, {depth} rows)": Twin(
            (1.0, 1e-6), least, ({"y": 2, "z": 1}, {"y": 1, "z": 1}), estimates_before_the_end(depth)
        )
        for depth, least in ((1, 0.46), (5, 0.081), (20, 0.0188))
    },
    "Biswas et al. 2024, Algorithm 1 (shared noise)": Twin(
        (1.0, 1e-6), 2e-3, ({"path": 0}, {"path": 1}), shared_noise_of_a_path
    ),
    "Biswas et al. 2024, Algorithm 3 (fresh noise)": Twin(
        (1.0, 1e-6), 0.4, ({"each": 1000}, {"each": 999}), counters_of_a_level
    ),
    "Cohen et al. 2021, Algorithm 5 (printed breakpoint)": Twin(
        (math.log(RATIO) + 1e-15, float(DELTA)),
        float(DELTA) * (2 - 1 / 1.2) * (1 - 1e-9),
        ({"x": 1}, {}),
        printed_breakpoint,
    ),
}
