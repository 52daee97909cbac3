"""A table of a feed for people: rank, key, count, interval and a small picture of its time."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hushcount.releases.feeds.table import FeedTable
from hushcount.releases.views.tables import GAP, WIDTH, ShownColumn, framed, intervals, visible
from hushcount.releases.writers import with_texts

if TYPE_CHECKING:
    from rich.table import Table

STEPS = "▁▂▃▄▅▆▇█"
UNKNOWN = "·"


def sparkline(counts: Sequence[int | None]) -> str:
    """Return a line of small columns; a dot where nothing was published.

    >>> sparkline([None, 0, 1, 4, 8])
    '·▁▂▅█'
    """
    largest = max((each for each in counts if each is not None), default=0)
    return "".join(UNKNOWN if each is None else _step(each, largest) for each in counts)


def _step(count: int, largest: int) -> str:
    """Return the column of one count."""
    if largest <= 0 or count <= 0:
        return STEPS[0]
    return STEPS[min(len(STEPS) * count // largest, len(STEPS) - 1)]


def feed_frame(found: FeedTable, width: int = WIDTH) -> Table:
    """Return a table of a feed for a terminal, without the pictures if `width` has no room for them."""
    from rich.text import Text

    table = with_texts(found.table)
    values = {name: table[name].to_pylist() for name in table.column_names}
    columns = [ShownColumn("#", [str(rank) for rank in range(1, len(table) + 1)], "dim")]
    for name in table.column_names[:-3]:
        cells = [Text(visible(each), no_wrap=True, overflow="ellipsis") for each in values[name]]
        columns.append(ShownColumn(visible(name), cells, "bold cyan", "left", True))
    columns.append(ShownColumn("count", [f"{each:,}" for each in values["count"]]))
    columns.append(
        ShownColumn(
            f"{100 * found.confidence:g}% interval", intervals(values["lower"], values["upper"]), "dim"
        )
    )
    lines = ShownColumn("over this time", [sparkline(each) for each in found.shapes], "green", "left")
    if sum(column.width + GAP for column in (*columns, lines)) <= width:
        columns.append(lines)
    return framed(columns, [0] * len(table), 0)


def text_of(found: FeedTable) -> str:
    """Return what Python shows of a table of a feed."""
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None, highlight=False, force_jupyter=False).print(
        feed_frame(found)
    )
    lines = [*found.sentences[:1], *text.getvalue().splitlines()]
    return "\n".join(visible(line.rstrip()) for line in lines if line.strip())
