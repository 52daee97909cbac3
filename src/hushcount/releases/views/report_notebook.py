"""What a notebook shows of a release: the first rows and what they mean, without any script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.releases.views.report_markup import Markup, element
from hushcount.releases.views.report_table import Column, Sheet, bounds, shown_key, shown_number
from hushcount.releases.views.words import empty_sentences, headline
from hushcount.releases.writers import with_texts

if TYPE_CHECKING:
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

ROWS = 20  # that a notebook shows
TEXTS = ("key", "node")


def notebook_html(release: Release | TreeRelease) -> str:
    """Return the first rows as HTML, with the guarantee below."""
    table = release.table
    columns = Sheet.of(release, table).columns
    head = element(
        "tr", *(element("th", column.title, scope="col", style=_style(column.kind)) for column in columns)
    )
    body = (
        element("tr", *(_cell(row, column) for column in columns))
        for row in with_texts(table.slice(0, ROWS)).to_pylist()
    )
    left = len(release) - ROWS
    more = (f"{left:,} further rows; release.report(path) writes all of them.",) if left > 0 else ()
    sentences = (
        *more,
        *(empty_sentences(release) if not len(release) else ()),
        release.guarantee.statement(),
    )
    return element(
        "div",
        element("p", element("strong", headline(release.guarantee.unit))),
        *((element("table", element("thead", head), element("tbody", *body)),) if len(release) else ()),
        *(element("p", sentence) for sentence in sentences),
    )


def _cell(row: dict[str, object], column: Column) -> Markup:
    """Return one cell."""
    if column.kind == "interval":
        words = bounds(row["lower"], row["upper"])
    else:
        value = row[column.field]
        words = shown_key(value)[0] if column.kind in TEXTS else shown_number(value)
    return element("td", words, style=_style(column.kind))


def _style(kind: str) -> str:
    """Return how a column is set: text to the left, numbers to the right."""
    return f"text-align: {'left' if kind in TEXTS else 'right'}; padding: 0.2em 0.8em"
