"""The commands of `hushcount ldp`: they parse, call a job, and show what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount.cli import options, show
from hushcount.jobs.ldp.campaigns import HEX_ENDINGS, ITEM_FORMS, PAPER, PRACTICAL, REPORT_FORMS

if TYPE_CHECKING:
    from hushcount.jobs.ldp.campaigns import Campaign, Quality
    from hushcount.jobs.ldp.tables import Comparison
    from hushcount.releases.release import Release

SHARES_SHOWN = 8

EPILOG = """\b
Example:
  hushcount ldp new words.json --items words:6 --epsilon 2 --users 1000000
  hushcount ldp randomise words.json typed.csv --column word --output reports.bin
  hushcount ldp aggregate words.json reports.bin
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
        "Limit on the privacy loss of one report, such as 2; smaller is more private and noisier.",
        required=True,
    ),
)
NEW = (
    options.whole("--users N", "About how many users will report; a public number.", required=True),
    options.whole("--days N", "The campaign ends after N days.", default=30),
    options.real(
        "--zipf S",
        "State the precision and recall to expect if counts were proportional to rank^-S.",
        default=1.2,
    ),
    options.flag("--force", "Replace MANIFEST if it exists."),
)
USER = options.text(
    "--user NAME",
    "Column of the users: each sends one report, of one of their items, picked by a keyed hash."
    " Without it every row is a user.",
)
REPORT_FORMAT = options.choice(
    "--report-format form",
    "Form of the reports: packed (18 bytes each) or hex (one per line)."
    f" Default: hex if the name ends in {' or '.join(HEX_ENDINGS)}, else packed.",
    REPORT_FORMS,
)
OUTPUT = options.text("--output -o PATH", "Where to write the reports.", required=True)
ANSWER = (
    options.real("--threshold T", "Smallest count to publish. Default: that of MANIFEST."),
    options.text("--state PATH", "Continue with the reports in this file, and keep all of them there."),
    options.flag("--collected-in-time", "Count reports that came before the campaign ended."),
)


@click.group(epilog=EPILOG)
def ldp() -> None:
    """Campaigns of the local model: no one but the user ever sees the user's item.

    A manifest describes the campaign. Every client randomises its own report of 18 bytes, and
    an aggregator finds the items that many users hold.
    """


@ldp.command(epilog=EPILOG)
@click.argument("manifest")
@options.options(*CAMPAIGN, *NEW)
def new(manifest: str, zipf: float, force: bool, **values: object) -> None:
    """Write a new MANIFEST, and say what the campaign can find.

    The manifest is public. Clients need it and a nonce from the collector; aggregators need
    nothing else. Keep it: without it the reports of the campaign cannot be read.
    """
    from hushcount.jobs.ldp.campaigns import CampaignSettings, expected_quality, new_campaign
    from hushcount.jobs.settings import taken

    made = new_campaign(manifest, taken(CampaignSettings, values), force=force)
    show_campaign(made, expected_quality(made, zipf), zipf)


@ldp.command(epilog=EPILOG, short_help="Turn the items of FILE into reports.")
@click.argument("manifest")
@options.options(options.FILE, *options.SOURCE, USER, REPORT_FORMAT, OUTPUT)
def randomise(manifest: str, output: str, form: str | None, **values: object) -> None:
    """Turn the items of FILE into reports of the campaign of MANIFEST.

    Every row is a user, or with --user every different user. Items that cannot be encoded, and
    missing ones, give a report too. The order of the reports is random. Run it once for the same
    users: a second report of a user costs epsilon again.
    """
    from hushcount.jobs.ldp.tables import randomise as write_reports

    with show.progress_bar() as progress:
        asked, number = write_reports(manifest, options.request(values), output, form, progress)
    sentence = f"{output} contains {number:,} reports, each {asked.epsilon}-locally differentially private."
    show.say(("Reports", (sentence,)))


@ldp.command(epilog=EPILOG, short_help="Find the items that many users hold.")
@click.argument("manifest")
@click.argument("reports", nargs=-1)
@options.options(REPORT_FORMAT, *ANSWER, options.CONFIDENCE, options.LIMIT)
@options.options(*options.FILES, *options.SHOWN)
def aggregate(manifest: str, reports: tuple[str, ...], style: str | None, **values: object) -> None:
    """Find the items that many users hold in files of REPORTS (- for standard input).

    Reports that are malformed or of another campaign are counted by reason and left out; if most
    are, nothing is published. Of several reports with the same nonce the first counts.
    """
    from hushcount.jobs.ldp.campaigns import AggregateSettings
    from hushcount.jobs.ldp.campaigns import aggregate as collect
    from hushcount.jobs.settings import taken

    with show.progress_bar() as progress:
        settings = taken(AggregateSettings, options.formed(values))
        counted, release = collect(manifest, reports, settings, progress)
    show.say(("Reports", (counted,)))
    show.show_release(release, style, settings.limit)


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


