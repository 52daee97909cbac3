"""A feed as one HTML file that needs nothing else: ranks over time, each key with its interval, entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hushcount.releases.feeds.table import FeedHistory, FeedTable
from hushcount.releases.views.report_markup import Markup, document, element, joined
from hushcount.releases.views.tables import intervals, text
from hushcount.releases.writers import with_texts

RANKED = 8  # keys of the picture of ranks
WIDTH, ROW, LEFT, RIGHT = 900, 34, 40, 200
PANEL_WIDTH, PANEL_HEIGHT = 280, 110
LABEL = 22  # characters of a key in a picture

STYLE = """
.lines path { fill: none; stroke-width: 2.5; } .lines text, .panel text { fill: var(--ink); font-size: 13px; }
.lines .rank, .panel .scale { fill: var(--soft); font-size: 11px; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1.4rem; }
.panels figure { margin: 0; } .panels figcaption { color: var(--ink); overflow-wrap: anywhere; }
.panel path { fill: none; stroke: var(--accent); stroke-width: 2; } .panel .band { fill: var(--accent-soft);
  stroke: none; opacity: .6; } .panel line { stroke: var(--line); }
.scroll { overflow-x: auto; } .scroll svg { min-width: 34rem; width: 100%; height: auto; }
.k0 { stroke: #2b5c8a; } .k1 { stroke: #a5432a; } .k2 { stroke: #2f7d4f; } .k3 { stroke: #64509a; }
.k4 { stroke: #8a6d1a; } .k5 { stroke: #b03a6b; } .k6 { stroke: #23808a; } .k7 { stroke: #5b6b2f; }
@media (prefers-color-scheme: dark) {
  .k0 { stroke: #8dbbe6; } .k1 { stroke: #f0a184; } .k2 { stroke: #8fd3a8; } .k3 { stroke: #bba9f0; }
  .k4 { stroke: #e0c66a; } .k5 { stroke: #f2a0c2; } .k6 { stroke: #7fd0d8; } .k7 { stroke: #c3d08a; }
}
"""
READ = (
    "Every number is a sum of published numbers; whoever has the feed can work it out, and it costs nothing"
    " more.",
    "An entry is the period in which a key became known: its noisy count had reached the threshold. What was"
    " counted before is in the number of the entry, and later periods are counted one by one.",
    "A line begins after the entry. A gap says that the key had retired, not that it did not occur.",
    "A key retires when a whole node of the longest level is published with too small a number. It is"
    " forgotten and may enter again.",
    "A key that is not shown may have occurred: the rarest keys are never published.",
)


def feed_report(history: FeedHistory) -> str:
    """Return the report as HTML."""
    table = history.table
    names = key_texts(table)
    title = "The most frequent keys over time"
    head = element(
        "header",
        element("p", "Differentially private feed", class_="kicker"),
        element("h1", title),
        element(
            "p",
            f"{history.entered:,} entries published · {table.start:%-d %B %Y} to {table.end:%-d %B %Y} (UTC)",
            class_="meta",
        ),
    )
    return document(
        title,
        STYLE,
        head,
        _section("What is protected", element("p", table.statement, class_="promise")),
        _section(
            "Rank over time",
            element(
                "p", "Among the keys that are most frequent in all, by the count of each part of the time."
            ),
            _wide_part("Ranks over time", ranks(names[:RANKED], table.shapes[:RANKED])),
        ),
        _section(
            "Each key",
            element(
                "p",
                f"The count of each of {len(table.shapes[0]) if table.shapes else 0} parts of the time."
                f" The band is the {100 * table.confidence:g}% interval of one part:"
                f" {history.width:,} to either side.",
            ),
            element(
                "div",
                *(_figure(*each, history.width) for each in zip(names, table.shapes, strict=True)),
                class_="panels",
            ),
        ),
        _section("So far", _wide_part("Table so far", _rows(table, names))),
        _section("Entries and retirements", *_changes(history)),
        _section(
            "How to read the numbers",
            element("ul", *(element("li", each) for each in (*READ, *table.sentences[:1]))),
        ),
    )


def key_texts(table: FeedTable) -> list[str]:
    """Return each key as one text."""
    columns = (with_texts(table.table)[name].to_pylist() for name in table.key_names)
    return [", ".join(map(text, row)) for row in zip(*columns, strict=True)]


def _section(title: str, *parts: Markup) -> Markup:
    return element("section", element("h2", title), *parts)


def ranks(names: Sequence[str], shapes: Sequence[Sequence[int | None]]) -> Markup:
    """Return a picture with a line for each key: its rank in each part of the time."""
    cells = len(shapes[0]) if shapes else 0
    height = ROW * (len(names) + 1)
    step = (WIDTH - LEFT - RIGHT) / max(cells - 1, 1)
    placed = [ranked([shape[cell] for shape in shapes]) for cell in range(cells)]
    lines = []
    for place, name in enumerate(names):
        points = [
            None if rank is None else (LEFT + step * cell, ROW * rank)
            for cell, rank in enumerate(each[place] for each in placed)
        ]
        lines.append(element("path", d=path(points), class_=f"k{place}"))
        last = next((point for point in reversed(points) if point), None)
        if last is not None:
            away = (10, 4) if points[-1] else (6, -6)
            lines.append(element("text", shortened(name), x=last[0] + away[0], y=last[1] + away[1]))
    numbers = [
        element("text", str(rank), x=8, y=ROW * rank + 4, class_="rank") for rank in range(1, len(names) + 1)
    ]
    return element(
        "svg",
        element("title", "Rank of the most frequent keys in each part of the time"),
        *numbers,
        *lines,
        viewBox=f"0 0 {WIDTH} {height}",
        class_="lines",
        role="img",
    )


def ranked(counts: Sequence[int | None]) -> list[int | None]:
    """Return the rank of each count, 1 for the largest; None stays None.

    >>> ranked([3, None, 8])
    [2, None, 1]
    """
    order = sorted(
        (place for place, count in enumerate(counts) if count is not None), key=lambda at: -(counts[at] or 0)
    )
    found: list[int | None] = [None] * len(counts)
    for rank, place in enumerate(order, start=1):
        found[place] = rank
    return found


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return a line through points, broken where one is missing."""
    drawn, down = [], False
    for point in points:
        if point is not None:
            drawn.append(f"{'L' if down else 'M'}{point[0]:.1f} {point[1]:.1f}")
        down = point is not None
    return " ".join(drawn)


def shortened(name: str) -> str:
    """Return a key as a picture has room for it."""
    return name if len(name) <= LABEL else name[: LABEL - 1] + "…"


def _figure(name: str, shape: Sequence[int | None], width: int) -> Markup:
    """Return the line of one key with its band."""
    return element("figure", element("figcaption", name), panel(shape, width))


def panel(shape: Sequence[int | None], width: int) -> Markup:
    """Return a picture of one line with its band."""
    most = max((count + width for count in shape if count is not None), default=1) or 1
    step = PANEL_WIDTH / max(len(shape) - 1, 1)

    def at(cell: float, value: float) -> tuple[float, float]:
        return step * cell, PANEL_HEIGHT - 8 - (PANEL_HEIGHT - 24) * max(value, 0) / most

    runs = list(_runs(shape))
    bands = [
        element(
            "path",
            d=path(
                [at(cell, count + width) for cell, count in run]
                + [at(cell, count - width) for cell, count in reversed(run)]
            )
            + " Z",
            class_="band",
        )
        for run in runs
    ]
    lines = [element("path", d=path([at(cell, count) for cell, count in _dash(run)])) for run in runs]
    return element(
        "svg",
        element("title", "Counts of this key over time"),
        element("line", x1=0, x2=PANEL_WIDTH, y1=PANEL_HEIGHT - 8, y2=PANEL_HEIGHT - 8),
        *bands,
        *lines,
        element("text", f"{most:,}", x=0, y=11, class_="scale"),
        viewBox=f"0 0 {PANEL_WIDTH} {PANEL_HEIGHT}",
        class_="panel",
        role="img",
    )


def _runs(shape: Sequence[int | None]) -> Iterator[list[tuple[int, int]]]:
    """Yield the parts of a line without gaps, as cells and counts."""
    run: list[tuple[int, int]] = []
    for cell, count in enumerate(shape):
        if count is not None:
            run.append((cell, count))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _dash(run: list[tuple[int, int]]) -> list[tuple[float, int]]:
    """Return a run as a line; one point alone is a short dash."""
    if len(run) > 1:
        return [(cell, count) for cell, count in run]
    return [(run[0][0] - 0.3, run[0][1]), (run[0][0] + 0.3, run[0][1])]


def _rows(table: FeedTable, names: Sequence[str]) -> Markup:
    """Return the table so far."""
    values = table.table.to_pydict()
    ends = intervals(values["lower"], values["upper"])
    head = ("#", "key", "count", f"{100 * table.confidence:g}% interval")
    body = [
        (str(rank), name, f"{count:,}", end)
        for rank, (name, count, end) in enumerate(zip(names, values["count"], ends, strict=True), start=1)
    ]
    return _table(head, body)


def _changes(history: FeedHistory) -> tuple[Markup, ...]:
    """Return what entered and retired, in words."""
    if not history.changes:
        return (element("p", "No key has entered yet."),)
    body = [
        (
            f"{when:%Y-%m-%d %H:%M}",
            name,
            f"entered with {value:,} counted since it became unknown" if kind == "entry" else "retired",
        )
        for when, name, kind, value in history.changes
    ]
    return (
        element("p", f"The newest of {history.entered:,} entries, and the retirements between them."),
        _wide_part("Table of entries and retirements", _table(("when", "key", "what"), body)),
    )


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> Markup:
    rows = [element("tr", *(element("td", cell) for cell in row)) for row in body]
    titles = element("tr", *(element("th", each, scope="col") for each in head))
    return element("table", element("thead", titles), element("tbody", joined(rows)))


def _wide_part(name: str, *parts: Markup) -> Markup:
    """Return what may be wider than the window, in a box of its own that a keyboard can reach and move."""
    return element("div", *parts, class_="scroll", tabindex=0, role="region", aria_label=name)
