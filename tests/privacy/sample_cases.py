"""Budgets and sampling schemes on which private weighted sampling is checked exactly."""

from __future__ import annotations

import random
from fractions import Fraction

from hushcount.mechanisms.sampling.schemes import EVERY_KEY, Pps, Ppswor, Scheme
from hushcount.mechanisms.sampling.tabled import SamplingTable

LAST = 60
RATIO, DELTA = Fraction(6, 5), Fraction(1, 500)  # E = 1.2
BUDGETS = [(1.0, 1e-6), (0.1, 1e-3), (0.5, 1e-9), (3.0, 0.2), (2.0, 1e-12), (0.02, 1e-5), (20.0, 1e-6)]


def random_sampling(seed: int) -> tuple[Fraction, ...]:
    """Non-decreasing, with steps and plateaus of many sizes."""
    generator = random.Random(seed)
    sizes = [generator.choice([0, 1, 1, 40]) for _ in range(LAST)]
    steps = [size * Fraction(generator.randrange(1, 1000), 1000) for size in sizes]
    scale = sum(steps) * Fraction(generator.choice([1, 1, 3]), 1)
    total, values = Fraction(generator.choice([0, 1]), 200), []
    for step in steps:
        total = min(Fraction(1), total + step / scale)
        values.append(total)
    return tuple(values)


def rational(scheme: Scheme) -> tuple[Fraction, ...]:
    return tuple(Fraction(scheme.integer_probability(i, 40), 1 << 40) for i in range(1, LAST + 1))


RANDOM = {f"random-{seed}": random_sampling(seed) for seed in range(10)}
SAMPLING = {
    "every-key": (Fraction(1),) * LAST,
    "ppswor": rational(Ppswor(0.03)),
    "pps": rational(Pps(0.02)),
    "pps-squared": rational(Pps(0.001, 2)),
    **RANDOM,
}
SCHEMES: dict[str, Scheme] = {
    "every-key": EVERY_KEY,
    "ppswor": Ppswor(0.03),
    "pps": Pps(0.02),
    "pps-squared": Pps(0.001, 2),
    "ppswor-root": Ppswor(0.3, 0.5),
    "distinct": Ppswor(0.2, 0),
    **{name: SamplingTable(values) for name, values in RANDOM.items()},
}
