"""Private weighted sampling of a million keys: python benchmarks/sampling.py

Counts log-uniform up to 1e9, epsilon = 0.1, delta = 1e-9. Prints seconds, keys published, and
the peak of memory that a release of 1000 such keys allocates: it does not grow with the largest count.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pyarrow as pa

from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.sampling.rows import stationary_masses
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
from hushcount.noise.bits import system_bits
from hushcount.privacy import Budget
from hushcount.shapes import Histogram

KEYS, LARGEST = 1_000_000, 1e9
BUDGET = Budget(0.1, 1e-9)


def histogram(size: int) -> Histogram:
    generator = np.random.default_rng(1)
    counts = np.exp(generator.uniform(0, np.log(LARGEST), size)).astype(np.int64)
    return Histogram(pa.array(np.arange(size)), counts)


def seconds(make: type | object, shape: Histogram) -> tuple[float, int]:
    stationary_masses.cache_clear()
    start = time.perf_counter()
    release = make().release(shape, system_bits())  # type: ignore[operator]
    return time.perf_counter() - start, len(release)


def main() -> None:
    shape, small = histogram(KEYS), histogram(1000)
    cases = {
        "truncated geometric, no sampling": lambda: TruncatedGeometric(BUDGET),
        "Poisson PPS, rate 1e-3": lambda: PrivateSample(BUDGET, scheme=Pps(1e-3)),
        "Poisson PPS, rate 1e-6": lambda: PrivateSample(BUDGET, scheme=Pps(1e-6)),
        "ppswor, rate 1e-3": lambda: PrivateSample(BUDGET, scheme=Ppswor(1e-3)),
        "ppswor, rate 1e-6": lambda: PrivateSample(BUDGET, scheme=Ppswor(1e-6)),
    }
    for name, make in cases.items():
        taken, published = seconds(make, shape)
        tracemalloc.start()
        make().release(small, system_bits())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{name}: {taken:.2f} s, {published} published; 1000 keys allocate {peak / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
