"""Figures as rows of text, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks import updates

KINDS = {"ints": "Integers", "strings": "Text of 8 to 30 characters"}
CONTEST_TITLE = "{rows:,} rows of Parquet ({file_mb:.0f} MB, {compression}), k={counters:,}"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A title, names of columns and rows; the first column is text, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(results: Row) -> Iterator[Table]:
    """A table for every part that was measured, the required lines first."""
    yield _required(results["required"])
    for kind, title in KINDS.items():
        if kind in results:
            yield _updates(title, results[kind])
    yield from (_contest(results[part]) for part in ("parquet", "terms") if part in results)
    if "noise" in results:
        yield _noise(results["noise"])
    if "linear" in results:
        yield _linear(results["linear"])
    if "hierarchy" in results:
        yield _streaming_trees(results["hierarchy"]["streaming"])
        yield _offline_tree(results["hierarchy"]["offline"])
    if "ldp_client" in results:
        yield _ldp_client(results["ldp_client"])
    for part, table in OTHERS.items():
        if part in results:
            yield table(results[part])


def _threads(found: list[Row]) -> Table:
    columns = (
        "keys",
        "threads",
        "one alone ns",
        "dealing ns",
        "all shards ns",
        "busiest ns",
        "speed",
        "wall speed",
    )
    names = ("alone_ns", "dealing_ns", "shards_ns", "busiest_ns", "speed", "wall_speed")
    rows = [
        (row["distribution"], str(row["threads"]), *(f"{row[name]:.2f}" for name in names)) for row in found
    ]
    return Table("Threads, 131,072 counters in all: CPU of one thread for one event", columns, rows)


def _users(figures: Row) -> Table:
    title = f"Table of users: {figures['rows']:,} rows, at most 8 keys of each user"
    columns = ("route", "CPU s", "wall s", "MB", "keys")
    numbers = (f"{figures[name]:.3g}" for name in ("cpu_s", "wall_s", "peak_mb", "published"))
    beside = ("DuckDB: different pairs alone", f"{figures['duckdb_cpu_s']:.3g}", "", "", "")
    return Table(title, columns, [("exact counts on disk", *numbers), beside])


def _spark(figures: Row) -> Table:
    named = {"plain": "groupBy, count, toArrow", "hushcount": "hc.top of the frame"}
    rows = [
        (words, *(f"{figures[f'{name}_{unit}']:.3g}" for unit in ("cpu_s", "wall_s")))
        for name, words in named.items()
    ]
    return Table(f"Spark: {figures['rows']:,} rows on local[2]", ("contender", "CPU s", "wall s"), rows)


def _required(lines: list[Row]) -> Table:
    rows: list[tuple[str, ...]] = []
    for line in lines:
        bound = f"at least {line['least']:g}" if line["least"] is not None else f"at most {line['most']:g}"
        rows.append((line["name"], bound, f"{line['value']:.4g}", "yes" if line["passed"] else "NO"))
    return Table("Required", ("figure", "bound", "measured", "kept"), rows)


def _updates(title: str, rows: list[Row]) -> Table:
    columns = ("contender", "keys", "k", "events", "CPU ns", "speed", "MB")
    return Table(title, columns, [_update(row, rows) for row in rows])


def _update(row: Row, rows: list[Row]) -> tuple[str, ...]:
    shares = [
        updates.ratio(rows, (row["keys"], row["distribution"], counters), row["contender"], "SpaceSaving")
        for counters in ([row["counters"]] if row["counters"] else updates.COUNTERS)
    ]
    added = row["added_mb"]
    return (
        row["contender"],
        row["distribution"],
        f"{row['counters'] // 1000}k" if row["counters"] else "all",
        f"{row['events'] / 1e6:g}M",
        f"{row['cpu_ns_per_event']:.1f}",
        ", ".join(f"{share:.2f}" for share in shares),
        "" if added is None else f"{added:.0f}",
    )


def _contest(contest: Row) -> Table:
    columns = ("program", "job wall s", "job CPU s", "process wall s", "process CPU s", "peak MB")
    rows = [(name, *(f"{value:.2f}" for value in row.values())) for name, row in contest["medians"].items()]
    rows.append(("ratio", *(f"{value:.2f}" for value in contest["ratios"].values())))
    return Table(CONTEST_TITLE.format(**contest), columns, rows)


def _noise(figures: dict[str, Row]) -> Table:
    columns = ("100,000 samples", "hushcount CPU ms", "OpenDP CPU ms", "times as fast")
    rows: list[tuple[str, ...]] = [
        (
            name,
            f"{1e3 * row['hushcount_cpu_s']:.1f}",
            f"{1e3 * row['opendp_cpu_s']:.0f}",
            f"{row['ratio']:.0f}",
        )
        for name, row in figures.items()
    ]
    return Table("Exact noise", columns, rows)


def _linear(figures: dict[str, Row]) -> Table:
    columns = ("linear sketch", "M updates per CPU second", "share of the limit")
    rows: list[tuple[str, ...]] = [
        (name, f"{row['m_updates_s']:.1f}", f"{row['of_limit']:.2f}") for name, row in figures.items()
    ]
    return Table(
        "Linear sketches, 5 rows of 4096 cells; the limit only hashes and adds, key by key", columns, rows
    )


def _streaming_trees(figures: dict[str, Row]) -> Table:
    columns = ("hierarchy", "height", "M events per CPU second", "SpaceSaving alone", "share times height")
    rows: list[tuple[str, ...]] = [
        (
            name,
            str(row["height"]),
            f"{row['m_events_s']:.2f}",
            f"{row['space_saving_m_events_s']:.1f}",
            f"{row['share_times_height']:.2f}",
        )
        for name, row in figures.items()
    ]
    return Table("Streaming trees, 4096 counters a level", columns, rows)


def _offline_tree(figures: Row) -> Table:
    columns = ("offline tree of height 32", "wall s", "CPU s", "peak MB")
    name = f"{figures['flows'] / 1e6:g}M flows, {figures['published']} nodes published"
    numbers = (f"{figures['wall_s']:.1f}", f"{figures['cpu_s']:.1f}", f"{figures['peak_mb']:.0f}")
    return Table("Offline tree of a Parquet file", columns, [(name, *numbers)])


def _ldp_client(figures: dict[str, float]) -> Table:
    rows: list[tuple[str, ...]] = [(name, f"{value:.1f}") for name, value in figures.items()]
    return Table("Local reports in pure Python", ("campaign", "CPU microseconds a report"), rows)


def _utility(figures: dict[str, Row]) -> Table:
    columns = ("sketch", "precision of the top 100", "relative error", "published keys")
    rows: list[tuple[str, ...]] = [
        (name, f"{row['precision']:.4f}", f"{row['relative_error']:.5f}", f"{row['published']:.0f}")
        for name, row in figures.items()
    ]
    return Table("1,000,000 Zipf(1.2) keys over 2^20, delta 1e-6, means of 100 releases", columns, rows)


def _start(figures: Row) -> Table:
    rows: list[tuple[str, ...]] = [(f"{figures['program_cpu_s']:.2f}", f"{figures['call_cpu_ms']:.2f}")]
    columns = ("the program on ten lines: CPU s", "hc.top of a few keys: CPU ms")
    return Table("Small tables", columns, rows)


OTHERS: dict[str, Callable[[Any], Table]] = {
    "utility": _utility,
    "threads": _threads,
    "users": _users,
    "spark": _spark,
    "start": _start,
}
