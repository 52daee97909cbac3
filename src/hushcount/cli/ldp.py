"""`hushcount ldp`: campaigns in which every user randomises their own report."""

from __future__ import annotations

from typing import Any

import click

from hushcount.cli import ldp_items, options

EPILOG = """\b
Example:
  hushcount ldp new words.json --items words:6 --epsilon 2 --users 1000000
  hushcount ldp randomise words.json typed.csv --column word --output reports.bin
  hushcount ldp aggregate words.json reports.bin
  hushcount ldp simulate typed.csv --column word --items words:6 --epsilon 2
"""
USERS = click.option(
    "--users", type=int, required=True, metavar="N", help="About how many users will report, a public number."
)
DAYS = click.option(
    "--days", type=int, default=30, metavar="N", show_default=True, help="The campaign ends after N days."
)
ZIPF = click.option(
    "--zipf",
    type=float,
    default=1.2,
    metavar="S",
    show_default=True,
    help="Expect items of counts rank^-S when precision and recall are foreseen.",
)
STATE = click.option(
    "--state", metavar="PATH", help="Continue with the reports in this file, and keep all of them there."
)
IN_TIME = click.option(
    "--collected-in-time",
    is_flag=True,
    help="Count reports that came before the campaign ended.",
)
AT_LEAST = click.option("--threshold", type=float, metavar="T", help="Another threshold than the manifest's.")


@click.group(epilog=EPILOG, short_help="Ask users for randomised reports: the local model.")
def ldp() -> None:
    """Campaigns of the local model: no one but the user ever sees the user's item.

    A manifest says what is asked; every client randomises its own report of 18 bytes; an
    aggregator finds the items that many users hold.
    """


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(*ldp_items.CAMPAIGN, options.EPSILON, USERS, DAYS, ZIPF)
def new(manifest: str, items: str, truncate: bool, **values: Any) -> None:
    """Write a new MANIFEST, and say what the campaign will be able to find.

    The manifest is public: clients and aggregators need nothing else.
    """
    import time

    from hushcount.cli import show
    from hushcount.cli.ldp_show import facts
    from hushcount.files.atomic import check_writable
    from hushcount.privacy import check_count

    days, zipf = check_count("days", values.pop("days"), most=36500), values.pop("zipf")
    check_writable(manifest)
    values["expires"] = int(time.time()) + days * 86400
    made = ldp_items.campaign(ldp_items.encoding_of(items, truncate), **values)
    made.manifest.save(manifest)
    plan = getattr(made, "plan", None)
    if plan is not None and plan.least_detectable > made.manifest.users:
        show.warn("So few users with this epsilon: no item would be found reliably.")
    show.print_facts(facts(made, zipf))


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(options.FILE, *options.SOURCE)
@click.option("--output", "-o", required=True, metavar="PATH", help="Packed reports, or .txt: one a line.")
def randomise(manifest: str, output: str, **values: Any) -> None:
    """Turn the items of FILE, one user a row, into reports of the campaign of MANIFEST.

    Items that do not fit, and missing ones, give a report too; the order is random. Run it once
    for the same users: a second report of a user costs epsilon again.
    """
    from hushcount.cli import show
    from hushcount.files.atomic import atomic_file, check_writable
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.noise.bits import system_bits

    asked = Manifest.load(manifest)
    asked.refuse_expired()
    check_writable(output)
    people = _population(values, asked.encoding)
    lines = output.lower().endswith(".txt")
    with show.progress_bar() as progress, atomic_file(output) as stream:
        done = 0
        for block in people.reports(asked, system_bits()):
            stream.write(_as_lines(block) if lines else block)
            done += len(block)
            if progress is not None:
                progress(done, 18 * len(people))
    show.say(
        ("Reports", (f"{output} holds the reports of {len(people):,} rows, each {asked.epsilon}-private.",))
    )


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@click.argument("reports", nargs=-1)
@options.options(AT_LEAST, STATE, IN_TIME, options.CONFIDENCE, options.LIMIT, options.OUTPUT)
@options.options(options.JSON, options.TABLE)
def aggregate(manifest: str, reports: tuple[str, ...], **values: Any) -> None:
    """Find the items that many users hold in files of REPORTS (- for standard input).

    Reports that do not fit the campaign of MANIFEST are counted by reason and left out; of two
    with the same nonce the first stands.
    """
    from hushcount.cli import show
    from hushcount.cli.ldp_show import counted
    from hushcount.ldp.wire.manifest import Manifest
    from hushcount.privacy import check_confidence
    from hushcount.releases.writers import check_output

    confidence, output = check_confidence(values["confidence"]), values["output"]
    if output is not None:
        check_output(output)
    aggregator = _aggregator(Manifest.load(manifest), reports, values["state"], values["collected_in_time"])
    show.say(("Reports", (counted(aggregator),)))
    release = aggregator.heavy_hitters(values["threshold"]).at_confidence(confidence)
    if values["limit"] is not None:
        release = release.limit(values["limit"])
    if output is not None:
        release.write(output)
    show.show_release(release, values["style"], values["limit"])


