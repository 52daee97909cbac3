"""`hushcount tree`: a private tree of hierarchical heavy hitters."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import options

HIERARCHY = click.option(
    "--hierarchy",
    "-H",
    required=True,
    metavar="H",
    help="ipv4/8|4|1, ipv6/16|8|4, domain[/N], path[/N], date, columns:A,B,..., or parents:FILE.csv"
    " (lines child,parent).",
)
HEIGHT = click.option("--height", type=int, metavar="N", help="Height of a parent table, if it is known.")
THRESHOLD = click.option(
    "--threshold", type=int, metavar="T", help="Least noisy residual of a published node, a public number."
)
SHARE = click.option(
    "--share", type=float, metavar="S", help="Or the threshold as a share of --max-events, such as 0.001."
)
METHOD = click.option(
    "--method",
    type=click.Choice(("offline", "streaming")),
    default="offline",
    metavar="offline|streaming",
    show_default=True,
    help="Count all keys (on disk where memory ends), or one pass with --counters a level.",
)
COUNTERS = click.option(
    "--counters", type=int, metavar="K", help="Streaming: counters kept for each level (16384)."
)
PLOT = click.option("--plot", metavar="PATH", help="Also draw the tree: an icicle as .svg.")
EPILOG = """\b
Example:
  hushcount tree flows.csv --column src --hierarchy ipv4/8 --threshold 1000 --epsilon 1 --delta 1e-8
  hushcount tree visits.parquet --column url --hierarchy path/4 --share 0.001 --max-events 20000000
    --epsilon 1 --delta 1e-9 --plot visits.svg
  hushcount tree sales.csv --hierarchy columns:country,region,city --threshold 200 --epsilon 1 --delta 1e-8

\b
residual: what a node counts without its published descendants; total: with them, and its interval.
A key too short for the hierarchy is filled up with the marker ·; a longer one is cut to its height.
"""


@click.command(epilog=EPILOG, short_help="Publish the heavy nodes of a hierarchy, such as IP prefixes.")
@options.options(
    options.FILE,
    *options.SOURCE,
    HIERARCHY,
    HEIGHT,
    THRESHOLD,
    SHARE,
    options.MAX_EVENTS,
    METHOD,
    COUNTERS,
    options.CHECKPOINT,
    options.EPSILON,
    options.DELTA,
    options.ALLOW_LARGE_DELTA,
    options.CONFIDENCE,
    options.OUTPUT,
    PLOT,
    options.JSON,
    options.TABLE,
)
def tree(**values: Any) -> None:
    """Publish the hierarchical heavy hitters of FILE with differential privacy.

    A node of the hierarchy (a network, a folder, a region) is published if what it counts
    without its published descendants reaches the threshold. The tree protects one event,
    not one person.
    """
    from hushcount.cli import show
    from hushcount.jobs.tree import tree_of

    style, checkpoint = values.pop("style"), values["checkpoint"]
    show.begin()
    with show.progress_bar() as progress:
        release = tree_of(options.data(values) | {"progress": progress})
    show.show_release(release, style)
    show.checkpoint_removed(checkpoint)
