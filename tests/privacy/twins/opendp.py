"""OpenDP's noisy threshold, version 0.16.0: its delta is that of another threshold (opendp#2922)."""

from __future__ import annotations

from collections.abc import Iterator

import opendp.prelude as dp

from hushcount.noise.laplace import DiscreteLaplace

SCALE, THRESHOLD, BLOCK = 1.0, 5, 500


def measurement():
    """Counts by key with discrete Laplace noise, published from the threshold on."""
    dp.enable_features("contrib", "honest-but-curious")
    counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    return (counts, metric) >> dp.m.then_laplace_threshold(scale=SCALE, threshold=THRESHOLD)


def claim() -> tuple[float, float]:
    """What OpenDP claims if one key changes by 1."""
    epsilon, delta = measurement().map((1, 1, 1))
    return epsilon, delta


def true_delta() -> float:
    """P[1 + noise >= threshold]: a new key shows itself."""
    return float(DiscreteLaplace(1 / SCALE).tail(THRESHOLD - 1))


def run_in_blocks():
    """The same for one key, faster: keys have independent noise, so many equal ones are many runs."""
    release = measurement()
    assert release({}) == {}
    waiting: dict[int, Iterator[tuple[int, ...]]] = {}

    def runs(count: int) -> Iterator[tuple[int, ...]]:
        while True:
            shown = release({f"{place}": count for place in range(BLOCK)})
            yield from ((shown[key],) if (key := f"{place}") in shown else () for place in range(BLOCK))

    def one_run(counts, bits) -> tuple[int, ...]:
        if not counts:
            return ()
        return next(waiting.setdefault(counts["x"], runs(counts["x"])))

    return one_run