@ldp.command(epilog=EPILOG)
@options.options(options.FILE, *options.SOURCE, *ldp_items.CAMPAIGN, options.EPSILON, options.JSON)
def simulate(items: str, truncate: bool, style: str | None, **values: Any) -> None:
    """Run a whole campaign on FILE, one user a row, and compare what it finds with the truth.

    What is printed has true counts in it: it is for you alone.
    """
    from hushcount.cli import show
    from hushcount.cli.ldp_show import show_comparison
    from hushcount.ldp.client.simulation import Comparison
    from hushcount.noise.bits import system_bits

    encoding = ldp_items.encoding_of(items, truncate)
    terms = {name: values.pop(name) for name in ("protocol", "threshold", "symbol_bits", "epsilon")}
    people = _population(values, encoding)
    made = ldp_items.campaign(encoding, users=max(len(people), 1), **terms)
    aggregator = made.aggregator()
    with show.progress_bar() as progress:
        for block in people.reports(made.manifest, system_bits()):
            aggregator.add(block)
            if progress is not None:
                progress(18 * aggregator.reports, 18 * len(people))
    release = aggregator.heavy_hitters()
    show_comparison(Comparison.of(release, people.true_counts(encoding), release.floor or 0), release, style)


def _population(values: dict[str, Any], encoding: Any) -> Any:
    """The rows of the source as users; a row without an item is a user too."""
    import pyarrow as pa

    from hushcount.cli import show
    from hushcount.ldp.client.simulation import Population

    values["key_type"] = values["key_type"] or ldp_items.key_type(encoding)
    source = options.request(values).open()
    parts: list[Any] = []
    missing = 0
    with show.progress_bar() as progress:
        for batch in source.batches():
            parts.append(source.decode(_plain(batch.keys)).column(0).combine_chunks())
            missing += batch.rows - len(batch.keys)
            if progress is not None:
                progress(batch.bytes_read, source.size)
    kind = parts[0].type if parts else pa.string()
    return Population.of(pa.chunked_array([*parts, pa.nulls(missing, kind)], kind))


def _plain(keys: Any) -> Any:
    import pyarrow as pa

    return keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys


def _as_lines(block: bytes) -> bytes:
    return block.hex("\n", -18).encode() + b"\n"


def _aggregator(manifest: Any, reports: tuple[str, ...], state: str | None, in_time: bool) -> Any:
    import os

    from hushcount.cli import show
    from hushcount.cli.ldp_reports import add_file
    from hushcount.errors import ParameterError
    from hushcount.ldp.server.aggregator import Aggregator

    if not reports and state is None:
        raise ParameterError("REPORTS must be given, files or - for standard input.")
    aggregator = Aggregator(manifest)
    if state is not None and os.path.exists(state):
        aggregator = aggregator.merge(Aggregator.load(state))
    now = manifest.expires - 1 if in_time else None
    size = sum(os.path.getsize(path) for path in reports if os.path.isfile(path)) or None
    done = 0
    with show.progress_bar() as progress:

        def tell(more: int) -> None:
            nonlocal done
            done += more
            if progress is not None:
                progress(done, size)

        for path in reports:
            add_file(aggregator, path, now, tell)
    if state is not None:
        aggregator.save(state)
    return aggregator
