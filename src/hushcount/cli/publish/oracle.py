"""`hushcount oracle`: publish noisy cells once, then ask for any key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hushcount.cli import options

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.oracle import Oracle

EPILOG = """\b
Example:
  hushcount oracle searches.parquet --column query --epsilon 1 --delta 1e-8 --output oracle.hc
  hushcount oracle query oracle.hc tea "green tea"
  hushcount oracle query oracle.hc --keys keys.txt
"""
BUILD = "build"
KIND = click.option(
    "--kind",
    type=click.Choice(("count-min", "count-sketch")),
    default=None,
    metavar="KIND",
    help="count-sketch (the default), or count-min, which needs no --delta.",
)
DEPTH = click.option("--depth", type=int, metavar="ROWS", help="Rows of cells (default 5).")
WIDTH = click.option(
    "--width", type=int, metavar="CELLS", help="Cells a row, a power of two (default 65536)."
)
LIKE = click.option("--like", metavar="ORACLE", help="Take over another oracle's hash key, to merge with it.")
DELTA = click.option("--delta", type=float, metavar="D", help="Chance of a larger loss; no default.")
OUTPUT = click.option("--output", "-o", required=True, metavar="PATH", help="The oracle file to write.")


class Oracles(click.Group):
    """A group whose first word may also be a file to build an oracle of."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first command where no command is named."""
        if not args:
            args = ["--help"]
        if args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [BUILD, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Oracles, epilog=EPILOG)
def oracle() -> None:
    """Publish noisy cells of FILE once, then ask for the count of any key for ever.

    `hushcount oracle FILE ...` is short for `hushcount oracle build FILE ...`.
    """


@oracle.command(name=BUILD, epilog=EPILOG)
@options.options(
    options.FILE,
    *options.SOURCE,
    options.EPSILON,
    DELTA,
    options.ALLOW_LARGE_DELTA,
    KIND,
    DEPTH,
    WIDTH,
    LIKE,
    OUTPUT,
)
def build(**values: Any) -> None:
    """Count the keys of FILE into cells, add noise, and write them as an oracle.

    The oracle contains only noisy cells and public parameters: it may be published.
    It protects one event, not one person.
    """
    from hushcount.cli import show
    from hushcount.jobs.oracle import oracle_of
    from hushcount.releases.views.page import oracle_page

    show.begin()
    with show.progress_bar() as progress:
        made = oracle_of(options.data(values) | {"progress": progress})
    show.show_page(oracle_page(made, headed=True))


@oracle.command()
@click.argument("oracle")
@click.argument("keys", nargs=-1)
@click.option("--keys", "keys_file", metavar="PATH", help="Also ask for every line of a file (- for stdin).")
@options.CONFIDENCE
@options.JSON
def query(
    oracle: str, keys: tuple[str, ...], keys_file: str | None, confidence: float, style: str | None
) -> None:
    """Ask the file ORACLE for the counts of KEYS: noisy counts with intervals, in the order asked.

    Asking costs no privacy, however often.
    """
    from hushcount.cli import show
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.writers import plain_rows

    found = Oracle.load(oracle)
    table = found.estimate(_typed([*keys, *_lines(keys_file)], found.key_type), confidence)
    if style == "json":
        show.print_json({"hushcount": 1, "kind": "answers", **_described(found), "rows": plain_rows(table)})
        return
    show.print_tsv(table)


@oracle.command()
@click.argument("oracles", nargs=-1, required=True)
@OUTPUT
def merge(oracles: tuple[str, ...], output: str) -> None:
    """Add up oracles that were made with --like of one another: counts add, and so does the noise."""
    from hushcount.cli import show
    from hushcount.jobs.oracle import merge_oracles
    from hushcount.releases.views.page import oracle_page

    show.show_page(oracle_page(merge_oracles(list(oracles), output), headed=False))


def _described(found: Oracle) -> dict[str, object]:
    return {"guarantee": found.guarantee.to_dict(), "notes": list(found.notes)}


def _lines(path: str | None) -> list[str]:
    from hushcount.errors import DataError

    if path is None:
        return []
    try:
        with click.open_file(path, encoding="utf-8") as stream:
            return [line.rstrip("\r\n") for line in stream]
    except OSError as error:
        raise DataError(f"Cannot read {path}: {(error.strerror or 'input/output error').lower()}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} has text that is not valid UTF-8.") from None


def _typed(keys: list[str], kind: pa.DataType) -> pa.Array:
    """Return keys from the command line in the type of the oracle."""
    import pyarrow as pa

    from hushcount.errors import KeyTypeError, ParameterError

    if not keys:
        raise ParameterError("KEYS must be given, as words or with --keys.")
    try:
        if pa.types.is_binary(kind):
            return pa.array([key.encode() for key in keys], kind)
        return pa.array(keys, pa.string()).cast(kind)
    except (pa.ArrowException, UnicodeEncodeError):
        raise KeyTypeError(f"keys of this oracle are of type {kind}; some of those given are not.") from None
