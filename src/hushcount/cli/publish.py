"""Commands that publish a table or a tree: top, tree, sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from hushcount import signals
from hushcount.cli import options, rows, show
from hushcount.cli.start_up import skip_pandas
from hushcount.jobs.choices import METHODS, SCHEMES, SELECTIONS

if TYPE_CHECKING:
    from hushcount.jobs.run import Ask, Running
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

Published = TypeVar("Published", "Release", "TreeRelease")

TOP = """\b
Example:
  hushcount top searches.parquet --column query --epsilon 1 --delta 1e-8 --limit 20

\b
  zcat access.log.gz | cut -d' ' -f7 |
    hushcount top - --format lines --epsilon 1 --delta 1e-8 --output top.csv
"""
TREE = """\b
Example:
  hushcount tree flows.csv --column src --hierarchy ipv4/8 --threshold 1000 --epsilon 1 --delta 1e-8
  hushcount tree visits.parquet --column url --hierarchy path/4 --share 0.001 --max-events 20000000
    --epsilon 1 --delta 1e-9 --plot visits.svg
  hushcount tree sales.csv --hierarchy columns:country,region,city --threshold 200 --epsilon 1 --delta 1e-8
  hushcount tree flows.csv --column src --hierarchy ipv4/8 --user customer --max-keys 8 --threshold 200
    --epsilon 1 --delta 1e-8

\b
residual: the count of a node without its published descendants; total: with them, and its interval.
Keys with fewer levels than the hierarchy are padded with ·; deeper ones are cut to its height.
"""
SAMPLE = """\b
Example:
  hushcount sample searches.parquet --column query --rate 1e-3 --epsilon 1 --delta 1e-8

\b
Columns: sanitised is what the noise left of the count; count is the most likely true count, with its
interval; estimate is the count divided by the probability of being published: add it up for totals.
"""
KEYS = """\b
Example:
  hushcount keys searches.parquet --column query --user account --epsilon 1 --delta 1e-8 --output keys.csv

