"""`hushcount release`: add noise to a sketch file and publish."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

EPILOG = """\b
Example:
  hushcount release monday.hc --epsilon 1 --delta 1e-8 --output monday.csv
  hushcount release europe.hc asia.hc --epsilon 1 --delta 1e-8
"""


@click.command(epilog=EPILOG, short_help="Publish a sketch file with differential privacy.")
@click.argument("sketch", nargs=-1, required=True)
@options.options(*options.RELEASE)
def release(sketch: tuple[str, ...], **values: Any) -> None:
    """Publish the most frequent keys of the file SKETCH with differential privacy.

    Several files must be of disjoint parts of the data, cut by what an event is (its user, its country),
    not by how many there are. Every release of a sketch spends its budget again.
    """
    from hushcount.cli import show
    from hushcount.jobs.settings import ReleaseSettings, taken
    from hushcount.jobs.sketch_files import release_sketches

    style = values.pop("style")
    settings = taken(ReleaseSettings, values)
    published = release_sketches(sketch, settings)
    show.show_release(published, style, settings.limit)
