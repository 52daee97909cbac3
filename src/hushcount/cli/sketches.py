"""Commands for files: sketch, merge, release and inspect for sketches, add for published tables."""

from __future__ import annotations

import click

from hushcount import signals
from hushcount.cli import options, show
from hushcount.errors import ParameterError
from hushcount.jobs.choices import KINDS, SKETCHES

SKETCH = f"""\b
Example:
  hushcount sketch monday.parquet --column query -o monday.hc
  hushcount sketch monday.parquet --column query --user account --max-keys 8 -o monday.hc
  hushcount release monday.hc --epsilon 1 --delta 1e-8
  hushcount sketch flows.parquet --column source --kind hierarchy --hierarchy ipv4/8 -o flows.hc
  hushcount sketch access.log --format combined --column path --append -o stream.hc
  hushcount sketch monday.parquet --column query --kind count-min -o cells.hc
  hushcount oracle cells.hc --epsilon 1 -o oracle.hc
  hushcount sketch theirs.csv --column key --counts counter --kind misra-gries --counters 64 -o theirs.hc

{options.VERBS}
"""
MERGE = f"""\b
Example:
  hushcount merge europe.hc asia.hc -o world.hc

{options.VERBS}
"""
RELEASE = f"""\b
Example:
  hushcount release monday.hc --epsilon 1 --delta 1e-8 --output monday.csv
  hushcount release flows.hc --threshold 1000 --epsilon 1 --delta 1e-8
  hushcount release europe.hc asia.hc --epsilon 1 --delta 1e-8
  hushcount release europe.hc asia.hc --epsilon 1 --delta 0 --domain 0..999
  hushcount release europe.hc asia.hc --epsilon 1 --delta 1e-8 --mechanism reduced

{options.VERBS}
"""
ADD = f"""\b
Example:
  hushcount add europe.json asia.json --output world.csv

{options.VERBS}
"""
INSPECT = """\b
Example:
  hushcount inspect monday.hc
"""
SIZE = (
    options.choice(
        "--kind",
        "How to count. The memory of exact counts grows with the keys; user-misra-gries needs --user,"
        " hierarchy needs --hierarchy; count-min and count-sketch are for `hushcount oracle`.",
        SKETCHES,
        default=KINDS[0],
    ),
    options.whole("--counters K", "Counters kept in memory (131072; of a hierarchy 16384 for each level)."),
    options.whole(
        "--threads N", "Count in N threads that share the counters; a release will name N.", default=1
    ),
    options.text("--hierarchy -H H", "With --kind hierarchy: the tree, as for `hushcount tree`."),
    options.whole("--height N", "Height of a parent table, if it is known."),
    options.whole("--depth ROWS", "Rows of cells of count-min and count-sketch (5)."),
    options.whole("--width CELLS", "Their cells per row, a power of two (65536)."),
    options.text("--like FILE", "Take over the hash functions of this sketch or oracle, to merge with it."),
)
COUNTS = options.text(
    "--counts COLUMN",
    "FILE is the table of a standard Misra-Gries sketch that another program made: COLUMN has the counter of"
    " each key, and --counters is how many it had.",
)
APPEND = options.flag(
    "--append",
    "FILE is a log that grows: count the lines that came since --output was written, wherever it was rotated"
    " to meanwhile.",
)
OUTPUT = options.text("--output -o PATH", "The sketch file to write.", required=True)


@click.command(epilog=SKETCH)
@options.options(options.FILE, *options.SOURCE, *options.BOUNDED, *SIZE)
@options.options(COUNTS, APPEND, options.CHECKPOINT, OUTPUT)
def sketch(output: str, checkpoint: str | None, counts: str | None, **values: object) -> None:
    """Count the keys of FILE into a sketch file, without noise.

    The sketch file is raw data: it is written for its owner only (0600) and must not be published.
    A public bound on the number of events is for the release, which checks it.
    """
    from hushcount.jobs.choices import SketchSize
    from hushcount.jobs.settings import taken
    from hushcount.jobs.sketch_files import sketch_request, write_sketch
    from hushcount.jobs.tables.foreign import write_foreign
    from hushcount.jobs.tables.growing import NO_CHECKPOINT, write_growing

    size = taken(SketchSize, values)
    request = sketch_request(options.data(values), size.kind)
    signals.leaves(signals.NOTHING)
    for name, given in (("checkpoint", checkpoint), ("counts", counts)):
        if request.append and given is not None:
            raise ParameterError(NO_CHECKPOINT.format(name))
    if counts is not None:
        write_foreign(request, counts, output, size, checkpoint)
    elif request.append:
        with show.progress_bar() as progress:
            missing = write_growing(request, output, size=size, progress=progress)
        for sentence in missing:
            show.warn(sentence)
    else:
        with show.progress_bar() as progress:
            write_sketch(request, output, size=size, checkpoint=checkpoint, progress=progress)
    show.warn(f"{output} is raw data, not a release: do not publish it.")


