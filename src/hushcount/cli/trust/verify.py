"""`hushcount verify`: check a release file without its data; `hushcount explain`: what it rests on."""

from __future__ import annotations

import sys

import click

from hushcount.cli import options, show

VERIFY = """\b
Example:
  hushcount verify top.json --public-key publisher.pub
"""
EXPLAIN = """\b
Example:
  hushcount explain floor
"""
KEY = options.text("--public-key FILE", "The Ed25519 public key (PEM) by which the file must be signed.")
LEDGER = options.text("--ledger LEDGER", "The ledger, or its export, that must have recorded the release.")
MARKS = {True: "follows", False: "DOES NOT FOLLOW", None: "not checked"}


@click.command(epilog=VERIFY)
@click.argument("release")
@options.options(KEY, LEDGER, options.JSON)
def verify(release: str, public_key: str | None, ledger: str | None, style: str | None) -> None:
    """Check that what the file RELEASE states follows from its budget and public numbers.

    RELEASE is the .json of a table, tree or sample, or an oracle file. Works offline and without the
    data: the digest, the signature, the calibration of noise and threshold, the stated accuracy,
    every published count, and the proof. Exit code 1 if something does not follow.
    """
    from hushcount.jobs.trust.verify import verify as job

    found = job(release, public_key=public_key, ledger=ledger)
    if style == "json":
        listed = [
            {"what": each.what, "follows": each.follows, "sentence": each.sentence} for each in found.findings
        ]
        show.print_json({"holds": found.holds, "findings": listed})
    else:
        for each in found.findings:
            show.print_facts({f"{each.what}: {MARKS[each.follows]}": each.sentence})
    if not found.holds:
        sys.exit(1)


@click.command(epilog=EXPLAIN)
@click.argument("mechanism", required=False)
def explain(mechanism: str | None) -> None:
    """Print what is proved of MECHANISM, and the proof.

    Without MECHANISM, list all mechanisms with their claims.
    """
    from hushcount.jobs.trust import explain as job

    if mechanism is None:
        for name in job.names():
            click.echo(f"{name}: {job.explain(name).claim}")
        return
    explanation = job.explain(mechanism)
    click.echo(f"Claim: {explanation.claim}")
    click.echo(f"Assumes: {'; '.join(explanation.assumptions) or 'nothing further'}.")
    click.echo(f"Proof: {explanation.page}\n\n{explanation.proof()}", nl=False)
