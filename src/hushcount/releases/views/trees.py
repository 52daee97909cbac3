"""A tree release for people: the published nodes under each other, indented by nesting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from hushcount.releases.views.tables import (
    KEY_CELLS,
    WIDTH,
    ShownColumn,
    bar_cells,
    framed,
    intervals,
    visible,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from hushcount.releases.tree import TreeRelease
    from hushcount.releases.trees.nodes import TreeRows

BRANCH, LAST, PASSING, NOTHING = "├─ ", "└─ ", "│  ", "   "
LEAST_LABEL = 4  # characters of a node that are shown in any case
MARKED = "near_threshold"  # the column of rows that have a mark beside their interval
MARKER = "·"  # stands for each component that a key lacks
# What stands between the components of a node, by how the name of the hierarchy begins. A release that was
# read from a file has this name only, and views know no hierarchies.
SEPARATORS = {"path": "/", "domain": ".", "columns:": " > "}
BEFORE_MARKER = ("/", ".", " > ", "T", "-")


def branches(rows: TreeRows) -> Iterator[str]:
    """Yield the lines before each label that join it to its parent, for rows in depth-first order."""
    parents = rows.parents.tolist()
    final = {parent: row for row, parent in enumerate(parents)}
    before: list[str] = []  # what stands before the children of each row
    for row, parent in enumerate(parents):
        if parent < 0:
            before.append("")
            yield ""
            continue
        last = final[parent] == row
        before.append(before[parent] + (NOTHING if last else PASSING))
        yield before[parent] + (LAST if last else BRANCH)


def unpadded(label: str) -> str:
    """Return a label without the markers at its end.

    >>> unpadded("//·/·/·"), unpadded("com.example.·"), unpadded("2024-05-17T·")
    ('/', 'com.example', '2024-05-17')
    """
    while label.endswith(MARKER):
        shorter = next((label[: -len(end) - 1] for end in BEFORE_MARKER if label.endswith(end + MARKER)), "")
        if not shorter:
            break
        label = shorter
    return label


def short_labels(release: TreeRelease) -> list[str]:
    """Return each node as it stands under its published parent: only what it has more than the parent.

    A key that ends where its parent is has nothing more: the marker stands for it.
    """
    labels = release.rows.nodes.to_pylist()
    separator = next(
        (between for name, between in SEPARATORS.items() if release.hierarchy.startswith(name)), None
    )
    shown = []
    for label, parent in zip(labels, release.rows.parents.tolist(), strict=True):
        short = unpadded(label)
        above = labels[parent] if parent >= 0 else None
        if above is not None and short == above:
            short = MARKER
        elif above is not None and separator is not None and short.startswith(above + separator):
            short = short[len(above + separator) :]
        shown.append(short)
    return shown


def rich_tree(release: TreeRelease, rows: int | None = None, width: int = WIDTH) -> Table:
    """Return the table for a terminal: node, residual, total, interval and bar of the first `rows` rows."""
    table = release.table.slice(0, rows)
    residuals, totals, lower, upper = (
        table[name].to_pylist() for name in ("residual", "total", "lower", "upper")
    )
    shown = intervals(lower, upper)
    if MARKED in table.column_names:
        near = table[MARKED].to_pylist()
        shown = [f"{words} *" if marked else words for words, marked in zip(shown, near, strict=True)]
    of_what = " of the total" if width >= WIDTH else ""
    numbers = [
        ShownColumn("residual", [f"{residual:,}" for residual in residuals]),
        ShownColumn("total", [f"{total:,}" for total in totals]),
        ShownColumn(f"{100 * release.confidence:g}% interval{of_what}", shown, "dim"),
    ]
    widths = [column.width for column in numbers]
    bars = bar_cells(width, [KEY_CELLS, *widths])
    room = bar_cells(width, [*widths, bars] if bars else widths, width)
    names = zip(branches(release.rows), short_labels(release), strict=True)
    labels = [_label(lines, name, room) for lines, name in islice(names, len(table))]
    return framed([ShownColumn("node", labels, "", "left", True), *numbers], totals, width)


def _label(lines: str, name: str, room: int) -> Text:
    """Return a node with the lines that join it to its parent; of a long name the end is shown."""
    from rich.text import Text

    label = Text(lines, style="dim", no_wrap=True, overflow="ellipsis")
    shown, left = visible(name), max(room - len(lines), LEAST_LABEL)
    return label.append(shown if len(shown) <= left else f"…{shown[1 - left :]}", style="bold cyan")
