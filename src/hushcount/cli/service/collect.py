"""The commands of `hushcount collect`: a collector, and what its administrator asks of it over HTTP."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

import click

from hushcount.cli import options, show
from hushcount.errors import DataError

if TYPE_CHECKING:
    from hushcount.service.admin import Administrator

EPILOG = """\b
Example:
  hushcount collect serve --listen 127.0.0.1:8080 --store reports.db --admin-token-file admin.token
  hushcount collect new words.json --url http://127.0.0.1:8080 --admin-token-file admin.token
  hushcount collect status --url http://127.0.0.1:8080 --admin-token-file admin.token

\b
`openssl rand -hex 24 > admin.token` makes a token, `hushcount ldp new words.json` a manifest.
"""
NOT_INSTALLED = "The collector needs more libraries: in a checkout, run pip install .[service]."
ADMIN_TOKEN = options.text("--admin-token-file PATH", "File with the administrator's token.", required=True)
LISTENING = (
    options.text(
        "--listen HOST:PORT", "Where to listen; port 0 lets the system choose.", default="127.0.0.1:8080"
    ),
    options.text("--tls-cert PATH", "Certificate, if no proxy sees to TLS."),
    options.text("--tls-key PATH", "Key of the certificate."),
    options.text(
        "--proxies ADDRESSES",
        "Proxies whose X-Forwarded-For is believed, so that limits count clients.",
        default="127.0.0.1",
    ),
)
SERVE = (
    options.text(
        "--store PATH|URI",
        "SQLite file, made if there is none, or postgresql://... for several workers.",
        required=True,
    ),
    ADMIN_TOKEN,
    options.whole(
        "--min-group smallest_group N",
        "Write single reports in groups of at least N. Of fewer that spend tokens the store would show which"
        " token sent which report, so they are told to come again.",
        default=10,
    ),
    options.real(
        "--max-wait longest_wait S", "A single report waits at most S seconds for others.", default=1.0
    ),
    options.real("--rate R", "Requests per second of one address; 0 for no limit.", default=100.0),
    options.text(
        "--ledger PATH|URI",
        "Charge central guarantees of anonymous campaigns here, once each. Default: HUSHCOUNT_LEDGER.",
    ),
    options.text("--dataset NAME", "With --ledger: whose budget is charged."),
)
AT = (
    options.text("--url URL", "Address of the collector.", default="http://127.0.0.1:8080"),
    ADMIN_TOKEN,
)


CHECK = options.flag(
    "--check",
    "Also say whether the reports look honest. Of an anonymous campaign this charges the collector's ledger,"
    " as a release does, once.",
)


@click.group(epilog=EPILOG)
def collect() -> None:
    """Run campaigns of the local model over HTTP.

    `serve` is the collector: it takes reports from browsers and programs and keeps them. All other
    commands ask a running collector, with the administrator's token.
    """


@collect.command(epilog=EPILOG, short_help="Run a collector.")
@options.options(*LISTENING, *SERVE)
def serve(**values: object) -> None:
    """Run a collector until it is asked to stop.

    A report is answered once it is on disk. Nothing that could link a report to its sender is
    stored or logged. Lines about what happens go to standard error, as JSON.
    """
    listening, kept = _split(values)
    from hushcount.jobs.trust.spending import DEFAULT

    try:
        from hushcount.service.answers import check_ledger
        from hushcount.service.app import application
        from hushcount.service.collector import Collector, CollectorSettings
        from hushcount.service.serve import Listening, run
        from hushcount.service.token_files import token_in
    except ImportError:
        raise DataError(NOT_INSTALLED) from None
    kept["ledger"] = kept["ledger"] or os.environ.get(DEFAULT) or None
    kept["admin_token"] = token_in(str(kept.pop("admin_token_file")))
    if kept["ledger"] and kept["dataset"]:
        check_ledger(str(kept["ledger"]), str(kept["dataset"]))
    collector = Collector(CollectorSettings(**kept))  # type: ignore[arg-type]
    run(application(collector), Listening(**listening), collector.groups.hurry)  # type: ignore[arg-type]


def _split(values: options.Values) -> tuple[options.Values, options.Values]:
    """Return the options about where to listen, and the others."""
    listening = {name: values.pop(name) for name in ("listen", "tls_cert", "tls_key", "proxies")}
    return listening, values


def _administrator(url: str, path: str) -> Administrator:
    """Return whoever has the token in a file."""
    from hushcount.service.admin import Administrator
    from hushcount.service.token_files import token_in

    return Administrator(url, token_in(path))


@collect.command(epilog=EPILOG, short_help="Make a campaign, or more tokens for it.")
@click.argument("manifest")
@options.options(
    *AT,
    options.choice("--access", "Who may report: all, or holders of a token.", ("open", "token"), "open"),
    click.option("--origin", "origins", multiple=True, metavar="URL", help="A page that may send reports."),
    options.whole("--tokens N", "Also print N tokens, each for one report.", default=0),
    options.flag("--relay-token", "Also print a token for a relay."),
    options.JSON,
)
def new(manifest: str, url: str, admin_token_file: str, style: str | None, **values: object) -> None:
    """Make a campaign of MANIFEST, which `hushcount ldp new` writes.

    The same campaign can be made again, which changes nothing. Tokens are printed once and kept
    only as hashes.
    """
    admin = _administrator(url, admin_token_file)
    made = admin.make(manifest, str(values["access"]), cast(tuple[str, ...], values["origins"]))
    campaign, count, relay = str(made["id"]), cast(int, values["tokens"]), bool(values["relay_token"])
    made["tokens"] = admin.issue(campaign, count, "client") if count else []
    made["relay_token"] = admin.issue(campaign, 1, "relay")[0] if relay else None
    if style == "json":
        show.print_json(made)
        return
    show.print_facts({"campaign": campaign, "address": f"{url.rstrip('/')}{made['url']}"})
    for token in cast(list[str], made["tokens"]):
        click.echo(token)
    if relay:
        show.print_facts({"relay token": str(made["relay_token"])})


@collect.command(epilog=EPILOG, short_help="List campaigns, or say how far one is.")
@click.argument("campaign", required=False)
@options.options(*AT, CHECK, options.JSON)
def status(
    campaign: str | None, url: str, admin_token_file: str, check: bool | None, style: str | None
) -> None:
    """List all campaigns, or say how far CAMPAIGN is."""
    admin = _administrator(url, admin_token_file)
    if campaign is None:
        listed = admin.campaigns()
        if style == "json":
            show.print_json({"campaigns": listed})
        for each in [] if style == "json" else listed:
            show.print_facts({str(each["id"]): f"{each['state']}, {each['reports']:,} reports"})
        return
    found = admin.status(campaign) | ({"check": admin.check(campaign)} if check else {})
    if style == "json":
        show.print_json(found)
        return
    show.print_facts(_facts(found))


def _facts(found: dict[str, object]) -> dict[str, str]:
    """Return what a person wants to know of a campaign."""
    named = ("id", "state", "access", "reports", "users", "batches", "expires", "deleted_after", "released")
    facts = {name.replace("_", " "): str(found[name]) for name in named}
    least = cast(dict[str, float | None], found["least_detectable"])["now"]
    facts["smallest count found now"] = "not known" if least is None else f"{least:,.0f} users"
    moves = cast(dict[str, float], found["poisoning"])["one_fake_report_moves_an_estimate_by"]
    facts["one fake report moves an estimate by"] = f"{moves:.2f} users"
    if "check" in found:
        suspicious = cast(list[str], cast(dict[str, object], found["check"])["suspicious"])
        facts["reports look"] = f"forged, by their {', '.join(suspicious)}" if suspicious else "honest"
    return facts


@collect.command(epilog=EPILOG, short_help="Publish the heavy hitters of a campaign.")
@click.argument("campaign")
@options.options(
    *AT,
    options.real("--threshold T", "Smallest count to publish. Default: that of the manifest."),
    options.LIMIT,
    options.flag("--dry-run", "Say what would be published and charged, and stop there."),
    *options.SHOWN,
)
def release(
    campaign: str,
    url: str,
    admin_token_file: str,
    style: str | None,
    dry_run: bool | None,
    **values: float | None,
) -> None:
    """Find the items that many users hold, print them, and let everybody see them.

    It costs no privacy and can be done again when there are more reports. An anonymous campaign
    charges its central guarantee to the collector's ledger, once.
    """
    from hushcount.service.admin import release_in

    admin = _administrator(url, admin_token_file)
    if dry_run:
        _show_dry(admin.status(campaign), values["threshold"], style)
        return
    limit = None if values["limit"] is None else int(values["limit"])
    admin.release(campaign, values["threshold"], limit)
    show.show_release(release_in(admin.released(campaign)), style, limit)


def _show_dry(found: dict[str, object], threshold: float | None, style: str | None) -> None:
    """Print what a release of a campaign would publish and charge."""
    from hushcount.jobs.ldp.dry_run import campaign_facts, dry_campaign

    would = dry_campaign(found, threshold)
    if style == "json":
        show.print_json({"hushcount": 1, "kind": "dry-run", **would})
    else:
        show.print_facts(campaign_facts(would))


@collect.command(epilog=EPILOG, short_help="Let a campaign take no more reports.")
@click.argument("campaign")
@options.options(*AT, options.flag("--delete", "Also delete all of it: reports, tokens and results."))
def close(campaign: str, url: str, admin_token_file: str, delete: bool | None) -> None:
    """Let CAMPAIGN take no more reports. What it has stays until its time of retention is over."""
    admin = _administrator(url, admin_token_file)
    found = admin.close(campaign)
    if delete:
        admin.delete(campaign)
    gone = "; all of it is deleted" if delete else ""
    show.say(("Campaign", (f"{campaign} is closed with {found['reports']:,} reports{gone}.",)))


@collect.command(epilog=EPILOG, short_help="Write what was released to a file.")
@click.argument("campaign")
@options.options(
    *AT, options.text("--output -o PATH", "A .csv, .tsv, .parquet or .json file.", required=True)
)
def export(campaign: str, url: str, admin_token_file: str, output: str) -> None:
    """Write the heavy hitters of CAMPAIGN to a file: those released, or those that could be now."""
    from hushcount.service.admin import release_in

    found = release_in(_administrator(url, admin_token_file).released(campaign))
    found.write(output)
    show.say(("Written", (f"{output} has {found.table.num_rows:,} rows.",)))
