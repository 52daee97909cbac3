"""The theorems of Lebeda and Tětek 2023, measured: python -m experiments.lebeda2023.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from experiments.common.study import asked, made, summary
from experiments.lebeda2023 import measures
from experiments.lebeda2023.measures import Budget, Figures
from experiments.lebeda2023.page import STUDY

SEED = 1
EACH = 25  # events of a key on each machine in the even stream: fewer than PMG publishes
Draws = dict[str, Callable[[], Figures]]


@dataclass(frozen=True)
class Size:
    """How long the streams are, and the values that are varied."""

    events: int
    repetitions: int
    ks: tuple[int, ...]
    machines: tuple[int, ...]
    keys_of_a_user: tuple[int, ...]
    domain_bits: tuple[int, ...]
    counters: int = 256
    pure_events: int = 100_000
    domain: int = 100_000


SIZES = {
    "tiny": Size(20_000, 3, (16, 64, 256), (1, 2, 4), (1, 2, 4, 8, 16), (12, 32), 64, 10_000, 1 << 12),
    "small": Size(
        1 << 20,
        5,
        (16, 64, 256, 1024, 4096),
        (1, 2, 4, 8, 16, 32),
        (1, 2, 4, 8, 16, 32, 64),
        (20, 30, 40, 50),
    ),
    "full": Size(
        10_000_000,
        20,
        (16, 64, 256, 1024, 4096, 16384),
        (1, 2, 4, 8, 16, 32, 64),
        (1, 2, 4, 8, 16, 32, 64, 128),
        (20, 30, 40, 50, 60),
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all four settings."""
    chosen = asked(STUDY, SIZES, arguments)
    if chosen.only_page:
        return STUDY.draw(chosen.folder)
    size = SIZES[chosen.size]
    repetitions = chosen.repetitions or size.repetitions
    rows = [
        {"sweep": sweep, "value": value, "method": method, **summary([draw() for _ in range(repetitions)])}
        for sweep, value, draws in settings(size)
        for method, draw in draws().items()
    ]
    stated: dict[str, Any] = asdict(size) | asdict(Budget()) | {"repetitions": repetitions, "each": EACH}
    stated |= {"pure_epsilon": PURE.epsilon, "beta": measures.BETA}
    return STUDY.write({"made": made(STUDY, chosen), "settings": stated, "rows": rows}, chosen.folder)


PURE = Budget(0.1, 0)


def settings(size: Size) -> Iterator[tuple[str, int, Callable[[], Draws]]]:
    """Return what is varied, its value, and the draws of each method."""
    keys = measures.zipf(size.events, size.domain, SEED)
    for k in size.ks:
        yield _said("k", k, partial(measures.one_sketch, keys, k, Budget()))
    labels = np.random.default_rng(SEED)
    for machines in size.machines:
        owner = labels.integers(0, machines, len(keys))
        dealt = [keys[owner == machine] for machine in range(machines)]
        yield _said("machines", machines, partial(measures.many_sketches, dealt, size.counters, Budget()))
        even = [np.repeat(np.arange(size.counters // 8), EACH)] * machines
        yield _said("even", machines, partial(measures.many_sketches, even, size.counters, Budget()))
    for each in size.keys_of_a_user:
        ranks = measures.zipf(size.events // each * each, size.domain // each, SEED).reshape(-1, each)
        rows = ranks * each + np.arange(each)
        yield _said("users", each, partial(measures.users, rows, 4 * size.counters, Budget()))
    few = measures.zipf(size.pure_events, size.domain, SEED)
    for bits in size.domain_bits:
        yield _said("domain", bits, partial(measures.pure, few, size.counters, PURE, 1 << bits))


def _said(sweep: str, value: int, draws: Callable[[], Draws]) -> tuple[str, int, Callable[[], Draws]]:
    print(f"{sweep} {value}", flush=True)
    return sweep, value, draws


if __name__ == "__main__":
    main()
