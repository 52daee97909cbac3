"""`hushcount top`: a private table of the most frequent keys."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

EPILOG = """\b
Example:
  hushcount top searches.parquet --column query --epsilon 1 --delta 1e-8 --limit 20

\b
  zcat access.log.gz | cut -d' ' -f7 |
    hushcount top - --format lines --epsilon 1 --delta 1e-8 --output top.csv
"""


@click.command(epilog=EPILOG)
@options.options(
    options.FILE,
    *options.SOURCE,
    *options.USERS,
    *options.SPARK,
    options.COUNTERS_BY_ENGINE,
    options.CHECKPOINT,
    *options.RELEASE,
)
def top(**values: Any) -> None:
    """Publish the most frequent keys of FILE with differential privacy.

    FILE is CSV, TSV (also .gz, .zst), JSON lines, Parquet or Arrow, a folder or glob of such
    files, or - for standard input. The table protects one event, not one person; with --user
    and --max-keys it protects one user.
    """
    from hushcount.cli import show
    from hushcount.jobs.top import top_of

    style, limit, checkpoint = values.pop("style"), values["limit"], values["checkpoint"]
    rule = options.partitioning(values)
    show.begin()
    with show.progress_bar() as progress:
        release = top_of(options.data(values) | {"progress": progress}, rule)
    show.show_release(release, style, limit)
    show.checkpoint_removed(checkpoint)
