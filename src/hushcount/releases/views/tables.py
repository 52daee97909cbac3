"""A release as a table: for people on a terminal, and as tab-separated text for programs."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeGuard

from hushcount.releases.other import other_sentences
from hushcount.releases.writers import with_texts

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.table import Table
    from rich.text import Text

    from hushcount.releases.published import Published
    from hushcount.releases.release import Release

WIDTH = 100  # of a table whose reader's width is not known
BAR_CELLS = 20
FEWEST_BAR_CELLS = 4  # a shorter bar shows nothing, so it is left out
KEY_CELLS = 12  # that a bar leaves to each column of keys
GAP = 3  # between two columns
BLOCK = 4096  # rows that are printed at once
EXACT = 1 << 53  # below it every whole number is one of 64 bits
COMMON = ("count", "lower", "upper")
EIGHTHS = " ▏▎▍▌▋▊▉"
FULL = "█"
TSV_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
# Control, format (also those that turn the direction of text), surrogate, private, unassigned, separators.
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def tsv(release: Published, terminal: bool = False) -> Iterator[str]:
    """Yield tab-separated text with a header, in blocks of many lines.

    Tabs, line ends and backslashes in keys are escaped; on a terminal, whatever could move its cursor too.
    """
    return tsv_of(release.table, terminal)


def tsv_of(table: pa.Table, terminal: bool = False) -> Iterator[str]:
    """Yield any table as `tsv` does."""
    shown = visible if terminal else text
    yield "\t".join(shown(name.translate(TSV_ESCAPES)) for name in table.column_names) + "\n"
    for batch in with_texts(table).to_batches(BLOCK):
        columns = (column.to_pylist() for column in batch.columns)
        rows = ("\t".join(_cell(value, terminal) for value in row) for row in zip(*columns, strict=True))
        yield "".join(f"{row}\n" for row in rows)


def _cell(value: object, terminal: bool) -> str:
    """Return a value as it stands between two tabs."""
    escaped = text(int(value) if _whole(value) else value).translate(TSV_ESCAPES)
    return visible(escaped) if terminal else escaped


def text(value: object) -> str:
    """Return a value as text; bytes that are not text become escapes, and a missing bound is empty."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


def visible(value: object) -> str:
    """Return a value as it may be shown on a terminal: nothing in it can move the cursor or hide.

    >>> visible("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    shown = text(value)
    if shown.isprintable():
        return shown
    return "".join(_escaped(char) if unicodedata.category(char) in UNSEEN else char for char in shown)


def visible_json(line: str) -> str:
    """Return JSON as it may be shown on a terminal: the same values, with escapes for what it would obey.

    >>> visible_json('"a\u202eb"')
    '"a\\\\u202eb"'
    """
    return "".join(
        char if char in "\n " or unicodedata.category(char) not in UNSEEN else json.dumps(char)[1:-1]
        for char in line
    )


def bar(count: float, largest: float, cells: int = BAR_CELLS) -> str:
    """Return a bar of block characters, in eighths of a cell.

    >>> bar(3, 8, cells=2)
    '▊'
    """
    if largest <= 0 or count <= 0:
        return ""
    whole, rest = divmod(max(round(8 * cells * min(count / largest, 1)), 1), 8)
    return (FULL * whole + EIGHTHS[rest]).rstrip()


def bar_cells(width: int, others: Sequence[int], most: int = BAR_CELLS) -> int:
    """Return how long bars can be beside columns of these widths; 0 if there is no room for them."""
    left = min(most, width - sum(others) - GAP * len(others))
    return left if left >= FEWEST_BAR_CELLS else 0


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column for a terminal: only keys may be shortened, numbers never."""

    title: str
    cells: Sequence[str | Text]
    style: str = ""
    justify: Literal["left", "right"] = "right"
    is_key: bool = False

    @property
    def width(self) -> int:
        """How many cells of a line it needs; a bar leaves only a few to keys."""
        widest = max(map(len, (self.title, *self.cells)))
        return min(widest, KEY_CELLS) if self.is_key else widest


def framed(
    columns: Sequence[ShownColumn], bars: Sequence[int], width: int, more: Sequence[ShownColumn] = ()
) -> Table:
    """Return a table of columns, with bars if `width` has room for them, and then `more` columns."""
    room = bar_cells(width, [column.width for column in (*columns, *more)])
    drawn = [bar(value, max(bars), room) for value in bars] if room else []
    between = [ShownColumn("", drawn, "green", "left")] if room else []
    shown = [*columns, *between, *more]
    table = head()
    for column in shown:
        widest = None if column.is_key else room if column in between else column.width
        keep = not column.is_key
        table.add_column(
            column.title, justify=column.justify, style=column.style, no_wrap=keep, min_width=widest
        )
    for row in zip(*(column.cells for column in shown), strict=True):
        table.add_row(*row)
    return table


def rich_table(release: Release, rows: int | None = None, width: int = WIDTH) -> Table:
    """Return the table for a terminal: rank, key, count, interval and bar of the first `rows` rows.

    Keys are shortened and bars left out where `width` has no room for them; numbers never are.
    """
    from rich.text import Text

    whole = release if rows is None or rows >= len(release) else release.limit(rows)
    table, names = with_texts(whole.table), release.keys.column_names
    values = {name: table[name].to_pylist() for name in table.column_names}
    if "count" not in values:
        ranks = ShownColumn("#", [str(rank) for rank in range(1, len(table) + 1)], "dim")
        cells = {name: [Text(visible(each), overflow="ellipsis") for each in values[name]] for name in names}
        shown = [ShownColumn(visible(name), cells[name], "bold cyan", "left", True) for name in names]
        return framed([ranks, *shown], [0] * len(table), width, [])
    counts, further = values["count"], [name for name in values if name not in (*names, *COMMON)]
    labels = {
        name: [Text(visible(value), no_wrap=True, overflow="ellipsis") for value in values[name]]
        for name in names
    }
    counted = f"count ({release.counted.noun} kept)" if release.counted.meaning else "count"
    interval = f"{100 * release.confidence:g}% interval"
    columns = [
        ShownColumn("#", [str(rank) for rank in range(1, len(counts) + 1)], "dim"),
        *(ShownColumn(visible(name), cells, "bold cyan", "left", True) for name, cells in labels.items()),
        ShownColumn(counted, list(map(_number, counts))),
        ShownColumn(interval, intervals(values["lower"], values["upper"]), "dim"),
    ]
    more = [ShownColumn(name, list(map(_number, values[name])), "dim") for name in further]
    drawn = framed(columns, counts, width, more)
    drawn.caption = "".join(other_sentences(release)[:1]) or None  # the foot: no row, so no key either
    drawn.caption_justify = "left"
    return drawn


def intervals(lower: Sequence[int | None], upper: Sequence[int | None]) -> list[str]:
    """Return the intervals of all rows as text; open at the top if nothing public bounds a count."""
    return [
        f"from {_number(low)}" if high is None else f"{_number(low)} … {_number(high)}"
        for low, high in zip(lower, upper, strict=True)
    ]


def head() -> Table:
    """Return a table of no columns, in the style of all of ours."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{int(value):,}" if isinstance(value, int) or _whole(value) else f"{value:,.1f}"


def _whole(value: object) -> TypeGuard[float]:
    """Return whether a value is an estimate that happens to be a whole number, which is shown as one."""
    return isinstance(value, float) and value.is_integer() and abs(value) < EXACT


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
