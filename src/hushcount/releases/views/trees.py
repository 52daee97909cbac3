"""A tree release for people: the published nodes under each other, indented by nesting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hushcount.releases.views.tables import KEY_CELLS, WIDTH, bar, bar_cells, head, intervals, visible

if TYPE_CHECKING:
    from rich.table import Table

    from hushcount.releases.tree import TreeRelease, TreeRows

BRANCH, LAST, PASSING, NOTHING = "├─ ", "└─ ", "│  ", "   "
MARKER = "·"  # stands for each component that a key lacks
# What stands between the components of a node, by how the name of the hierarchy begins.
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
    from rich.text import Text

    table = release.table.slice(0, rows)
    residuals, totals = table["residual"].to_pylist(), table["total"].to_pylist()
    numbers = [
        [f"{residual:,}" for residual in residuals],
        [f"{total:,}" for total in totals],
        intervals(table["lower"].to_pylist(), table["upper"].to_pylist()),
    ]
    titles = ("residual", "total", f"{100 * release.confidence:g}% interval of the total")
    if width < WIDTH:
        titles = ("residual", "total", f"{100 * release.confidence:g}% interval")
    widths = [max(map(len, (title, *column))) for title, column in zip(titles, numbers, strict=True)]
    cells = bar_cells(width, [KEY_CELLS, *widths])
    frame = _frame(titles, widths, cells)
    labels = zip(branches(release.rows), short_labels(release), strict=True)
    for row, (lines, name) in zip(range(len(totals)), labels, strict=False):
        label = Text(lines, style="dim", no_wrap=True, overflow="ellipsis")
        label.append(visible(name), style="bold cyan")
        bars = [bar(totals[row], max(totals), cells)] if cells else []
        frame.add_row(label, *(column[row] for column in numbers), *bars)
    return frame


def _frame(titles: tuple[str, str, str], widths: list[int], cells: int) -> Table:
    """Return an empty table; only nodes may be shortened, numbers never."""
    table = head()
    table.add_column("node")
    for title, width, style in zip(titles, widths, ("", "", "dim"), strict=True):
        table.add_column(title, justify="right", style=style, no_wrap=True, min_width=width)
    if cells:
        table.add_column("", style="green", no_wrap=True, min_width=cells)
    return table
