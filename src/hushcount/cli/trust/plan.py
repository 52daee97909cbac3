"""`hushcount plan`: what a table will hold, before any data are read."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import click

from hushcount.cli import options
from hushcount.cli.show import print_json, say

if TYPE_CHECKING:
    from hushcount.jobs.trust.outlook import Outlook, TablePlan

    WholeType = click.ParamType[int]
else:  # click before 8.2 has no parameter for what a type returns
    WholeType = click.ParamType

BAR_CELLS = 24
EPILOG = """\b
Example:
  hushcount plan --rows 1e6 --epsilon 1 --delta 1e-8
"""


class Whole(WholeType):
    """A whole number, which may be written as 1e6."""

    name = "whole number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number, or fail with the rule."""
        text = str(value)
        with suppress(ValueError, OverflowError):
            number = int(text) if text.isdigit() else float(text)
            if number == int(number):
                return int(number)
        return self.fail("must be a whole number such as 1000000 or 1e6.", param, ctx)


whole = partial(options.text, kind=Whole())
BUDGET = (
    options.real("--epsilon E", "Limit on the privacy loss, such as 1; a --want option finds it instead."),
    options.real("--rho R", "In place of --epsilon, for Gaussian noise: the budget in zCDP."),
    options.real("--delta D", "Probability with which that limit may fail, such as 1e-8.", required=True),
)
KEYS = options.text(
    "--keys ZIPF|FILE",
    "How often keys may occur: zipf:EXPONENT:KEYS, or as in the .json of an earlier release.",
    default="zipf:1.1:1000000",
)
USERS = (
    options.flag("--user", "Protect users, not events, as top does; needs --max-keys."),
    options.kept_keys("Keep at most M different keys of each user."),
    whole("--users U", "Number of users, to estimate how many rows --max-keys keeps."),
    options.flag("--exact", "Count every key exactly, on disk: the default with --max-keys."),
)
COUNTED = (
    options.whole("--counters K", "Counters kept in memory (131072), for users too, as for top."),
    options.text("--mechanism NAME", "How noise is added, as for top."),
    whole("--max-events N", "A public bound on the number of events."),
    options.text(
        "--domain FILE|A..B",
        "All keys that can occur, known to everybody, as for top; requires --delta 0.",
    ),
    options.flag("--other", "Publish also a noisy total, as for top."),
    options.real("--share SHARE", "Tell how many counters a share of --max-events (or of --rows) needs."),
    options.real("--other-share S", "Share of --epsilon that --other takes (0.05)."),
)
WANTED = (
    whole("--want-count C", "Find the smallest epsilon that publishes keys of C events reliably."),
    whole("--want-keys N", "Find the smallest epsilon that publishes N keys."),
    whole("--want-error W", "Find the smallest epsilon for counts within W of the truth."),
)
SHOWN = (
    options.text("--plot PATH", "Also draw the keys published by epsilon: .svg or .html."),
    options.flag("--json as_json", "Print one JSON object instead of a table."),
)


@click.command(epilog=EPILOG)
@whole("--rows N", "Number of rows that you expect.", required=True)
@options.options(*BUDGET, KEYS, *USERS, *COUNTED, *WANTED, *SHOWN)
def plan(rows: int, plot: str | None, as_json: bool, user: bool, **asked: object) -> None:
    """Tell what a table will hold, before any data are read.

    From the number of rows and how often keys occur, the calibration of the mechanism tells how many keys
    will be published, how large a count they need, and how far counts will lie from the truth. Nothing is
    spent.
    """
    from hushcount.jobs.trust.plan import plan as planned
    from hushcount.jobs.trust.plan_page import write_plan

    if user and asked["max_keys"] is None:
        raise click.UsageError("--user needs --max-keys M, the most keys of each user that are kept.")
    found = planned(rows, **asked)  # type: ignore[arg-type]
    if plot is not None:
        write_plan(found, plot)
    if as_json:
        print_json(found.to_dict())
        return
    say(("Plan", found.sentences))
    _show("epsilon", found.by_epsilon, found)
    if found.by_max_keys:
        _show("max keys", found.by_max_keys, found)


def _show(name: str, rows: tuple[Outlook, ...], found: TablePlan) -> None:
    """Print a table over epsilon or over the keys of a user; the row asked for stands out."""
    header = (name, "keys", "from a count of", "error")
    cells = [_cells(name, each) for each in rows]
    if not sys.stdout.isatty():
        for row in (header, *cells):
            click.echo("\t".join(row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, highlight=False)
    for title in header:
        table.add_column(title, justify="right")
    table.add_column("")
    largest = max(each.expected_keys for each in rows)
    for each, row in zip(rows, cells, strict=True):
        bar = "█" * round(BAR_CELLS * each.expected_keys / largest) if largest else ""
        same = each.epsilon == found.epsilon and each.max_keys == found.outlook.max_keys
        table.add_row(*row, bar, style="bold" if same else "")
    Console(markup=False, emoji=False).print(table)


def _cells(name: str, outlook: Outlook) -> tuple[str, ...]:
    """Return the cells of a row."""
    first = f"{outlook.epsilon:.4g}" if name == "epsilon" else str(outlook.max_keys)
    return first, f"{outlook.expected_keys:,.0f}", f"{outlook.smallest_count:,}", f"{outlook.error:,}"
