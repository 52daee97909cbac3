"""`hushcount explain`: the claim, the assumptions and the proof of a mechanism."""

from __future__ import annotations

import click

EPILOG = """\b
Example:
  hushcount explain floor
"""


@click.command(epilog=EPILOG)
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
