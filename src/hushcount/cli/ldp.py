"""The commands of `hushcount ldp`: they parse, call a job, and show what it returns."""

from __future__ import annotations

from typing import cast

import click

from hushcount.cli import options, show
from hushcount.cli.campaigns import show_campaign, show_comparison
from hushcount.jobs.ldp.campaigns import ITEM_FORMS, PAPER, PRACTICAL
from hushcount.jobs.ldp.collection import BATCH_ENDING, HEX_ENDINGS, REPORT_FORMS

EPILOG = """\b
Example:
  hushcount ldp new words.json --items words:6 --epsilon 2 --users 1000000
  hushcount ldp randomise words.json typed.csv --column word --output reports.bin
  hushcount ldp aggregate words.json reports.bin
  hushcount ldp query words.json reports.bin --item tea --item coffee
  hushcount ldp simulate typed.csv --column word --items words:6 --epsilon 2
"""
CAMPAIGN = (
    options.text("--items FORM", f"What users hold: {ITEM_FORMS}.", required=True),
    options.flag("--truncate", "Cut words and bytes that are too long; otherwise they count as no item."),
    options.text(
        "--protocol NAME",
        f"One of {', '.join(PRACTICAL)}. For comparison, close to Bassily et al. 2020: {', '.join(PAPER)}.",
        click.Choice((*PRACTICAL, *PAPER)),
        default=PRACTICAL[0],
    ),
    options.real("--threshold T", "Smallest count to find. Default: the smallest that is found reliably."),
    options.whole("--symbol-bits B", "Bits of a response. Default: those of the smallest error."),
    options.real(
        "--epsilon E",
        "Limit on the privacy loss of all that one user sends, such as 2; smaller is more private and"
        " noisier. Needed, unless a central guarantee is asked for.",
    ),
    options.whole(
        "--reports-per-user K",
        "Users with several items send K reports, each about another item with epsilon / K. With 1, one item"
        " is chosen by a keyed hash.",
        default=1,
    ),
    options.whole("--rows R", "Rows of the sketches of protocols of Bassily et al. 2020, odd."),
    options.whole("--cell-bits B", "Their rows have 2^B cells."),
    options.whole("--bucket-bits B", "Their searches have 2^B buckets."),
    options.whole("--repetitions R", "How many divisions into buckets bitstogram-paper has."),
    options.real("--published T", "Smallest final estimate that tree-hist-paper publishes."),
)
NEW = (
    options.whole("--users N", "About how many users will report; a public number.", required=True),
    options.whole("--days N", "The campaign ends after N days.", default=30),
    options.real(
        "--zipf S",
        "State the precision and recall to expect if counts were proportional to rank^-S.",
        default=1.2,
    ),
    options.text("--collector NAME", "Who runs the collector, in words for the users.", default=""),
    options.whole("--retention-days N", "Reports are deleted N days after the end.", default=30),
    options.text("--relay NAME", "Who runs the relay that shuffles the reports.", default=""),
    options.whole("--min-batch N", "The relay forwards batches of at least N reports.", default=1),
    options.real(
        "--central-epsilon E",
        "Claim this guarantee against whoever sees only shuffled batches; needs --relay and --min-batch."
        " Without --epsilon the largest local epsilon that reaches it is used.",
    ),
    options.real("--central-delta D", "Probability with which that guarantee may fail, such as 1e-9."),
    options.flag("--force", "Replace MANIFEST if it exists."),
    options.JSON,
)
USER = options.text(
    "--user NAME",
    "Column of the users: each reports one of their items, or as many as MANIFEST asks for, picked by a keyed"
    " hash. Without it every row is a user.",
)
REPORT_FORMAT = options.choice(
    "--report-format form",
    "Form of the reports: packed (27 bytes each), hex (one per line) or batch (as a relay sends them)."
    f" Default: hex if the name ends in {' or '.join(HEX_ENDINGS)}, batch if in {BATCH_ENDING}, else packed.",
    REPORT_FORMS,
)
OUTPUT = options.text("--output -o PATH", "Where to write the reports.", required=True)
DRY_RUN = options.flag(
    "--dry-run",
    "Open and check the data, say what every user would spend and what would be written, and stop there: no"
    " report is made, nothing spent.",
)
COLLECTED = (
    options.text("--state PATH", "Continue with the reports in this file, and keep all of them there."),
    options.flag("--collected-in-time", "Count reports that came before the campaign ended."),
    options.CONFIDENCE,
)
ANSWER = (
    options.real("--threshold T", "Smallest count to publish. Default: that of MANIFEST."),
    *COLLECTED,
    options.LIMIT,
)
ITEMS = (
    click.option("--item", "items", multiple=True, metavar="ITEM", help="An item to look up; repeat it."),
    options.text("--items-file PATH", "Also look up every line of a file (- for standard input)."),
)