\b
A user adds a weight to every key that they hold, smaller if they hold many. steered looks twice: keys that
were published in the first round, or came nowhere near it, are left out of the second, so that users can
spread their weight over the others.
"""
SELECTION = (
    options.text("--user NAME", "Column of the users. Protects one user, not one event."),
    options.kept_keys("Keep at most M different keys of each user (1000)."),
    options.choice("--method", "How weights of users are spread over keys (steered).", SELECTIONS),
)
SHAPE = (
    options.text(
        "--hierarchy -H H",
        "ipv4/8|4|1, ipv6/16|8|4, ip/8|4|1 for both, domain[/N], path[/N], date, columns:A,B,..., or"
        " parents:FILE.csv (lines child,parent).",
        required=True,
    ),
    options.whole("--height N", "Height of a parent table, if it is known."),
    options.whole("--threshold T", "Smallest noisy residual of a published node, a public number."),
    options.real("--share S", "Or the threshold as a share of --max-events, such as 0.001."),
    options.flag(
        "--by-level", "Publish every node whose count reaches the threshold, without subtracting descendants."
    ),
)
METHOD = options.choice(
    "--method",
    "Count all keys (on disk if memory does not suffice), or one pass with --counters per level.",
    METHODS,
    default=METHODS[0],
)
THREADS = options.whole(
    "--threads N",
    "Count in N threads that share the counters. N is published, with a noisy floor of each, so no machine"
    " chooses it.",
    default=1,
)
LEVEL_COUNTERS = options.whole("--counters K", "Streaming: counters kept for each level (16384).")
KNOWN = options.text(
    "--domain FILE|A..B",
    "All keys that can occur, known to everybody; requires --delta 0, at which every node above them has"
    " noise. Tables of parents and IPv4 need none for --delta 0.",
)
PLOT = options.text("--plot PATH", "Also draw the tree: an icicle as .svg.")
DRAW = (
    options.real("--rate R", "Sampling rate; --scheme says what it means."),
    options.whole("--size N", "Sample at most about N keys, by --max-events or else by a noisy total."),
    options.real("--total-share S", "Share of --epsilon that the noisy total for --size takes (0.05)."),
    options.text("--probabilities PATH", "Or a file with a probability for each count, by line."),
    options.whole(
        "--tokens T", "Divide every sanitised count into T, which keeps more of their order.", default=1
    ),
    options.flag("--keys-only", "Publish the sampled keys without counts."),
    options.real("--power P", "Power of the count, 0 to 2.", default=1.0),
    options.text(
        f"--scheme {'|'.join(SCHEMES)}",
        "Probability of a key of count w: min(1, R * w^P) for pps, 1 - exp(-R * w^P) for ppswor.",
        default=SCHEMES[0],
    ),
)


OTHER = (
    options.real(
        "--share SHARE",
        "Show keys with more than this share of all events: of --max-events, or with --other of the noisy"
        " total. Without --counters, as many are taken as this needs.",
    ),
    options.flag("--other", "Also publish a noisy total, which tells how much all other keys have together."),
    options.real("--other-share S", "Share of --epsilon that --other takes (0.05)."),
)


@click.command(epilog=TOP)
@options.options(options.FILE, *options.SOURCE, *rows.SIZED, *options.USERS, *options.SHARDED)
@options.options(options.COUNTERS_BY_ENGINE, THREADS, options.CHECKPOINT, *OTHER, *options.RELEASE)
def top(style: str | None, **values: object) -> None:
    """Publish the most frequent keys of FILE with differential privacy.

    FILE is CSV, TSV (also .gz, .zst), JSON lines, Parquet or Arrow, a folder or glob of such
    files, or - for standard input. The table protects one event, not one person; with --user
    and --max-keys it protects one user.
    """
    from hushcount.jobs.top import top_job

    rule = options.partitioning(values)
    _publish(lambda asked: top_job(asked, rule), values, style)


@click.command(epilog=TREE)
@options.options(options.FILE, *options.SOURCE, *rows.SIZED, *options.BOUNDED, options.ENGINE, *SHAPE)
@options.options(options.MAX_EVENTS)
@options.options(METHOD, LEVEL_COUNTERS, KNOWN)
@options.options(
    options.CHECKPOINT,
    *options.BUDGET,
    options.CONFIDENCE,
    *options.FORM,
    options.SOURCE_NAME,
    PLOT,
    options.REPORT,
    options.DRY_RUN,
    *options.SHOWN,
)
def tree(style: str | None, **values: object) -> None:
    """Publish the hierarchical heavy hitters of FILE with differential privacy.

    A node of the hierarchy (a network, a folder, a region) is published if its count without
    its published descendants reaches the threshold. The tree protects one event, not one
    person; with --user and --max-keys it protects one user, by rows or by users of every node,
    whichever publishes smaller counts.
    """
    from hushcount.jobs.tree import tree_job

    _publish(tree_job, values, style)


@click.command(epilog=SAMPLE)
@options.options(options.FILE, *options.SOURCE, *rows.SIZED, *options.BOUNDED, options.ENGINE, *DRAW)
@options.options(options.CHECKPOINT, *options.BUDGET)
@options.options(options.MAX_EVENTS)
@options.options(
    options.CONFIDENCE, options.LIMIT, options.PER, *options.FILES, options.DRY_RUN, *options.SHOWN
)
def sample(style: str | None, **values: object) -> None:
    """Publish a sample of the keys of FILE by count, with differential privacy.

    The sampling is drawn fresh and in secret for this release. FILE may also be a sketch of
    exact counts, or an existing sample, which is sanitised. The table protects one event, not
    one person; with --user and --max-keys it counts and protects users.
    """
    from hushcount.jobs.sample import sample_job
    from hushcount.jobs.samples.sketched import is_sketch, sample_sketch
    from hushcount.jobs.trust.dry_run import DryRun

    if is_sketch(values["data"]):
        signals.leaves(signals.NOTHING)
        release = sample_sketch(options.formed(values))
        if isinstance(release, DryRun):
            show.show_dry_run(release, style)
        else:
            limit = values["limit"]
            show.show_release(release, style, limit if isinstance(limit, int) else None)
        return
    _publish(sample_job, values, style)


@click.command(epilog=KEYS)
@options.options(options.FILE, *options.SOURCE, *SELECTION, options.ENGINE, *options.BUDGET)
@options.options(
    options.LIMIT, *options.FORM, options.SOURCE_NAME, options.REPORT, options.DRY_RUN, *options.SHOWN
)
def keys(style: str | None, **values: object) -> None:
    """Publish which keys of FILE exist, without counts, with differential privacy.

    More keys are published than a table with counts could hold at the same budget. The list
    protects one event, not one person; with --user it protects one user, who may hold many keys.
    """
    from hushcount.jobs.keys import keys_job

    _publish(keys_job, values, style)


def _publish(
    asked: Callable[[options.Values], tuple[Ask[Published], Running]],
    values: options.Values,
    style: str | None,
) -> None:
    """Run a job with a progress bar, and print what it publishes, or what it would publish."""
    # Only where the program was started as such, and Spark does not hand over frames.
    if click.get_current_context().obj and values.get("engine") != "spark":
        skip_pandas()

    from hushcount.jobs.run import run
    from hushcount.jobs.trust.dry_run import DryRun, dry_run

    signals.leaves(signals.NOTHING)
    with show.progress_bar() as progress:
        job = asked(options.data(options.formed(values)) | {"progress": progress})
        release = dry_run(*job) if values["dry_run"] else run(*job)
    if isinstance(release, DryRun):
        show.show_dry_run(release, style)
        return
    limit, checkpoint = values.get("limit"), values.get("checkpoint")
    show.show_release(release, style, limit if isinstance(limit, int) else None)
    if checkpoint is not None:
        spent = f"{checkpoint} is removed; running again would spend the budget again."
        show.say(("Checkpoint", (spent,)))
