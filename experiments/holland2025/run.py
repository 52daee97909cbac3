"""The experiments of Holland 2025 (Figures 10 to 12): python -m experiments.holland2025.run

Writes results.json, README.md and figures/ beside this file, or where --folder says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiments.common.study import Row, asked, made, summary
from experiments.holland2025 import methods, streams
from experiments.holland2025.page import STUDY

SEED = 1
EPSILONS = (0.001, 0.01, 0.1, 1.0, 10.0)
FACTORS = (1, 2, 3, 4, 5, 6)
EPSILON, SKEW = 0.1, 1.1


@dataclass(frozen=True)
class Size:
    """How long the streams are, and the values that are varied."""

    events: int
    packets: int
    sources: int
    repetitions: int
    ks: tuple[int, ...]
    trace_ks: tuple[int, ...]
    skews: tuple[float, ...]
    k: int = 128
    trace_k: int = 256
    factor_k: int = 1024


SIZES = {
    "tiny": Size(1 << 16, 80_000, 1_000, 2, (16, 64), (32, 128), (1.1, 2.7), 32, 64, 64),
    "small": Size(
        1 << 21, 2_660_000, 31_200, 5, (32, 128, 512, 1024), (128, 512, 2048), (1.1, 1.5, 1.9, 2.3, 2.7)
    ),
    "full": Size(
        1 << 24,
        26_600_000,
        312_000,
        20,
        (32, 64, 128, 256, 512, 1024),
        (128, 256, 512, 1024, 2048, 4096),
        (1.1, 1.4, 1.7, 2.0, 2.3, 2.7),
    ),
}
Varied = tuple[str, str, float, methods.Setting]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every method on both streams over k, skew, epsilon and the number of counters."""
    chosen = asked(STUDY, SIZES, arguments)
    if chosen.only_page:
        return STUDY.draw(chosen.folder)
    size = SIZES[chosen.size]
    repetitions = chosen.repetitions or size.repetitions
    rows = [*synthetic(size, repetitions), *traced(size, repetitions)]
    settings: dict[str, Any] = asdict(size) | {"repetitions": repetitions, "delta": methods.DELTA}
    return STUDY.write({"made": made(STUDY, chosen), "settings": settings, "rows": rows}, chosen.folder)


def synthetic(size: Size, repetitions: int) -> Iterator[Row]:
    """Figures 10 and 11: Zipf keys."""
    stream = streams.zipf(size.events, SKEW, SEED)
    for k in size.ks:
        yield from rows_of(stream, ("zipf", "k", k, setting(k, EPSILON)), repetitions)
    for epsilon in EPSILONS:
        yield from rows_of(stream, ("zipf", "epsilon", epsilon, setting(size.k, epsilon)), repetitions)
    for skew in size.skews:
        stream = streams.zipf(size.events, skew, SEED)
        yield from rows_of(stream, ("zipf", "skew", skew, setting(size.k, EPSILON)), repetitions)


def traced(size: Size, repetitions: int) -> Iterator[Row]:
    """Figure 12: a stream in the form of a network trace."""
    stream = streams.trace(size.packets, size.sources, SEED)
    for k in size.trace_ks:
        yield from rows_of(stream, ("trace", "k", k, setting(k, EPSILON)), repetitions)
    for epsilon in EPSILONS:
        yield from rows_of(stream, ("trace", "epsilon", epsilon, setting(size.trace_k, epsilon)), repetitions)
    for factor in FACTORS:
        k = size.factor_k
        same = methods.Setting(k, EPSILON, factor * k, factor * k)
        yield from rows_of(stream, ("trace", "factor", factor, same), repetitions)


def setting(k: int, epsilon: float) -> methods.Setting:
    """Return the sizes of the paper: 2k counters, and 4k tracked keys beside a linear sketch."""
    return methods.Setting(k, epsilon, 2 * k, 4 * k)


def rows_of(stream: streams.Stream, varied: Varied, repetitions: int) -> Iterator[Row]:
    """Return the mean figures of each method."""
    name, what, value, chosen = varied
    print(f"{name}, {what} {value:g}", flush=True)
    for method, samples in methods.measured(stream, chosen, repetitions).items():
        yield {"stream": name, "varied": what, "value": value, "method": method} | summary(samples)


if __name__ == "__main__":
    main()
