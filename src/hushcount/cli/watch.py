"""`hushcount watch`: tables over time, published period by period."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount.cli import show
from hushcount.cli.options import JSON, TABLE, choice, flag, options, real, text, whole
from hushcount.cli.trust.plan import KEYS
from hushcount.cli.trust.plan import whole as million

if TYPE_CHECKING:
    from hushcount.jobs.watch.plan import WatchPlan

EPILOG = """\b
Example:
  hushcount watch plan --period 1h --from 2026-12-01 --until 2027-12-01 --epsilon 1 --delta 1e-8
  hushcount watch init site.hw --period 1h --from 2026-12-01 --until 2027-12-01 \\
      --epsilon 1 --delta 1e-8 --ledger spent.db --dataset site --column url
  hushcount watch add site.hw hour.parquet
  hushcount watch close site.hw --feed feed/
  hushcount watch show feed/ --last 7d
"""
STATE = click.argument("state", metavar="STATE")
FEED = text("--feed FOLDER", "Folder of the public feed, one Parquet file per period.", required=True)
ADDED = "The batch was added."
KNOWN = "A batch of this name was added before; it was not counted again."
FORMAT = text("--format file_format FORMAT", "Format of FILE, if its extension does not show it.")


@click.group(epilog=EPILOG)
def watch() -> None:
    """Publish a table that goes on: new keys and counts, period by period.

    All periods together are (epsilon, delta)-differentially private for one event, or for one user with
    --user, and are charged once, by init. A key is published once its noisy count reaches a threshold; from
    then on it is counted in every period, zeros too. STATE is a private folder of raw data; the feed is
    public.
    """


TERMS = (
    text("--period LENGTH", "Length of a period, such as 1h or 1d.", required=True),
    text("--from start TIME", "When the first period begins (UTC), such as 2026-12-01.", required=True),
    text("--until TIME", "When the last period ends.", required=True),
    text("--levels A,B,...", "Lengths of counted nodes, from one period on, such as 1h,1d (one period)."),
    real("--epsilon E", "Limit on the privacy loss of the whole feed.", required=True),
    real("--delta D", "Probability with which that limit may fail, such as 1e-8.", required=True),
    text("--user COLUMN", "Column of the users: protects users, not events; needs --cell or --max-pairs."),
    whole("--max-keys M", "Count at most M different keys of a user in each cell, the first, each once."),
    text(
        "--cell LENGTH",
        "Protect what a user does in one cell of time, such as 1d; needs --max-keys and --time.",
    ),
    whole("--max-pairs M", "Protect a user in the whole watch: at most M keys of each count, each once."),
    text("--name NAME", "Name of the watch in the ledger.", default="watch"),
    click.option("--column", "-c", multiple=True, metavar="NAME", help="Column to count; repeatable."),
    choice("--type key_type", "Read the keys as text or whole numbers.", ("text", "int"), default="text"),
    text("--time COLUMN", "Column of the time of each row; rows outside the watch or --cell are dropped."),
    text("--time-zone ZONE", "Zone of times without one, such as Europe/Zurich (UTC)."),
    whole("--min-events L", "Keys with fewer events are never published.", default=1),
    whole("--retire-below N", "Forget a key whose whole node of the last level is published below N."),
    text("--backfill LENGTH", "When a key enters, publish its past so far back, such as 7d."),
)
AS_JSON = flag("--json as_json", "Print one JSON object instead of sentences and a table.")


@watch.command()
@STATE
@options(
    *TERMS,
    text(
        "--ledger FILE",
        "The ledger that is charged once, for all periods. Default: HUSHCOUNT_LEDGER.",
    ),
    text("--dataset NAME", "The dataset of the ledger whose budget pays.", required=True),
    flag("--dry-run", "Say what would be published and charged, and stop there: nothing is made or spent."),
)
def init(state: str, dry_run: bool, **asked: object) -> None:
    """Make a watch, and charge its dataset for the whole feed."""
    from hushcount.jobs.watch.plan import plan_watch
    from hushcount.jobs.watch.start import ledger_of
    from hushcount.jobs.watch.start import watch as start

    asked = _with_lists(asked)
    if dry_run:
        asked["ledger"] = ledger_of(asked["ledger"])  # type: ignore[arg-type]
        _show_plan(plan_watch(**asked))  # type: ignore[arg-type]
        return
    show.say(("Watch", start(state, **asked).sentences))  # type: ignore[arg-type]


@watch.command("plan")
@options(
    *TERMS,
    million("--events N", "Events in a period, or pairs of user and key; tells how many keys are published."),
    KEYS,
    AS_JSON,
)
def plan_command(as_json: bool, **asked: object) -> None:
    """Tell what a watch will publish, before any data are read.

    The calibration of the gate and the levels tells how often a key must occur to be published, after how
    many periods, and how far counts will lie from the truth. Nothing is made and nothing is spent.
    """
    from hushcount.jobs.watch.plan import plan_watch

    found = plan_watch(**_with_lists(asked))  # type: ignore[arg-type]
    if as_json:
        show.print_json(found.to_dict())
        return
    _show_plan(found)


def _with_lists(asked: dict[str, object]) -> dict[str, object]:
    """Return the options of a watch with the levels one by one."""
    levels = asked["levels"]
    return asked | {"levels": str(levels).split(",") if levels else ()}


def _show_plan(found: WatchPlan) -> None:
    """Print the sentences of a plan, and its two tables."""
    show.say(("Plan", found.sentences))
    click.echo(f"{found.counted} in a period\tpublished after")
    for rate, periods in found.waits:
        after = (
            "not published in this time" if periods is None else f"{periods:,} period{'s' * (periods > 1)}"
        )
        click.echo(f"{rate:g}\t{after}")
    click.echo("time\tnodes\terror")
    for each in found.windows:
        click.echo(f"{each.window}\t{each.nodes}\t{each.error}")


@watch.command()
@STATE
@click.argument("data", metavar="FILE")
@options(text("--label NAME", "Name of the batch, which counts once (the name of FILE)."), FORMAT)
def add(state: str, data: str, label: str | None, file_format: str | None) -> None:
    """Count the rows of FILE in the open period; nothing is published.

    Add the rows of a period before it is closed: rows that come later count in the period that is open
    then. A batch whose name was added before counts nothing.
    """
    from hushcount.jobs.watch.watch import Watch

    counted = Watch(state).add(data, label=label, file_format=file_format)
    said = ADDED if counted else KNOWN
    show.say(("Watch", (said,)))


@watch.command()
@STATE
@options(FEED, text("--period NAME", "Close this period only, such as 2026-12-01T00."))
def close(state: str, feed: str, period: str | None) -> None:
    """Publish the periods that have ended, one after the other, empty ones too.

    Let a clock run it, never the data: when a period is published must tell nothing. A period that was
    closed before keeps its answer.
    """
    from hushcount.jobs.watch.watch import Watch

    Watch(state).close(feed, period)


@watch.command()
@STATE
@click.argument("data", metavar="FILE")
@options(FEED, FORMAT, flag("--once", "Stop when all periods that have ended are closed."))
def run(state: str, data: str, feed: str, file_format: str | None, once: bool) -> None:
    """Add the rows of each period of FILE when it has ended, and close it, until the watch ends."""
    from hushcount.jobs.watch.watch import Watch

    Watch(state).run(data, feed, once=bool(once), file_format=file_format)


@watch.command("show")
@click.argument("feed", metavar="FEED")
@options(
    flag("--so-far", "All that was published so far (without another time)."),
    text("--last LENGTH", "The last part of what was published, such as 7d."),
    text("--period NAME", "One period, such as 2026-12-01T00."),
    whole("--limit N", "Show at most N keys.", default=20),
    real("--confidence P", "Probability with which an interval holds.", default=0.95),
    text("--report PATH", "Also write a page: ranks over time, each key with its interval, entries."),
    JSON,
    TABLE,
)
def show_feed(feed: str, so_far: bool | None, report: str | None, style: str | None, **asked: object) -> None:
    """Show the most frequent keys of a feed, within any time; this costs nothing.

    Counts are sums of published numbers, so neither the state nor the ledger is needed: whoever has the
    folder can do this. Each line has a small picture of its time, with a dot where the key was not known.
    """
    from hushcount.jobs.feed.feed import Feed
    from hushcount.releases.feeds.table import check_times

    last, period = asked["last"], asked["period"]
    check_times(bool(so_far) + (last is not None) + (period is not None))
    if report is not None and period is not None:
        raise click.UsageError("--report shows more than one period; leave --period out, or give --last.")
    opened = Feed(feed)
    show.show_feed(opened.top(**asked), style)  # type: ignore[arg-type]
    if report is not None:
        del asked["period"]
        opened.report(report, **asked)  # type: ignore[arg-type]
