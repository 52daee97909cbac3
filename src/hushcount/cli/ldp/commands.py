"""The commands of `hushcount ldp`: they parse, call a job, and show what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hushcount.cli import options
from hushcount.jobs.ldp.campaigns import ITEM_FORMS, PAPER, PRACTICAL
from hushcount.jobs.ldp.collection import HEX_ENDINGS, REPORT_FORMS

if TYPE_CHECKING:
    from hushcount.jobs.run import Request

EPILOG = """\b
Example:
  hushcount ldp new words.json --items words:6 --epsilon 2 --users 1000000
  hushcount ldp randomise words.json typed.csv --column word --output reports.bin
  hushcount ldp aggregate words.json reports.bin
  hushcount ldp simulate typed.csv --column word --items words:6 --epsilon 2
"""
ITEMS = click.option("--items", required=True, metavar="FORM", help=f"What users hold: {ITEM_FORMS}.")
TRUNCATE = click.option(
    "--truncate", is_flag=True, help="Cut words and bytes that are too long; otherwise they count as no item."
)
PROTOCOL = click.option(
    "--protocol",
    type=click.Choice((*PRACTICAL, *PAPER)),
    default=PRACTICAL[0],
    metavar="NAME",
    show_default=True,
    help=f"One of {', '.join(PRACTICAL)}. For comparison, close to Bassily et al. 2020: {', '.join(PAPER)}.",
)
THRESHOLD = click.option(
    "--threshold",
    type=float,
    metavar="T",
    help="Smallest count to find. Default: the smallest that is found reliably.",
)
SYMBOL_BITS = click.option(
    "--symbol-bits", type=int, metavar="B", help="Bits of a response. Default: those of the smallest error."
)
EPSILON = click.option(
    "--epsilon",
    type=float,
    required=True,
    metavar="E",
    help="Limit on the privacy loss of one report, such as 2; smaller is more private and noisier.",
)
CAMPAIGN = (ITEMS, TRUNCATE, PROTOCOL, THRESHOLD, SYMBOL_BITS, EPSILON)
USERS = click.option(
    "--users", type=int, required=True, metavar="N", help="About how many users will report; a public number."
)
DAYS = click.option(
    "--days", type=int, default=30, metavar="N", show_default=True, help="The campaign ends after N days."
)
FORCE = click.option("--force", is_flag=True, help="Replace MANIFEST if it exists.")
ZIPF = click.option(
    "--zipf",
    type=float,
    default=1.2,
    metavar="S",
    show_default=True,
    help="State the precision and recall to expect if counts were proportional to rank^-S.",
)
USER = click.option(
    "--user",
    metavar="NAME",
    help="Column of the users: each sends one report, of one of their items, picked by a keyed hash."
    " Without it every row is a user.",
)
REPORT_FORMAT = click.option(
    "--report-format",
    "form",
    type=click.Choice(REPORT_FORMS),
    metavar="|".join(REPORT_FORMS),
    help="Form of the reports: packed (18 bytes each) or hex (one per line)."
    f" Default: hex if the name ends in {' or '.join(HEX_ENDINGS)}, else packed.",
)
OUTPUT = click.option("--output", "-o", required=True, metavar="PATH", help="Where to write the reports.")
STATE = click.option(
    "--state", metavar="PATH", help="Continue with the reports in this file, and keep all of them there."
)
IN_TIME = click.option(
    "--collected-in-time", is_flag=True, help="Count reports that came before the campaign ended."
)
AT_LEAST = click.option(
    "--threshold", type=float, metavar="T", help="Smallest count to publish. Default: that of MANIFEST."
)


@click.group(epilog=EPILOG, short_help="Ask users for randomised reports: the local model.")
def ldp() -> None:
    """Campaigns of the local model: no one but the user ever sees the user's item.

    A manifest describes the campaign. Every client randomises its own report of 18 bytes, and
    an aggregator finds the items that many users hold.
    """


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(*CAMPAIGN, USERS, DAYS, ZIPF, FORCE)
def new(manifest: str, zipf: float, force: bool, **values: Any) -> None:
    """Write a new MANIFEST, and say what the campaign can find.

    The manifest is public. Clients need it and a nonce from the collector; aggregators need
    nothing else. Keep it: without it the reports of the campaign cannot be read.
    """
    from hushcount.cli.ldp.show import show_campaign
    from hushcount.jobs.ldp.campaigns import CampaignSettings, expected_quality, new_campaign

    made = new_campaign(manifest, CampaignSettings(**values), force=force)
    show_campaign(made, expected_quality(made, zipf), zipf)


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(options.FILE, *options.SOURCE, USER, REPORT_FORMAT, OUTPUT)
def randomise(manifest: str, output: str, form: str | None, **values: Any) -> None:
    """Turn the items of FILE into reports of the campaign of MANIFEST.

    Every row is a user, or with --user every different user. Items that cannot be encoded, and
    missing ones, give a report too. The order of the reports is random. Run it once for the same
    users: a second report of a user costs epsilon again.
    """
    from hushcount.cli import show
    from hushcount.jobs.ldp.tables import randomise as write_reports

    with show.progress_bar() as progress:
        asked, number = write_reports(manifest, _request(values), output, form, progress)
    sentence = f"{output} contains {number:,} reports, each {asked.epsilon}-locally differentially private."
    show.say(("Reports", (sentence,)))


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@click.argument("reports", nargs=-1)
@options.options(REPORT_FORMAT, AT_LEAST, STATE, IN_TIME, options.CONFIDENCE, options.LIMIT, options.OUTPUT)
@options.options(options.JSON, options.TABLE)
def aggregate(manifest: str, reports: tuple[str, ...], style: str | None, **values: Any) -> None:
    """Find the items that many users hold in files of REPORTS (- for standard input).

    Reports that are malformed or of another campaign are counted by reason and left out; if most
    are, nothing is published. Of several reports with the same nonce the first counts.
    """
    from hushcount.cli import show
    from hushcount.jobs.ldp.collection import AggregateSettings
    from hushcount.jobs.ldp.collection import aggregate as collect

    with show.progress_bar() as progress:
        counted, release = collect(manifest, reports, AggregateSettings(**values), progress)
    show.say(("Reports", (counted,)))
    show.show_release(release, style, values["limit"])


@ldp.command(epilog=EPILOG)
@options.options(options.FILE, *options.SOURCE, USER, *CAMPAIGN, options.JSON)
def simulate(style: str | None, **values: Any) -> None:
    """Run a whole campaign on FILE and compare what it finds with the truth.

    Every row is a user, or with --user every different user. What is printed has true counts in
    it: it is for you alone.
    """
    from hushcount.cli import show
    from hushcount.cli.ldp.show import show_comparison
    from hushcount.jobs.ldp.campaigns import CampaignSettings
    from hushcount.jobs.ldp.tables import simulate as run

    request = _request(values)
    with show.progress_bar() as progress:
        found, release = run(request, CampaignSettings(users=1, **values), progress)
    show_comparison(found, release, style)


def _request(values: dict[str, Any]) -> Request:
    """Return the table asked for; take its options out of `values`."""
    from dataclasses import replace

    user = values.pop("user")
    return replace(options.request(values), user=user)
