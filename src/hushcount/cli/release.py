"""`hushcount release`: add noise to a sketch file and publish."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

EPILOG = """\b
Example:
  hushcount release monday.hc --epsilon 1 --delta 1e-8 --output monday.csv
"""


@click.command(epilog=EPILOG, short_help="Publish a sketch file with differential privacy.")
@click.argument("sketch")
@options.options(*options.RELEASE)
def release(sketch: str, **values: Any) -> None:
    """Publish the most frequent keys of the file SKETCH with differential privacy.

    Every release of a sketch spends its budget again.
    """
    from hushcount.cli import show
    from hushcount.jobs.sketch_files import release_sketch

    style = values.pop("style")
    settings = options.settings(values)
    published = release_sketch(sketch, settings)
    show.show_release(published, style, settings.limit)
