"""Zipf streams, what each mechanism of Lebeda and Tětek 2023 publishes of them, and how wrong that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import hushcount as hc
from hushcount.mechanisms.histograms.pure import largest
from hushcount.noise.bits import system_bits
from hushcount.noise.lattice import typed
from hushcount.releases.added import add_releases
from hushcount.sketches.users import UserMisraGries

Keys = npt.NDArray[np.int64]
Counts = dict[int, float]
Figures = dict[str, float]
EXPONENT, BETA = 1.1, 0.05
PAPER, EXACT, FLOOR, CHAN = "PMG (paper)", "PMG, exact threshold", "floor release (ours)", "Chan et al. 2012"
UNTRUSTED, FLOORS_ADDED = (
    "untrusted: PMG of each machine, added",
    "untrusted: floor release of each, added (ours)",
)
REDUCED, MERGED_CHAN = (
    "trusted: reduced counters, summed",
    "trusted: merged, noise k/epsilon (Chan et al. 2012)",
)
MERGED_GAUSSIAN, SHARDS = "trusted: merged, Gaussian noise", "trusted: shard release (ours)"
GROUP, OUR_GROUP = "PMG at epsilon/m (Lemma 20)", "floor release at epsilon/m (ours)"
PAMG, OUR_PAMG = "PAMG with Gaussian noise (Theorem 30)", "PAMG with correlated noise (ours)"
PURE, PURE_BOUNDED, PURE_CHAN = "reduced counters, 2/epsilon", "reduced by a public length (ours)", CHAN


@dataclass(frozen=True)
class Budget:
    """What each release may spend."""

    epsilon: float = 1.0
    delta: float = 1e-6


def zipf(events: int, domain: int, seed: int) -> Keys:
    """Return independent keys, the i-th of the domain with probability proportional to i^-1.1."""
    random = np.random.default_rng(seed)
    sums = np.cumsum(np.arange(1, domain + 1, dtype=float) ** -EXPONENT)
    return np.searchsorted(sums / sums[-1], random.random(events)).astype(np.int64)


def exact(keys: Keys) -> Counts:
    """Return the true counts."""
    values, counts = np.unique(keys, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def sketch_of(keys: Keys, counters: int, kind: type[Any] = hc.MisraGries) -> Any:
    """Return a sketch that has counted keys."""
    sketch = kind(counters)
    sketch.update(keys)
    return sketch


def heights(sketch: Any) -> Counts:
    """Return what a Misra-Gries sketch estimates, before noise."""
    shape = sketch.shape()
    return dict(zip(shape.keys.to_pylist(), (shape.counts - shape.floor).tolist(), strict=True))


def published(source: Any, budget: Budget, mechanism: str, **options: Any) -> Counts:
    """Return what a mechanism publishes of a sketch or of several."""
    return table(
        hc.release(source, epsilon=budget.epsilon, delta=budget.delta, mechanism=mechanism, **options)
    )


def table(release: Any) -> Counts:
    """Return the keys and counts of a release."""
    return dict(zip(release.keys.column(0).to_pylist(), release.counts.to_pylist(), strict=True))


def largest_error(estimates: Counts, truth: Counts) -> float:
    """Return the largest error of any key; what is not published counts as 0."""
    keys = estimates.keys() | truth.keys()
    return max((abs(estimates.get(key, 0.0) - truth.get(key, 0.0)) for key in keys), default=0.0)


def one_sketch(keys: Keys, counters: int, budget: Budget) -> dict[str, Callable[[], Figures]]:
    """Return the draws of one sketch, with errors against the sketch (the noise) and the truth."""
    truth, sketch = exact(keys), sketch_of(keys, counters)
    before = heights(sketch)
    space_saving = sketch_of(keys, counters, hc.SpaceSaving)

    def draw(mechanism: str) -> Callable[[], Figures]:
        def figures() -> Figures:
            drawn = published(sketch, budget, mechanism)
            return {
                "noise": largest_error(drawn, before),
                "error": largest_error(drawn, truth),
                "published": len(drawn),
            }

        return figures

    def floor() -> Figures:
        drawn = published(space_saving, budget, "floor")
        return {"noise": math.nan, "error": largest_error(drawn, truth), "published": len(drawn)}

    return {PAPER: draw("pmg-paper"), EXACT: draw("pmg"), CHAN: draw("chan"), FLOOR: floor}


def many_sketches(parts: Sequence[Keys], counters: int, budget: Budget) -> dict[str, Callable[[], Figures]]:
    """Return the draws of machines with a part of the stream each, added or merged."""
    truth = exact(np.concatenate(parts))
    sketches = [sketch_of(part, counters) for part in parts]
    savers = [sketch_of(part, counters, hc.SpaceSaving) for part in parts]
    merged = sketches[0].as_merged()
    for each in sketches[1:]:
        merged = merged.merge(each)

    def added(each: Sequence[Any], mechanism: str) -> Counts:
        options: dict[str, Any] = {
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "mechanism": mechanism,
        }
        drawn = [hc.release(one, **options) for one in each]
        return table(add_releases(drawn) if len(drawn) > 1 else drawn[0])

    draws: dict[str, Callable[[], Counts]] = {
        UNTRUSTED: lambda: added(sketches, "pmg-paper"),
        FLOORS_ADDED: lambda: added(savers, "floor"),
        REDUCED: lambda: published(sketches, budget, "reduced"),
        MERGED_CHAN: lambda: published(merged, budget, "laplace"),
        MERGED_GAUSSIAN: lambda: published(merged, budget, "gaussian"),
        SHARDS: lambda: published(savers, budget, "shards"),
    }
    return {name: _against(draw, truth) for name, draw in draws.items()}


def users(rows: npt.NDArray[np.int64], counters: int, budget: Budget) -> dict[str, Callable[[], Figures]]:
    """Return the draws for users with distinct keys, one row for each user."""
    count, keys = rows.shape
    flat = rows.reshape(-1)
    truth = exact(flat)
    sketch, saver = sketch_of(flat, counters), sketch_of(flat, counters, hc.SpaceSaving)
    aware = UserMisraGries(counters)
    aware.update(flat, users=np.repeat(np.arange(count), keys))
    shape = aware.shape()
    before = dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))
    whole = math.expm1(budget.epsilon)
    printed = Budget(budget.epsilon / keys, budget.delta / (keys * math.exp(budget.epsilon)))
    ours = Budget(budget.epsilon / keys, budget.delta * math.expm1(budget.epsilon / keys) / whole)
    return {
        GROUP: _noise_and_error(lambda: published(sketch, printed, "pmg-paper"), heights(sketch), truth),
        OUR_GROUP: _noise_and_error(lambda: published(saver, ours, "floor"), None, truth),
        PAMG: _noise_and_error(lambda: published(aware, budget, "gaussian"), before, truth),
        OUR_PAMG: _noise_and_error(lambda: published(aware, budget, "correlated"), before, truth),
    }


def pure(keys: Keys, counters: int, budget: Budget, domain: int) -> dict[str, Callable[[], Figures]]:
    """Return the draws with delta = 0 over a public domain, each of which adds noise to every key of it."""
    truth, sketch = exact(keys), sketch_of(keys, counters)
    universe = hc.IntegerRange(0, domain - 1)

    def drawn(mechanism: str, bound: int | None) -> Counts:
        return published(sketch, Budget(budget.epsilon, 0), mechanism, domain=universe, max_events=bound)

    return {
        PURE_CHAN: _against(lambda: chan_over(sketch, budget.epsilon, universe), truth),
        PURE: _against(lambda: drawn("pure", None), truth),
        PURE_BOUNDED: _against(lambda: drawn("pure-bounded", len(keys)), truth),
    }


def chan_over(sketch: Any, epsilon: float, universe: hc.IntegerRange) -> Counts:
    """Return what Chan et al. 2012 publish: noise k/epsilon on every key of the domain, the k largest."""
    shape = sketch.shape()
    scale = Fraction(typed(epsilon) / shape.candidates)  # one event changes up to that many counters by 1
    seen = shape.keys, shape.counts - shape.floor
    places, noisy = largest(universe, seen, scale, shape.candidates, system_bits())
    return dict(zip(places.tolist(), noisy.tolist(), strict=True))


def _against(draw: Callable[[], Counts], truth: Counts) -> Callable[[], Figures]:
    def figures() -> Figures:
        drawn = draw()
        return {"error": largest_error(drawn, truth), "published": len(drawn)}

    return figures


def _noise_and_error(
    draw: Callable[[], Counts], before: Counts | None, truth: Counts
) -> Callable[[], Figures]:
    def figures() -> Figures:
        drawn = draw()
        noise = math.nan if before is None else largest_error(drawn, before)
        return {"noise": noise, "error": largest_error(drawn, truth), "published": len(drawn)}

    return figures
