"""`hushcount sketch`: count now, release later."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

EPILOG = """\b
Example:
  hushcount sketch monday.parquet --column query -o monday.hc
  hushcount release monday.hc --epsilon 1 --delta 1e-8
"""
KIND = click.option(
    "--kind",
    type=click.Choice(("space-saving", "misra-gries", "exact")),
    default="space-saving",
    show_default=True,
    metavar="KIND",
    help="space-saving, misra-gries, or exact (memory grows with the keys).",
)
OUTPUT = click.option("--output", "-o", required=True, metavar="PATH", help="The sketch file to write.")


@click.command(epilog=EPILOG)
@options.options(options.FILE, *options.SOURCE, options.COUNTERS, KIND, options.CHECKPOINT, OUTPUT)
def sketch(**values: Any) -> None:
    """Count the keys of FILE into a sketch file, without noise.

    The sketch file is raw data: it is written for its owner only (0600) and must not be published.
    A public bound on the number of events is for the release, which checks it.
    """
    from hushcount.cli import show
    from hushcount.jobs.sketch_files import write_sketch

    request = options.request(values)
    output = values.pop("output")
    show.begin()
    with show.progress_bar() as progress:
        write_sketch(request, output, progress=progress, **values)
    show.warn(f"{output} is raw data, not a release: do not publish it.")
