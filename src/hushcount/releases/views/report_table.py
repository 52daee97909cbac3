"""The table of a report, its intervals on a logarithmic scale, and that of a notebook, without a script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.releases.key_list import KeyList
from hushcount.releases.other import other_sentences
from hushcount.releases.release import Release
from hushcount.releases.views.plots import LogScale, short
from hushcount.releases.views.report_markup import Markup, element
from hushcount.releases.views.trees import unpadded
from hushcount.releases.views.words import empty_sentences, headline
from hushcount.releases.writers import with_texts

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.tree import TreeRelease

ROWS = 1000  # that a report shows at once
NOTEBOOK_ROWS = 20  # that a notebook shows
TEXTS = ("key", "node")  # kinds of columns that are set to the left
LONGEST = 160  # letters of a key that are shown
BAR = 240  # width of the picture of an interval, in its own units
INDENTS = 8  # steps by which nodes are indented at most
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its field in the rows, its title, and how it is shown."""

    field: str
    title: str
    kind: str  # key, node, number, decimal or interval
    extra: bool = False  # not shown on a narrow screen


@dataclass(frozen=True, slots=True)
class Sheet:
    """What the table shows: its columns, the field that is drawn, and the scale of the drawing."""

    columns: tuple[Column, ...]
    value: str
    scale: LogScale

    @classmethod
    def of(cls, release: Release | TreeRelease, table: pa.Table) -> Sheet:
        """Return the columns for a release whose rows these are."""
        if isinstance(release, KeyList):
            names = release.keys.column_names
            return cls(
                tuple(Column(name, name, "key") for name in names), names[0], LogScale.over([1], 0, BAR)
            )
        value = "count" if isinstance(release, Release) else "total"
        columns = _key_columns(release) if isinstance(release, Release) else _node_columns(release)
        numbers = [
            number for name in (value, "lower", "upper") for number in table[name].drop_null().to_pylist()
        ]
        return cls(columns, value, LogScale.over([n for n in numbers if n >= 1], 0, BAR))


def _key_columns(release: Release) -> tuple[Column, ...]:
    table, keys = release.table, release.keys.column_names
    further = [name for name in table.column_names if name not in (*keys, "count", "lower", "upper")]
    return (
        *(Column(name, name, "key") for name in keys),
        Column("count", _count_title(release, table), "number"),
        _interval(release),
        *(Column(name, name, _kind(table, name), name != "estimate") for name in further),
    )


def _kind(table: pa.Table, name: str) -> str:
    """Return how a further column of numbers is shown."""
    return "number" if str(table.schema.field(name).type) == "int64" else "decimal"


def _count_title(release: Release, table: pa.Table) -> str:
    """Return the title of the counts: a number that may be far too low is called a lower estimate."""
    if release.counted.meaning:
        return "users who kept this key" if release.counted.noun == "users" else "rows kept"
    return "lower estimate" if len(table) and table["upper"].null_count else "count"


def _node_columns(release: TreeRelease) -> tuple[Column, ...]:
    numbers = (Column(name, name, "number", name == "level") for name in ("level", "residual", "total"))
    return (Column("node", "node", "node"), *numbers, _interval(release))


def _interval(release: Release | TreeRelease) -> Column:
    return Column("lower", f"{100 * release.confidence:g}% interval", "interval")


def table_of(release: Release | TreeRelease) -> Markup:
    """Return the table with its first rows; the script of the page sorts, searches and turns its pages."""
    table = release.table
    sheet = Sheet.of(release, table)
    rows = with_texts(table.slice(0, ROWS)).to_pylist()
    depths = [0] * len(rows) if isinstance(release, Release) else release.rows.depths[:ROWS]
    titles = (_heading(sheet, column) for column in sheet.columns)
    head = element("tr", element("th", "#", scope="col", class_="rank"), *titles)
    body = [_row(sheet, rank + 1, row, depths[rank]) for rank, row in enumerate(rows)]
    return element(
        "table",
        element("caption", "The published rows", class_="unseen"),
        element("thead", head),
        element("tbody", *body),
        id="rows",
        data_value=sheet.value,
        data_low=sheet.scale.low,
        data_high=sheet.scale.high,
        data_bar=BAR,
        data_longest=LONGEST,
    )


def _heading(sheet: Sheet, column: Column) -> Markup:
    """Return the title of a column, which sorts by it; over the drawings it also has their scale."""
    arrow = element("span", class_="arrow", aria_hidden="true")
    button = element("button", column.title, arrow, type="button")
    ends = (short(10**sheet.scale.low), "log scale", short(10**sheet.scale.high))
    scale = element("span", *(element("span", end) for end in ends), class_="scale", aria_hidden="true")
    return element(
        "th",
        button,
        *((scale,) if column.kind == "interval" else ()),
        scope="col",
        class_=_class(column),
        data_field=column.field,
        data_kind=column.kind,
    )


