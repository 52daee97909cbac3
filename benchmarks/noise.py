"""Exact noise against OpenDP's vector noise, both from secure bits, in one run: CPU seconds and ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from hushcount.noise.bits import system_bits
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace

SIZE = 100_000
SCALES = (1.0, 10.0)
ROUNDS = 5


def measure() -> dict[str, dict[str, float]]:
    """CPU seconds for 1e5 samples: median of five rounds, the two libraries taking turns."""
    figures = {}
    for scale in SCALES:
        ours, theirs = DiscreteLaplace(1 / scale), opendp_noise("make_laplace", scale)
        figures[f"laplace scale {scale:g}"] = compare(ours, theirs)
    for sigma in SCALES:
        ours, theirs = DiscreteGaussian(sigma), opendp_noise("make_gaussian", sigma)
        figures[f"gaussian sigma {sigma:g}"] = compare(ours, theirs)
    return figures


def compare(
    ours: DiscreteLaplace | DiscreteGaussian, theirs: Callable[[list[int]], list[int]]
) -> dict[str, float]:
    bits, zeros = system_bits(), [0] * SIZE
    ours.sample(SIZE, bits)  # tables are made once
    rounds = [(cpu(lambda: ours.sample(SIZE, bits)), cpu(lambda: theirs(zeros))) for _ in range(ROUNDS)]
    mine, other = (statistics.median(times) for times in zip(*rounds, strict=True))
    return {"hushcount_cpu_s": mine, "opendp_cpu_s": other, "ratio": other / mine}


def opendp_noise(measurement: str, scale: float) -> Callable[[list[int]], list[int]]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    metric = dp.l1_distance(T=int) if measurement == "make_laplace" else dp.l2_distance(T=float)
    return getattr(dp.m, measurement)(dp.vector_domain(dp.atom_domain(T=int)), metric, scale=scale)


def cpu(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    for name, row in measure().items():
        print(
            f"{name}: {SIZE} samples in {1e3 * row['hushcount_cpu_s']:.1f} ms of CPU,"
            f" OpenDP {1e3 * row['opendp_cpu_s']:.0f} ms, {row['ratio']:.0f} times as fast"
        )