@click.command(epilog=MERGE)
@click.argument("sketches", nargs=-1, required=True)
@OUTPUT
def merge(sketches: tuple[str, ...], output: str) -> None:
    """Add up raw sketch files of different data into one file, which is raw data too.

    No event, and of sketches of users no user, may be in two of them: hushcount cannot check it.
    The sketches must be of one kind, size and column.
    """
    from hushcount.jobs.sketch_files import merge_sketches

    show.say(("Assumes", (merge_sketches(sketches, output),)))
    show.warn(f"{output} is raw data, not a release: do not publish it.")


@click.command(epilog=RELEASE)
@click.argument("sketch", nargs=-1, required=True)
@options.options(
    options.whole(
        "--threshold T", "Of the sketch of a hierarchy: smallest noisy residual of a published node."
    ),
    *options.RELEASE,
)
def release(sketch: tuple[str, ...], threshold: int | None, style: str | None, **values: object) -> None:
    """Publish the most frequent keys of the file SKETCH with differential privacy.

    Several files must cover disjoint data, split by an attribute of the event such as its user or
    its country, and not by row number. Every release of a sketch spends its budget again.
    """
    from hushcount.jobs.settings import ReleaseSettings, taken
    from hushcount.jobs.sketch_files import release_sketches
    from hushcount.jobs.trust.dry_run import dry_release
    from hushcount.jobs.trust.spending import Spending

    settings, spending = taken(ReleaseSettings, values), taken(Spending, values)
    if values["dry_run"]:
        show.show_dry_run(dry_release(sketch, settings, spending, threshold), style)
        return
    signals.leaves(signals.NOTHING)
    show.show_release(release_sketches(sketch, settings, spending, threshold), style, settings.limit)


@click.command(epilog=ADD)
@click.argument("releases", nargs=-1, required=True)
@options.options(
    options.CONFIDENCE, options.LIMIT, options.PER, options.MIN_COUNT, *options.FILES, *options.SHOWN
)
def add(releases: tuple[str, ...], style: str | None, **values: object) -> None:
    """Add up published tables of different data: .json files written by --output.

    Each was released by whoever holds its data, so nobody has to see the raw data of another, and the sum
    spends nothing. No event, and of tables of users no user, may be in two of them: hushcount cannot
    check it. Keys that a party did not publish are missing from the sum, and the intervals say so. The
    tables must be whole: released without --limit and --min-count.
    """
    from hushcount.jobs.release import Shown, add_files
    from hushcount.jobs.settings import taken

    shown = taken(Shown, options.formed(values))
    show.show_release(add_files(releases, shown), style, shown.limit)


@click.command(epilog=INSPECT)
@click.argument("sketch")
@options.flag("--json as_json", "Print one JSON object.")
def inspect(sketch: str, as_json: bool) -> None:
    """Describe the file SKETCH, a sketch of any kind or an oracle, to its owner.

    A sketch is raw data, and so is its description: neither is private. No key is shown. An oracle
    may be published.
    """
    from hushcount.jobs.linear.oracle_files import inspect_oracle
    from hushcount.jobs.sketch_files import is_oracle
    from hushcount.jobs.tables.inspected import inspect_sketch

    kind = "oracle" if is_oracle(sketch) else "sketch"
    facts = inspect_oracle(sketch) if kind == "oracle" else inspect_sketch(sketch)
    if kind == "sketch":
        show.warn("Raw data, not a release: publish neither the file nor these lines.")
    if as_json:
        show.print_json({"hushcount": 1, "kind": kind, kind: facts})
        return
    show.print_facts({name.replace("_", " "): _words(value) for name, value in facts.items()})


def _words(value: object) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        words = [str(each) for each in value]
        return (" " if all(each.endswith(".") for each in words) else ", ").join(words)
    return "none" if value is None else str(value)
