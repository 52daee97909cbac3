"""`hushcount oracle`: publish a noisy sketch once, then look up any key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount import signals
from hushcount.cli import options, rows, show
from hushcount.cli.wording import ShortGroup
from hushcount.errors import DataError, KeyTypeError, ParameterError, cannot_read
from hushcount.jobs.choices import CELLS

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.oracle import Oracle

EPILOG = """\b
Example:
  hushcount oracle searches.parquet --column query --epsilon 1 --delta 1e-8 --output oracle.hc
  hushcount oracle query oracle.hc tea "green tea"
  hushcount oracle query oracle.hc --keys keys.txt
  hushcount oracle heavy oracle.hc keys.txt --threshold 1000
"""
BUILD = "build"
OUTPUT = options.text("--output -o PATH", "The oracle file to write.", required=True)
SIZE = (
    options.choice(
        "--kind", "The sketch: count-sketch unless given, or count-min, which needs no --delta.", CELLS
    ),
    options.whole("--depth ROWS", "Rows of cells (default 5)."),
    options.whole("--width CELLS", "Cells per row, a power of two (default 65536)."),
    options.text("--like ORACLE", "Take over the hash functions of another oracle, to merge with it."),
)
DELTA = options.real(
    "--delta D", "Probability with which that limit may fail, such as 1e-8; count-min needs none."
)


class Oracles(ShortGroup):
    """A group whose first word may also be a file to build an oracle of."""

    short_for = BUILD

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command where no command is named."""
        if not args:
            args = ["--help"]
        if args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [self.short_for, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Oracles, epilog=f"{EPILOG}\n{options.VERBS}")
def oracle() -> None:
    """Publish a noisy sketch of FILE once, then look up the count of any key, as often as you like.

    `hushcount oracle FILE ...` is short for `hushcount oracle build FILE ...`.
    """


@oracle.command(name=BUILD, epilog=EPILOG, short_help="Count FILE, add noise, and write an oracle.")
@options.options(
    options.FILE,
    *options.SOURCE,
    *rows.SIZED,
    *options.BOUNDED,
    options.ENGINE,
    options.EPSILON,
    options.RHO,
    DELTA,
    options.ALLOW_LARGE_DELTA,
    *options.LEDGER,
    *SIZE,
    options.CHECKPOINT,
    OUTPUT,
    options.SOURCE_NAME,
    options.REPORT,
    options.DRY_RUN,
    options.JSON,
)
def build(style: str | None, **values: object) -> None:
    """Count the keys of FILE into cells, add noise, and write them as an oracle.

    The oracle contains only noisy cells and public parameters: it may be published.
    It protects one event, not one person; with --user and --max-keys it counts and protects
    users, by count-min. FILE may also be a sketch file of kind count-min or count-sketch.
    """
    from hushcount.jobs.oracle import oracle_of
    from hushcount.jobs.trust.dry_run import DryRun
    from hushcount.releases.views.page import oracle_page

    signals.leaves(signals.NOTHING)
    with show.progress_bar() as progress:
        made = oracle_of(options.data(values) | {"progress": progress})
    if isinstance(made, DryRun):
        show.show_dry_run(made, style)
        return
    if style == "json":
        show.print_json({"hushcount": 1, "kind": "oracle", **_described(made)})
        return
    show.show_page(oracle_page(made, headed=True))


@oracle.command(short_help="Look up the noisy counts of keys.")
@click.argument("oracle")
@click.argument("keys", nargs=-1)
@options.text("--keys keys_file PATH", "Also look up every line of a file (- for standard input).")
@options.CONFIDENCE
@options.JSON
def query(
    oracle: str, keys: tuple[str, ...], keys_file: str | None, confidence: float, style: str | None
) -> None:
    """Look up KEYS in the file ORACLE: noisy counts with intervals, in the order asked.

    A lookup costs no privacy, however often it is made.
    """
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.stored.documents import rows_plain

    found = Oracle.load(oracle)
    table = found.estimate(_typed([*keys, *lines_of(keys_file)], found.key_type), confidence)
    if style == "json":
        show.print_json({"hushcount": 1, "kind": "answers", **_described(found), "rows": rows_plain(table)})
        return
    show.print_tsv(table)


@oracle.command(short_help="List the frequent ones of some candidates.")
@click.argument("oracle")
@click.argument("candidates")
@options.whole("--threshold T", "List every candidate with a true count of at least T.")
@options.real("--share S", "Or every one with more than this share of --max-events, such as 0.001.")
@options.MAX_EVENTS
@options.CONFIDENCE
@options.JSON
def heavy(oracle: str, candidates: str, style: str | None, **values: object) -> None:
    """List the keys of the file CANDIDATES (one per line, - for standard input) that are frequent in ORACLE.

    It costs no privacy. The candidates must be public, or published before: keys taken from the
    raw data would be revealed.
    """
    from hushcount.jobs.linear.heavy import heavy_hitters
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.stored.documents import rows_plain

    found = Oracle.load(oracle)
    listed = heavy_hitters(found, _typed(lines_of(candidates), found.key_type), **values)  # type: ignore[arg-type]
    if style == "json":
        said = {"statements": list(listed.sentences), "rows": rows_plain(listed.table)}
        show.print_json({"hushcount": 1, "kind": "heavy-hitters", **_described(found), **said})
        return
    show.print_tsv(listed.table)
    show.say(("Accuracy", listed.sentences))


@oracle.command(epilog=options.VERBS, short_help="Add up oracles that share their hash functions.")
@click.argument("oracles", nargs=-1, required=True)
@OUTPUT
def merge(oracles: tuple[str, ...], output: str) -> None:
    """Add up ORACLES of which one was made --like the other: counts add up, and so does the noise."""
    from hushcount.jobs.linear.oracle_files import merge_oracles
    from hushcount.releases.views.page import oracle_page

    show.show_page(oracle_page(merge_oracles(list(oracles), output), headed=False))


def _described(found: Oracle) -> dict[str, object]:
    return {"guarantee": found.guarantee.to_dict(), "notes": list(found.notes)}


def lines_of(path: str | None) -> list[str]:
    """Return the lines of a file, none if no file is given, or raise."""
    if path is None:
        return []
    try:
        with click.open_file(path, encoding="utf-8") as stream:
            return [line.rstrip("\r\n") for line in stream]
    except OSError as error:
        raise DataError(cannot_read(path, error)) from None
    except UnicodeDecodeError:
        raise DataError(f"{path} has text that is not valid UTF-8.") from None


def _typed(keys: list[str], kind: pa.DataType) -> pa.Array:
    """Return keys from the command line in the type of the oracle."""
    import pyarrow as pa

    if not keys:
        raise ParameterError("KEYS must be given, as words or with --keys.")
    try:
        if pa.types.is_binary(kind):
            return pa.array([key.encode() for key in keys], kind)
        return pa.array(keys, pa.string()).cast(kind)
    except (pa.ArrowException, UnicodeEncodeError):
        raise KeyTypeError(f"keys of this oracle are of type {kind}; some of those given are not.") from None
