"""The figures that must be reached, each beside the one measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import ldp_client, updates, utility

NOISE_TIMES = 30
HEADLINE = "zipf 1.1"
CAPPED = "zipf 1.5"  # one key has more than a third of the rows: docs/threads.md


@dataclass(frozen=True, slots=True)
class Line:
    """A figure with its bound: `least` or `most`, whichever is not None."""

    name: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound."""
        above = self.least is None or self.value >= self.least
        return above and (self.most is None or self.value <= self.most)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "passed": self.passed}


def lines(results: dict[str, Any]) -> list[Line]:
    """The lines of all parts that were measured."""
    found: list[Line] = []
    for kind in ("ints", "strings"):
        if kind in results:
            found += _updates(kind, results[kind])
    if "parquet" in results:
        found += _parquet(results["parquet"])
    if "terms" in results:
        share = results["terms"]["ratios"]["job_cpu_s"]
        found.append(Line("Parquet of 170,000 terms, job, share of DuckDB exact: CPU time", share, most=0.7))
    if "noise" in results:
        laplace = {name: row for name, row in results["noise"].items() if name.startswith("laplace")}
        found += [
            Line(f"{name}, times the speed of OpenDP", row["ratio"], least=NOISE_TIMES)
            for name, row in laplace.items()
        ]
    if "linear" in results:
        found += _linear(results["linear"])
    if "hierarchy" in results:
        found += _hierarchy(results["hierarchy"])
    if "ldp_client" in results:
        found += [
            Line(f"Local report, {name}: CPU microseconds", value, most=ldp_client.MOST_MICROSECONDS)
            for name, value in results["ldp_client"].items()
        ]
    others = {"utility": _utility, "threads": _threads, "users": _users, "spark": _spark, "start": _start}
    return found + [line for part, kept in others.items() if part in results for line in kept(results[part])]


def _threads(rows: list[dict[str, Any]]) -> Iterator[Line]:
    for row in rows:
        if row["threads"] == 2 and row["distribution"] != CAPPED:
            yield Line(f"Two threads, {row['distribution']}: times the speed of one", row["speed"], least=1.6)


def _start(figures: dict[str, float]) -> Iterator[Line]:
    yield Line("The program on a file of ten lines: CPU s", figures["program_cpu_s"], most=0.7)
    yield Line("hc.top of a few keys: CPU ms", figures["call_cpu_ms"], most=1.5)


def _users(figures: dict[str, float]) -> Iterator[Line]:
    """The bounds are those of 20M rows; fewer rows must stay below them all the more."""
    yield Line("Table of users, at most 8 keys each: CPU s", figures["cpu_s"], most=12)
    yield Line("Table of users, at most 8 keys each: peak memory in MB", figures["peak_mb"], most=1000)
    noise = figures["truncated_geometric_cpu_s"] / figures["laplace_threshold_cpu_s"]
    yield Line("Truncated geometric, times the CPU of the Laplace threshold", noise, most=1.5)


def _spark(figures: dict[str, float]) -> Iterator[Line]:
    for unit, name in (("cpu_s", "CPU of all processes"), ("wall_s", "wall time")):
        yield Line(f"Exact counts on Spark, times plain groupBy: {name}", figures[f"ratio_{unit}"], most=1.2)


def _updates(kind: str, rows: list[dict[str, Any]]) -> Iterator[Line]:
    for counters in updates.COUNTERS:
        case = (kind, HEADLINE, counters)
        name = f"SpaceSaving, {kind}, {HEADLINE}, k={counters}"
        if kind == "ints":
            speed = updates.ratio(rows, case, "SpaceSaving", "limit loop")
            yield Line(f"{name}: share of the limit loop", speed, least=0.45)
        speed = updates.ratio(rows, case, "SpaceSaving", "datasketches")
        yield Line(f"{name}: times datasketches", speed, least=4.0 if kind == "ints" else 3.0)
    if kind == "ints":
        case = (kind, "uniform", max(updates.COUNTERS))
        speed = updates.ratio(rows, case, "MisraGries", "SpaceSaving")
        yield Line(
            f"MisraGries, {kind}, uniform, k={max(updates.COUNTERS)}: times SpaceSaving", speed, least=0.5
        )


def _parquet(contest: dict[str, Any]) -> Iterator[Line]:
    for scope in ("job", "process"):
        name = f"Parquet, {scope}, share of DuckDB exact"
        yield Line(f"{name}: wall time", contest["ratios"][f"{scope}_wall_s"], most=1.0)
        yield Line(f"{name}: CPU time", contest["ratios"][f"{scope}_cpu_s"], most=0.85)
    yield Line("Parquet, peak memory in MB", contest["medians"]["hushcount"]["peak_mb"], most=450)


def _linear(figures: dict[str, dict[str, float]]) -> Iterator[Line]:
    """100 M updates a second or 0.4 of the limit, whichever is less; half of that for CountSketch."""
    speed = min(100.0, 0.4 * figures["limit"]["m_updates_s"])
    for name, least in (("CountMin", speed), ("CountSketch", speed / 2)):
        yield Line(f"{name}, 5 x 4096: M updates per CPU second", figures[name]["m_updates_s"], least=least)


def _hierarchy(figures: dict[str, Any]) -> Iterator[Line]:
    for name, row in figures["streaming"].items():
        share = row["share_times_height"]
        yield Line(f"Streaming tree, {name}: share of SpaceSaving, times the height", share, least=0.6)
    offline = figures["offline"]
    yield Line("Offline tree of height 32: wall s", offline["wall_s"], most=30)
    yield Line("Offline tree of height 32: peak memory in MB", offline["peak_mb"], most=2000)
    yield Line("Calibration of paths of height 128: CPU s", figures["calibration_s"], most=5)


def _utility(figures: dict[str, dict[str, float]]) -> Iterator[Line]:
    few, many = figures[utility.FEW.name], figures[utility.MANY.name]
    exact, noisy = figures[utility.ALL.name], figures[utility.NOISY.name]
    yield Line(f"Top 100, {utility.FEW.name}: precision", few["precision"], least=0.98)
    yield Line(f"Top 100, {utility.FEW.name}: relative error", few["relative_error"], most=0.005)
    yield Line(f"{utility.MANY.name}: published keys", many["published"], least=2350)
    yield Line(f"{utility.ALL.name}: published keys", exact["published"], least=2700)
    yield Line(f"Top 100, {utility.NOISY.name}: precision", noisy["precision"], least=0.98)
