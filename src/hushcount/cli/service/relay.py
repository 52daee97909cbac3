"""The command `hushcount relay`."""

from __future__ import annotations

import click

from hushcount.cli import options
from hushcount.cli.service.collect import LISTENING, NOT_INSTALLED
from hushcount.errors import DataError

EPILOG = """\b
Example:
  hushcount relay serve --listen 127.0.0.1:8081 --collector https://collector.example
    --token-file relay.token --store relay.db --client-tokens tokens.txt --min-batch 10000

\b
`hushcount collect new words.json --relay-token` gives the token for relay.token.
"""
SERVE = (
    options.text("--collector URL", "Address of the collector.", required=True),
    options.text("--token-file PATH", "File with the relay's token of the collector.", required=True),
    options.text("--store PATH", "SQLite file in which sealed reports wait.", required=True),
    options.text(
        "--client-tokens PATH",
        "File with the tokens of clients, one per line, each good for one report. Without it everybody may"
        " send, as often as they like.",
    ),
    options.whole("--min-batch N", "Forward batches of at least N reports.", default=1000),
    options.real(
        "--max-wait S",
        "Forward smaller ones after S seconds, if they reach the smallest batch of the manifest.",
        default=3600.0,
    ),
    options.whole(
        "--min-group smallest_group N", "Write incoming reports in groups of at least N.", default=10
    ),
    options.real("--rate R", "Requests per second of one address; 0 for no limit.", default=100.0),
)


@click.group(epilog=EPILOG)
def relay() -> None:
    """Pass on sealed reports in shuffled batches, so that the collector sees no client.

    The relay cannot read a report, and the collector cannot tell who sent it. Somebody else than the
    collector must run it: in one hand, both know everything but the items.
    """


@relay.command(epilog=EPILOG, short_help="Run a relay.")
@options.options(*LISTENING, *SERVE)
def serve(**values: object) -> None:
    """Run a relay until it is asked to stop. Sealed reports stay on disk until the collector has them."""
    try:
        from hushcount.service.relay.app import relay_application
        from hushcount.service.relay.relay import Relay, RelaySettings
        from hushcount.service.serve import Listening, run
        from hushcount.service.token_files import token_in, tokens_in
    except ImportError:
        raise DataError(NOT_INSTALLED) from None
    listening = {name: values.pop(name) for name in ("listen", "tls_cert", "tls_key", "proxies")}
    values["token"] = token_in(str(values.pop("token_file")))
    path = values["client_tokens"]
    values["client_tokens"] = None if path is None else tokens_in(str(path))
    made = Relay(RelaySettings(**values))  # type: ignore[arg-type]
    run(relay_application(made), Listening(**listening), made.groups.hurry)  # type: ignore[arg-type]