@click.group(epilog=EPILOG)
def ldp() -> None:
    """Campaigns of the local model: no one but the user ever sees the user's item.

    A manifest describes the campaign. Every client randomises its own report of 27 bytes, and
    an aggregator finds the items that many users hold.
    """


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(*CAMPAIGN, *NEW)
def new(manifest: str, zipf: float, force: bool, style: str | None, **values: object) -> None:
    """Write a new MANIFEST, and say what the campaign can find.

    The manifest is public, and all that clients and aggregators need. Keep it: without it the
    reports of the campaign cannot be read. With --relay, --min-batch and a central target the
    reports of a shuffled batch get a second, stronger guarantee, which is claimed only if proved.
    """
    from hushcount.jobs.ldp.campaigns import CampaignSettings, expected_quality, new_campaign
    from hushcount.jobs.settings import taken

    made = new_campaign(manifest, taken(CampaignSettings, values), force=force)
    show_campaign(made, expected_quality(made, zipf), zipf, style)


@ldp.command(epilog=EPILOG, short_help="Turn the items of FILE into reports.")
@click.argument("manifest")
@options.options(options.FILE, *options.SOURCE, USER, REPORT_FORMAT, OUTPUT, DRY_RUN, options.JSON)
def randomise(
    manifest: str, output: str, form: str | None, dry_run: bool | None, style: str | None, **values: object
) -> None:
    """Turn the items of FILE into reports of the campaign of MANIFEST.

    Every row is a user, or with --user every different user. Items that cannot be encoded, and
    missing ones, give a report too. The order of the reports is random. Run it once for the same
    users: a second report of a user costs epsilon again.
    """
    from hushcount.jobs.ldp.dry_run import dry_reports
    from hushcount.jobs.ldp.tables import randomise as write_reports

    if dry_run:
        show.show_dry(dry_reports(manifest, options.request(values), output, form), style)
        return
    with show.progress_bar() as progress:
        asked, number = write_reports(manifest, options.request(values), output, form, progress)
    if style == "json":
        made = {"campaign": asked.id, "epsilon": float(asked.epsilon), "reports": number, "output": output}
        show.print_json({"hushcount": 1, "kind": "reports", **made})
        return
    sentence = f"{output} contains {number:,} reports, each {asked.epsilon}-locally differentially private."
    show.say(("Reports", (sentence,)))


@ldp.command(epilog=EPILOG, short_help="Find the items that many users hold.")
@click.argument("manifest")
@click.argument("reports", nargs=-1)
@options.options(REPORT_FORMAT, *ANSWER)
@options.options(*options.FILES, *options.SHOWN)
def aggregate(manifest: str, reports: tuple[str, ...], style: str | None, **values: object) -> None:
    """Find the items that many users hold in files of REPORTS (- for standard input).

    Reports that are malformed or of another campaign are counted by reason and left out; if most
    are, nothing is published. Of several reports with the same nonce the first counts.
    """
    from hushcount.jobs.ldp.collection import AggregateSettings
    from hushcount.jobs.ldp.collection import aggregate as collect
    from hushcount.jobs.settings import taken

    with show.progress_bar() as progress:
        settings = taken(AggregateSettings, options.formed(values))
        counted, release = collect(manifest, reports, settings, progress)
    show.say(("Reports", (counted,)))
    show.show_release(release, style, settings.limit)


@ldp.command(epilog=EPILOG, short_help="Estimate how many users hold chosen items.")
@click.argument("manifest")
@click.argument("reports", nargs=-1)
@options.options(*ITEMS, REPORT_FORMAT, *COLLECTED, options.JSON)
def query(
    manifest: str, reports: tuple[str, ...], items_file: str | None, style: str | None, **values: object
) -> None:
    """Estimate how many users hold each ITEM, from files of REPORTS (- for standard input).

    It costs no privacy, however often it is done. Choose the items before seeing any result: among
    many, those that look most frequent are those whose noise was upward.
    """
    from hushcount.cli.oracle import lines_of
    from hushcount.jobs.ldp.collection import ReadSettings
    from hushcount.jobs.ldp.queries import query as look_up
    from hushcount.jobs.settings import taken
    from hushcount.releases.stored.documents import rows_plain

    items = (*cast(tuple[str, ...], values["items"]), *lines_of(items_file))
    with show.progress_bar() as progress:
        found = look_up(manifest, reports, items, taken(ReadSettings, values), progress)
    if style == "json":
        said = {"guarantee": found.guarantee.to_dict(), "statements": list(found.sentences)}
        show.print_json({"hushcount": 1, "kind": "answers", **said, "rows": rows_plain(found.table)})
        return
    show.say(("Reports", (found.counted,)))
    show.print_tsv(found.table)
    show.say(("Accuracy", found.sentences))


@ldp.command(epilog=EPILOG, short_help="Try a campaign on FILE and compare with the truth.")
@options.options(options.FILE, *options.SOURCE, USER, *CAMPAIGN, options.JSON)
def simulate(style: str | None, **values: object) -> None:
    """Run a whole campaign on FILE and compare what it finds with the truth.

    Every row is a user, or with --user every different user. What is printed has true counts in
    it: it is for you alone.
    """
    from hushcount.jobs.ldp.campaigns import CampaignSettings
    from hushcount.jobs.ldp.tables import simulate as run
    from hushcount.jobs.settings import taken

    request, settings = options.request(values), taken(CampaignSettings, values, users=1)
    with show.progress_bar() as progress:
        found, release = run(request, settings, progress)
    show_comparison(found, release, style)
