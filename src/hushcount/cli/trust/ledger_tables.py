"""How `hushcount ledger` shows budgets and histories: for people on a terminal, tab-separated elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Literal, cast

import click

from hushcount.cli import show

PROMISE = (
    "{dataset}: all releases together are ({budget[epsilon]}, {budget[delta]})-differentially private for"
    " {protects}, also if each was chosen after seeing the others."
)
GAUSSIAN = " Releases with Gaussian noise may spend rho {} in all (zCDP)."
PARTS = ("spent", "budget", "left")
NUMBERS = {"releases", "epsilon", "delta", "rho", "left", "entry"}
UNBROKEN = {*NUMBERS, "recorded", "kind", "dataset"}
WIDE = 100  # characters of a terminal that has room for bars and times of day
BAR_CELLS = 12
Fields = dict[str, object]


def print_history(entries: Sequence[Fields]) -> None:
    """Print the entries of a dataset."""
    names = ["seq", "recorded", "kind", "run_id", "epsilon", "rho", "delta", "window", "hash"]
    if all(entry["rho"] is None for entry in entries):
        names.remove("rho")
    if sys.stdout.isatty():
        names = names if show.width_of(sys.stdout) >= WIDE else names[:-1]  # there is little room
        entries = [{name: _short(name, str(entry[name] or "")) for name in names} for entry in entries]
    titles = [{"seq": "entry", "run_id": "run"}.get(name, name) for name in names]
    _print_rows(titles, [[str(entry[name] or "") for name in names] for entry in entries])


def print_datasets(datasets: list[Fields], as_json: bool) -> None:
    """Print budgets, and the promise of each below the table."""
    if as_json:
        show.print_json({"datasets": datasets})
        return
    titles = ["dataset", "releases", *(f"{name} {part}" for name in ("epsilon", "delta") for part in PARTS)]
    rows = []
    for each in datasets:
        budget, spent, left = (cast("dict[str, str]", each[name]) for name in ("budget", "spent", "left"))
        numbers = [rounded(part[name]) for name in ("epsilon", "delta") for part in (spent, budget, left)]
        rows.append([str(each["dataset"]), str(each["releases"]), *numbers])
    if sys.stdout.isatty():  # there is little room
        titles = ["dataset", "releases", "epsilon spent", "delta spent", "left"]
        rows = [
            [*row[:2], f"{row[2]} of {row[3]}", f"{row[5]} of {row[6]}", f"{row[4]}, {row[7]}"]
            for row in rows
        ]
    _print_rows(titles, rows, [_used(each) for each in datasets])
    if datasets:
        show.say(("Promise", [_promise(each) for each in datasets]))


def _promise(dataset: Fields) -> str:
    """Return what is promised of a dataset; of a budget in rho, with its epsilon rounded up, rho too."""
    budget = cast("dict[str, object]", dataset["budget"])
    parts = cast("list[dict[str, str]]", budget["parts"])
    if all(part["stated"] == "epsilon" for part in parts):
        return PROMISE.format(**dataset)
    claim = {name: rounded(budget[name], ROUND_CEILING) for name in ("epsilon", "delta")}
    rho = rounded(sum(Decimal(part["rho"]) for part in parts), ROUND_FLOOR)
    return PROMISE.format(**dataset | {"budget": claim}) + GAUSSIAN.format(rho)


def _used(dataset: Fields) -> str:
    """Return a bar of the part of epsilon that is spent."""
    from hushcount.releases.views.tables import bar

    budget, spent = (cast("dict[str, str]", dataset[name])["epsilon"] for name in ("budget", "spent"))
    return bar(float(spent), float(budget), BAR_CELLS)


def _print_rows(
    titles: Sequence[str], rows: Sequence[Sequence[str]], bars: Sequence[str] | None = None
) -> None:
    """Print a table on a terminal, with a bar for each row, and tab-separated lines elsewhere."""
    from hushcount.releases.views.tables import TSV_ESCAPES, head, visible

    if not sys.stdout.isatty():
        lines = ("\t".join(cell.translate(TSV_ESCAPES) for cell in row) for row in (titles, *rows))
        click.echo("\n".join(lines))
        return
    table = head()
    for title in titles:
        kind = title.split(" ")[0]
        style = "bold cyan" if title == titles[0] else ""
        justify: Literal["left", "right"] = "right" if kind in NUMBERS else "left"
        table.add_column(title, style=style, justify=justify, no_wrap=kind in UNBROKEN, overflow="fold")
    bars = bars if show.width_of(sys.stdout) >= WIDE else None
    if bars is not None:
        table.add_column("", style="green", no_wrap=True)
    for place, row in enumerate(rows):
        table.add_row(*map(visible, row), *(bars[place : place + 1] if bars else ()))
    show.print_table(table)


def rounded(number: object, way: str = ROUND_HALF_EVEN) -> str:
    """Return a number with six digits.

    >>> rounded("4.620253527011564699"), rounded("4.620253527011564699", ROUND_CEILING)
    ('4.62025', '4.62026')
    """
    return f"{float(Context(6, way).create_decimal(str(number))):.6g}"


def _short(name: str, text: str) -> str:
    """Return a cell of the history in little room: times without seconds, hashes by their first digits.

    >>> _short("window", "2026-11-15T00:00:00Z/2026-11-16T00:00:00Z")
    '2026-11-15/2026-11-16'
    """
    if name in ("epsilon", "rho", "delta"):
        return text and rounded(text)
    if name in ("run_id", "hash"):
        return f"{text[:12]}…" if re.fullmatch("[0-9a-f]{64}", text) else text
    if name == "recorded" and show.width_of(sys.stdout) < WIDE:
        return text[:10]
    return re.sub(r"T00:00:00Z|:\d\d(\+00:00|Z)", "", text).replace("T", " ")
