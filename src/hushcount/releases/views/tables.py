"""A release as a table: for people on a terminal, and as tab-separated text for programs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from hushcount.releases.release import Release
    from hushcount.releases.writers import Published

BAR_CELLS = 20
COMMON = ("count", "lower", "upper")
EIGHTHS = " ▏▎▍▌▋▊▉"
FULL = "█"
TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
# Control, format (also those that turn the direction of text), surrogate, private, unassigned, separators.
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def tsv(release: Published) -> Iterator[str]:
    """Lines of tab-separated text with a header; tabs, line ends and backslashes in keys are escaped."""
    table = release.table
    yield "\t".join(name.translate(TSV_ESCAPES) for name in table.column_names)
    for batch in table.to_batches(4096):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield "\t".join(text(value).translate(TSV_ESCAPES) for value in row)


def text(value: object) -> str:
    """A value as text; bytes that are not text are written as escapes, and a missing bound is empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def visible(value: object) -> str:
    """A key as it may be shown on a terminal: nothing in it can move the cursor or hide.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    shown = text(value)
    if shown.isprintable():
        return shown
    return "".join(_escaped(char) if unicodedata.category(char) in UNSEEN else char for char in shown)


def bar(count: float, largest: float, cells: int = BAR_CELLS) -> str:
    """A bar of block characters, in eighths of a cell.

    >>> bar(3, 8, cells=2)
    '▊'
    """
    if largest <= 0 or count <= 0:
        return ""
    whole, rest = divmod(max(round(8 * cells * min(count / largest, 1)), 1), 8)
    return (FULL * whole + EIGHTHS[rest]).rstrip()


def rich_table(release: Release, rows: int | None = None) -> Table:
    """The table for a terminal: rank, key, count, interval and bar of the first `rows` rows."""
    from rich.text import Text

    shown = release if rows is None or rows >= len(release) else release.limit(rows)
    values = shown.table.to_pylist()
    names = release.keys.column_names
    largest = max((row["count"] for row in values), default=0)
    numbers = [(str(rank), _number(row["count"]), interval(row)) for rank, row in enumerate(values, 1)]
    table = _frame(
        names, release.confidence, [max(map(len, column)) for column in zip(*numbers, strict=True)]
    )
    further = [name for name in shown.table.column_names if name not in (*names, *COMMON)]
    for name in further:
        table.add_column(name, justify="right", style="dim", no_wrap=True)
    for row, (rank, count, bounds) in zip(values, numbers, strict=True):
        keys = [Text(visible(row[name]), no_wrap=True, overflow="ellipsis") for name in names]
        more = [_number(row[name]) for name in further]
        table.add_row(rank, *keys, count, bounds, bar(row["count"], largest), *more)
    return table


def interval(row: Mapping[str, Any]) -> str:
    """The interval of a row; open above where nothing public bounds it."""
    if row.get("upper") is None:
        return f"from {_number(row['lower'])}"
    return f"{_number(row['lower'])} … {_number(row['upper'])}"


def _frame(names: Sequence[str], confidence: float, widths: Sequence[int]) -> Table:
    """The columns; only keys may be shortened, numbers never."""
    from rich import box
    from rich.table import Table

    rank, count, bounds = widths or (0, 0, 0)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("#", justify="right", style="dim", min_width=rank)
    for name in names:
        table.add_column(visible(name), style="bold cyan")
    table.add_column("count", justify="right", no_wrap=True, min_width=count)
    title = f"{100 * confidence:g}% interval"
    table.add_column(title, justify="right", style="dim", no_wrap=True, min_width=max(bounds, len(title)))
    table.add_column("", style="green", no_wrap=True, min_width=BAR_CELLS)
    return table


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
