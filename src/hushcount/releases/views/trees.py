"""A tree release for people: the published nodes under each other, indented by nesting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hushcount.releases.views.tables import bar, interval, visible

if TYPE_CHECKING:
    from rich.table import Table

    from hushcount.releases.tree import TreeRelease, TreeRows

BRANCH, LAST, PASSING, NOTHING = "├─ ", "└─ ", "│  ", "   "


def branches(rows: TreeRows) -> Iterator[str]:
    """The lines before each label that join it to its parent, for rows in depth-first order."""
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


def rich_tree(release: TreeRelease, rows: int | None = None) -> Table:
    """The table for a terminal: indented node, residual, total, interval and bar of the first `rows` rows."""
    from rich.text import Text

    values = release.table.to_pylist()[:rows]
    largest = max((row["total"] for row in values), default=0)
    table = _frame(release.confidence)
    for lines, row in zip(branches(release.rows), values, strict=False):
        label = Text(lines, style="dim", no_wrap=True, overflow="ellipsis")
        label.append(visible(row["node"]), style="bold cyan")
        numbers = (f"{row['residual']:,}", f"{row['total']:,}", interval(row))
        table.add_row(label, *numbers, bar(row["total"], largest))
    return table


def _frame(confidence: float) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("node")
    table.add_column("residual", justify="right", no_wrap=True, min_width=8)
    table.add_column("total", justify="right", no_wrap=True, min_width=5)
    title = f"{100 * confidence:g}% interval of the total"
    table.add_column(title, justify="right", style="dim", no_wrap=True)
    table.add_column("", style="green", no_wrap=True, min_width=10)
    return table
