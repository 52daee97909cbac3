"""A plan as a picture, or as a page with its sentences, picture and table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike, atomic_file
from hushcount.releases.views.report_markup import Markup, element, trusted

if TYPE_CHECKING:
    from hushcount.jobs.trust.outlook import Outlook, TablePlan

WIDTH, LEFT, BAR, STEP, TOP = 720, 120, 22, 34, 60
SVG = "http://www.w3.org/2000/svg"
COLOURS = (
    "svg text{font:14px system-ui,Helvetica,Arial,sans-serif;fill:#44505c}"
    "svg .title{font-size:18px;font-weight:600;fill:#1d2733}.bar{fill:#2f5d8a}.asked{fill:#b0492a}"
)
PAGE = (
    "body{font:16px/1.5 system-ui,Helvetica,Arial,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color:#1d2733;background:#fff}table{border-collapse:collapse;margin:1rem 0}"
    "th,td{text-align:right;padding:.25rem .9rem;border-bottom:1px solid #d5dae0}"
    "svg{max-width:100%;height:auto}"
)


def write_plan(plan: TablePlan, path: PathLike) -> None:
    """Write the picture of a plan (.svg), or a page with its sentences and tables (.html).

    Parameters
    ----------
    plan : TablePlan
        What is expected.
    path : path
        The file to write.
    """
    ending = os.path.splitext(os.fspath(path))[1]
    if ending not in (".svg", ".html"):
        raise ParameterError(f"plot must end in .svg or .html, got {os.fspath(path)}.")
    text = _picture(plan) if ending == ".svg" else _page(plan)
    with atomic_file(path) as stream:
        stream.write(f"{text}\n".encode())


def _picture(plan: TablePlan) -> Markup:
    """Return bars of the keys that are published at each epsilon."""
    rows = plan.by_epsilon
    height = TOP + STEP * len(rows) + 20
    words = f"Keys published by epsilon, delta {plan.delta:g}, {plan.rows:,} rows"
    return element(
        "svg",
        element("style", trusted(COLOURS)),
        element("rect", width="100%", height="100%", fill="#ffffff"),
        element("text", words, x=16, y=32, class_="title"),
        *_bars(plan, rows),
        xmlns=SVG,
        width=WIDTH,
        height=height,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=words,
    )


def _bars(plan: TablePlan, rows: tuple[Outlook, ...]) -> Iterator[Markup]:
    """Yield a bar for each epsilon with its number; the epsilon of the plan has a colour of its own."""
    room = WIDTH - LEFT - 110
    largest = max((each.expected_keys for each in rows), default=0) or 1
    for place, each in enumerate(rows):
        y, width = TOP + STEP * place, max(room * each.expected_keys / largest, 1)
        kind = "asked" if each.epsilon == plan.epsilon else "bar"
        yield element("text", f"epsilon {each.epsilon:.3g}", x=LEFT - 10, y=y + 16, text_anchor="end")
        yield element("rect", x=LEFT, y=y, width=round(width, 1), height=BAR, class_=kind)
        yield element("text", f"{each.expected_keys:,.0f}", x=round(LEFT + width + 8, 1), y=y + 16)


def _page(plan: TablePlan) -> str:
    """Return a page that needs no network."""
    tables = [_table("epsilon", [f"{each.epsilon:.4g}" for each in plan.by_epsilon], plan.by_epsilon)]
    if plan.by_max_keys:
        bounds = [str(each.max_keys) for each in plan.by_max_keys]
        tables.append(_table("keys of a user", bounds, plan.by_max_keys))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", "Plan of a table"),
        element("style", trusted(PAGE)),
    )
    said = [element("p", sentence) for sentence in plan.sentences]
    body = element("main", element("h1", "What to expect"), *said, _picture(plan), *tables)
    return "<!doctype html>\n" + element("html", head, element("body", body), lang="en")


def _table(name: str, firsts: list[str], rows: tuple[Outlook, ...]) -> Markup:
    """Return a table of what is expected."""
    titles = (name, "keys", "from a count of", "error within")
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    lines = [
        element("tr", *(element("td", cell) for cell in (first, *_numbers(each))))
        for first, each in zip(firsts, rows, strict=True)
    ]
    return element("table", element("thead", head), element("tbody", *lines))


def _numbers(outlook: Outlook) -> tuple[str, str, str]:
    """Return the numbers of a row."""
    return f"{outlook.expected_keys:,.0f}", f"{outlook.smallest_count:,}", f"{outlook.error:,}"