def show_campaign(made: Campaign, quality: Quality | None, zipf: float) -> None:
    """Print what a campaign asks and what it is expected to find, and warn if that is nothing."""
    manifest, plan = made.manifest, made.plan
    if plan is not None and plan.least_detectable > manifest.users:
        show.warn(
            f"With {manifest.users:,} users and epsilon {manifest.epsilon} no item can be found reliably: the"
            f" smallest detectable count is {plan.least_detectable:,.0f} users."
            " Use more users or a larger epsilon."
        )
    show.print_facts(_facts(made) | _forecast(made, quality, zipf))


def _facts(made: Campaign) -> dict[str, str]:
    """Return what the manifest of a campaign says."""
    manifest = made.manifest
    facts = {
        "campaign": manifest.id,
        "protocol": manifest.protocol,
        "epsilon": manifest.epsilon,
        "users": f"{manifest.users:,}",
        "item": f"{manifest.encoding.width} bits",
        "threshold": f"{manifest.parameters['threshold']:,} users",
    }
    for index, group in enumerate(manifest.groups):
        prefix = f"group {index + 1}: " if len(manifest.groups) > 1 else ""
        bits = "1 bit" if group.symbol_bits == 1 else f"{group.symbol_bits} bits"
        facts[f"{prefix}questions, by share of users"] = shares(group.shares)
        truthful = f"truthful with probability {group.probability / 2**64:.2f}"
        facts[f"{prefix}each report"] = f"{bits}, {truthful}"
    return facts


def shares(parts: tuple[int, ...]) -> str:
    """Return the shares of questions out of 2^32 as percentages; of many questions, their range.

    >>> shares((1 << 31, 1 << 31)), shares((1 << 28,) * 16)
    ('50%, 50%', '16 questions, 6.25% each')
    >>> shares((*[1 << 27] * 15, (1 << 32) - (15 << 27)))
    '16 questions, 3.12% to 53.1%'
    """
    percent = [f"{100 * part / 2**32:.3g}%" for part in parts]
    if len(parts) <= SHARES_SHOWN:
        return ", ".join(percent)
    low, high = percent[parts.index(min(parts))], percent[parts.index(max(parts))]
    return f"{len(parts)} questions, " + (f"{low} each" if low == high else f"{low} to {high}")


def _forecast(made: Campaign, quality: Quality | None, zipf: float) -> dict[str, str]:
    """Return what the campaign is expected to find; protocols of the paper have no forecast."""
    plan = made.plan
    if plan is None or quality is None:
        return {}
    expected = (
        f"precision {quality.precision:.3f}, recall {quality.recall:.3f} of {quality.above_threshold} items"
        " above the threshold"
        if quality.above_threshold
        else "no item would be above the threshold"
    )
    return {
        "standard deviation for an item that nobody holds": f"{plan.deviation:,.0f} users",
        "smallest count found reliably": f"{plan.least_detectable:,.0f} users",
        "memory of the aggregator": f"{plan.memory / 1e6:,.0f} MB",
        f"if counts were proportional to rank^-{zipf:g}": expected,
    }


def show_comparison(found: Comparison, release: Release, style: str | None) -> None:
    """Print what a simulation found, beside the truth."""
    from hushcount.releases.views.tables import TSV_ESCAPES, visible

    show.warn("Not private: a simulation shows true counts.")
    if style == "json":
        figures: dict[str, object] = {
            "users": release.guarantee.parameters["reports"],
            "threshold": release.floor,
            "published": len(found.rows),
            "heavy": found.heavy,
            "precision": found.precision,
            "recall": found.recall,
            "in_interval": found.in_interval,
        }
        show.print_json({"hushcount": 1, "kind": "simulation", **figures, "rows": list(found.rows)})
        return
    lines = ["key\tcount\tlower\tupper\ttrue"]
    for row in found.rows:
        lines.append("\t".join(visible(value).translate(TSV_ESCAPES) for value in row.values()))
    click.echo("".join(f"{line}\n" for line in lines).encode(), nl=False)
    show.say(("Found", (compared(found, release.floor or 0),)))


def compared(found: Comparison, threshold: int) -> str:
    """Say how a simulation compares with the truth; no score is stated of nothing."""
    are = "1 item is" if found.heavy == 1 else f"{found.heavy} items are"
    heavy = f"{are} truly held by at least {threshold:,} users"
    if found.precision is None or found.in_interval is None:
        recall = "" if found.recall is None else f": recall {found.recall:.3f}"
        return f"No item was found; {heavy}{recall}."
    scores = f"precision {found.precision:.3f}"
    if found.recall is not None:
        scores += f", recall {found.recall:.3f}"
    return (
        f"{len(found.rows)} found; {heavy}: {scores};"
        f" {100 * found.in_interval:.0f}% of the true counts lie in their intervals."
    )