def _class(column: Column) -> str:
    kind = "number" if column.kind == "decimal" else column.kind
    return f"{kind} extra" if column.extra else kind


def _row(sheet: Sheet, rank: int, row: Row, depth: int) -> Markup:
    cells = (_cell(sheet, column, row, depth) for column in sheet.columns)
    return element("tr", element("td", f"{rank:,}", class_="rank"), *cells)


def _cell(sheet: Sheet, column: Column, row: Row, depth: int) -> Markup:
    value = row[column.field]
    if column.kind == "interval":
        drawing = bar(sheet.scale, row[sheet.value], row["lower"], row["upper"])
        return element("td", drawing, element("span", _marked(row)), class_="interval")
    if column.kind in ("number", "decimal"):
        return element("td", shown_number(value), class_=_class(column))
    name, kind = shown_key(unpadded(str(value)) if column.kind == "node" else value)
    indent = f" in{min(depth, INDENTS)}" if column.kind == "node" and depth else ""
    return element("th", element("bdi", name, class_=kind), scope="row", class_=f"key{indent}")


def shown_key(value: object) -> tuple[str, str | None]:
    """Return a key as it is shown, and its class if it needs one: missing, empty and long keys are marked."""
    if value is None:
        return "no value", "odd"
    text = str(value)
    if not text:
        return "empty text", "odd"
    return (text, None) if len(text) <= LONGEST else (f"{text[:LONGEST]}… ({len(text):,} characters)", None)


def shown_number(value: object) -> str:
    """Return a number with thousands apart; fractions have one decimal, unless it is 0."""
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:,}" if isinstance(value, int) else ""


def bounds(lower: object, upper: object) -> str:
    """Return an interval in words."""
    low = shown_number(lower)
    return f"{low} or more" if upper is None else f"{low} to {shown_number(upper)}"


def _marked(row: Row) -> str:
    """Return the interval of a row in words, with a mark if the threshold may have selected its noise."""
    words = bounds(row["lower"], row["upper"])
    return f"{words} *" if row.get("near_threshold") else words


def bar(scale: LogScale, value: object, lower: object, upper: object) -> Markup:
    """Return the picture of an interval: a line between its bounds and a mark at the count."""
    middle, left = _place(scale, value), _place(scale, lower)
    right = BAR if upper is None else _place(scale, upper)
    return element(
        "svg",
        element("rect", x=0, y=7.5, width=BAR, height=1, class_="base"),
        element("rect", x=left, y=6, width=max(right - left, 1.0), height=4, class_="range"),
        element("rect", x=min(max(middle - 1.5, 0.0), BAR - 3.0), y=2, width=3, height=12, class_="mark"),
        viewBox=f"0 0 {BAR} 16",
        preserveAspectRatio="none",
        class_="bar",
        aria_hidden="true",
    )


def _place(scale: LogScale, value: object) -> float:
    return scale(value) if isinstance(value, int | float) else scale.start


def other_foot(release: Release | TreeRelease) -> Iterator[Markup]:
    """Yield how much the table does not show, below it: no row, so that no key can be taken for it."""
    for sentence in other_sentences(release) if isinstance(release, Release) else ():
        yield element("p", sentence, class_="other")


def notebook_html(release: Release | TreeRelease) -> str:
    """Return the first rows as HTML, with the guarantee below."""
    table = release.table
    columns = Sheet.of(release, table).columns
    head = element(
        "tr", *(element("th", column.title, scope="col", style=_set(column.kind)) for column in columns)
    )
    body = (
        element("tr", *(_notebook_cell(row, column) for column in columns))
        for row in with_texts(table.slice(0, NOTEBOOK_ROWS)).to_pylist()
    )
    left = len(release) - NOTEBOOK_ROWS
    more = (f"{left:,} further rows; release.report(path) writes all of them.",) if left > 0 else ()
    sentences = (
        *more,
        *(empty_sentences(release) if not len(release) else ()),
        *(other_sentences(release) if isinstance(release, Release) else ()),
        release.guarantee.statement(),
    )
    return element(
        "div",
        element("p", element("strong", headline(release.guarantee.unit))),
        *((element("table", element("thead", head), element("tbody", *body)),) if len(release) else ()),
        *(element("p", sentence) for sentence in sentences),
    )


def _notebook_cell(row: dict[str, object], column: Column) -> Markup:
    """Return one cell."""
    if column.kind == "interval":
        words = _marked(row)
    else:
        value = row[column.field]
        words = shown_key(value)[0] if column.kind in TEXTS else shown_number(value)
    return element("td", words, style=_set(column.kind))


def _set(kind: str) -> str:
    """Return how a column is set: text to the left, numbers to the right."""
    return f"text-align: {'left' if kind in TEXTS else 'right'}; padding: 0.2em 0.8em"
