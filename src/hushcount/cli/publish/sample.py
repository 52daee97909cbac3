"""`hushcount sample`: a private weighted sample of the keys."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

RATE = click.option(
    "--rate", type=float, metavar="R", help="Sampling rate: a key of count w with about R * w^P."
)
SIZE = click.option(
    "--size", type=int, metavar="N", help="Sample at most about N keys; needs --max-events, a public bound."
)
POWER = click.option(
    "--power", type=float, default=1.0, metavar="P", show_default=True, help="Power of the count, 0 to 2."
)
SCHEME = click.option(
    "--scheme",
    default="pps",
    metavar="pps|ppswor",
    show_default=True,
    help="Poisson PPS (priority), or ppswor.",
)
EPILOG = """\b
Example:
  hushcount sample searches.parquet --column query --rate 1e-3 --epsilon 1 --delta 1e-8

\b
Columns: sanitised is what the noise left of the count, count the most likely true count with its
interval, estimate the count over the probability to be published: add it up for totals.
"""


@click.command(epilog=EPILOG, short_help="Publish a weighted sample of the keys.")
@options.options(
    options.FILE,
    *options.SOURCE,
    RATE,
    SIZE,
    POWER,
    SCHEME,
    options.CHECKPOINT,
    options.EPSILON,
    options.DELTA,
    options.ALLOW_LARGE_DELTA,
    options.MAX_EVENTS,
    options.CONFIDENCE,
    options.LIMIT,
    options.OUTPUT,
    options.JSON,
    options.TABLE,
)
def sample(**values: Any) -> None:
    """Publish a sample of the keys of FILE by count, with differential privacy.

    The sampling is drawn fresh and in secret for this release. Counts all distinct keys in
    memory. The table protects one event, not one person.
    """
    from hushcount.cli import show
    from hushcount.jobs.sample import sample_of

    style, limit, checkpoint = values.pop("style"), values["limit"], values["checkpoint"]
    show.begin()
    with show.progress_bar() as progress:
        release = sample_of(options.data(values) | {"progress": progress})
    show.show_release(release, style, limit)
    show.checkpoint_removed(checkpoint)
