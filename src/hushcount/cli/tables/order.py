"""`hushcount order`: what the order of a published table tells of the order of the true counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount.cli import options, show
from hushcount.errors import KeyTypeError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.ordinal import Order
    from hushcount.releases.release import Release

ORDER = """\b
Example:
  hushcount order sample.json --limit 10
  hushcount order sample.json tea milk
  hushcount order sample.json --quantile 0.5 --quantile 0.9

\b
sample.json is from hushcount sample searches.parquet --column query ... --output sample.json.

\b
Columns: rank is the place by what was published; the place by true counts, among the published keys, lies
between rank_lower and rank_upper, for all keys at once.
"""
QUANTILES = click.option(
    "--quantile",
    "quantiles",
    multiple=True,
    type=float,
    metavar="Q",
    help="Print this quantile of the counts of all keys instead, such as 0.5; repeat it.",
)
TOP = options.whole(
    "--top K", "Print the keys that may be among the K largest, and which of them are for sure."
)


@click.command(epilog=ORDER)
@click.argument("release")
@click.argument("keys", nargs=-1)
@options.options(TOP, QUANTILES, options.LIMIT, options.CONFIDENCE, options.JSON)
def order(
    release: str, keys: tuple[str, ...], quantiles: tuple[float, ...], style: str | None, **values: object
) -> None:
    """Print the places of KEYS, or of all keys, in the file RELEASE.

    RELEASE is a .json by `hushcount sample`, or by `top --mechanism truncated-geometric`. It costs
    no privacy. Below the table stand Kendall's rank correlation of the published and the true order
    and, with two KEYS or more, how likely they are published in their true order.
    """
    from hushcount.releases.release import Release
    from hushcount.releases.stored.documents import rows_plain
    from hushcount.releases.stored.reading import read_release
    from hushcount.releases.views.words import privacy_sentences

    found = read_release(release)
    if not isinstance(found, Release):
        raise ParameterError(f"{release} is no table of keys and counts; order statistics need one.")
    if quantiles and (keys or values["top"]):
        raise ParameterError("--quantile is of all keys, so leave out KEYS and --top.")
    confidence = values["confidence"]
    assert isinstance(confidence, float)
    said: tuple[str, ...] = ()
    if quantiles:
        table = _quantiles(found.order, quantiles, confidence)
    else:
        table, said = _ranks(found, keys, values)
    limit = values["limit"]
    table = table if limit is None else table.slice(0, limit)
    if style == "json":
        shown = {"confidence": confidence, "rows": rows_plain(table), "statements": list(said)}
        show.print_json({"hushcount": 1, "kind": "order", **shown})
        return
    show.print_tsv(table)
    show.say(*((("Order", said),) if said else ()), ("Privacy", privacy_sentences(found)[:1]))


def _quantiles(order: Order, fractions: tuple[float, ...], confidence: float) -> pa.Table:
    """Return quantiles with their intervals."""
    import pyarrow as pa

    found = order.quantiles(fractions, confidence)
    rows = [
        {"quantile": fraction, "value": one.value, "lower": one.lower, "upper": one.upper}
        for fraction, one in zip(fractions, found, strict=True)
    ]
    return pa.Table.from_pylist(rows)


def _ranks(
    release: Release, keys: tuple[str, ...], values: options.Values
) -> tuple[pa.Table, tuple[str, ...]]:
    """Return the places of all keys or of some, and what is said of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    order, confidence, top = release.order, values["confidence"], values["top"]
    table = order.ranks(confidence).sort_by([("rank", "ascending")])  # type: ignore[arg-type]
    said: tuple[str, ...] = (_tau(order),)
    if top is not None:
        if not isinstance(top, int) or top < 1:
            raise ParameterError(f"--top must be at least 1, got {top}.")
        table = table.filter(pc.less_equal(table["rank_lower"], top))
        table = table.append_column("certain", pc.less_equal(table["rank_upper"], top))
    if not keys:
        return table, said
    chosen = _typed(release, keys)
    known = pc.is_in(chosen, value_set=release.keys.column(0).combine_chunks())
    if not pc.all(known).as_py():
        said = (*said, "A key that was not published has no place; it may be too rare, or not sampled.")
    if len(keys) > 1 and pc.all(known).as_py():
        sure = order.concordance(*chosen.to_pylist())
        said = (
            *said,
            f"These keys are published in their true order with a probability of about {sure:.3g}.",
        )
    return table.filter(pc.is_in(table.column(0), value_set=pa.array(chosen))), said


def _typed(release: Release, keys: tuple[str, ...]) -> pa.Array:
    """Return keys from the command line in the type of the release, or raise."""
    import pyarrow as pa

    if len(release.keys.columns) > 1:
        raise ParameterError("KEYS are values of one column, and this release has several; leave them out.")
    kind = release.keys.column(0).type
    try:
        return pa.array(keys, pa.string()).cast(kind)
    except pa.ArrowException:
        raise KeyTypeError(f"keys of this release are of type {kind}; some of those given are not.") from None


def _tau(order: Order) -> str:
    """Say how well the published order agrees with the true one."""
    try:
        tau = order.kendall_tau()
    except ParameterError:
        return "With fewer than two different counts nothing is said of the order as a whole."
    return (
        "Kendall's rank correlation of the published and the true order is expected to be about"
        f" {tau:.3g} (1 is the same order, 0 any)."
    )
