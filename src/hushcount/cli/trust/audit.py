"""`hushcount audit`: try to refute the claims of the mechanisms of this package."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from hushcount.cli import options
from hushcount.cli.show import print_json
from hushcount.privacy import check_delta, unwarned

if TYPE_CHECKING:
    from hushcount.audit.shipped import Finding

ALL = "all"
NO_PROOF = "An audit can refute a claim, not prove it; hushcount explain shows the proofs."
TIGHT = 0.8  # of a claim: less is explained
LOOSE = (
    " A claim that is far from spent is more careful than it need be; docs/audit.md says which are, and why."
)
SHARE = "of the claim"
HEADER = ("mechanism", "claim", "spends at least", SHARE, "verdict", "neighbours")
EPILOG = """\b
Example:
  hushcount audit floor
"""


@click.command(epilog=EPILOG)
@click.argument("mechanism")
@options.real("--epsilon E", "Calibrate the mechanism at E.", default=1.0)
@options.real(
    "--delta D",
    "Calibrate it at D; the claim tested is the smallest delta with the same noise and threshold.",
    default=1e-6,
)
@options.flag("--json as_json", "Print one JSON object instead of a table.")
def audit(mechanism: str, epsilon: float, delta: float, as_json: bool) -> None:
    """Try to refute the privacy claim of MECHANISM, or of all.

    Enumerates what the mechanism publishes for the worst neighbouring data, and compares the delta that it
    spends for sure with the one it claims. An audit proves nothing: it refutes, or fails to. The exit code is
    1 if a claim is refuted.
    """
    from hushcount.audit.shipped import audit_shipped, check_name, names

    budget = unwarned(epsilon, check_delta(delta))
    asked = names() if mechanism == ALL else [check_name(mechanism)]
    found = [audit_shipped(name, budget) for name in _with_progress(asked)]
    if as_json:
        print_json(_json(found, mechanism == ALL))
    else:
        _show(found)
    if any(each.refuted for each in found):
        sys.exit(1)


def _json(found: list[Finding], every: bool) -> dict[str, object]:
    """Return one finding, or all of them with the verdict on all."""
    if not every:
        return found[0].to_dict()
    return {
        "refuted": any(each.refuted for each in found),
        "mechanisms": [each.to_dict() for each in found],
    }


def _with_progress(names: list[str]) -> Iterable[str]:
    """Yield the names; on a terminal a bar shows how many are left."""
    from rich.console import Console
    from rich.progress import track

    silent = not sys.stderr.isatty()
    return track(names, "auditing", console=Console(stderr=True), transient=True, disable=silent)


def _show(found: list[Finding]) -> None:
    """Print a table: what is claimed, what is spent for sure, the verdict, the neighbours that show it."""
    rows = [_row(each) for each in found]
    if sys.stdout.isatty():
        _show_framed(rows)
    else:
        for row in (HEADER, *rows):
            click.echo("\t".join(row))
    refuted = [each.mechanism for each in found if each.refuted]
    verdict = f"Refuted: {', '.join(refuted)}." if refuted else "No claim is refuted."
    loose = LOOSE if any(each.share < TIGHT for each in found) else ""
    click.echo(f"{verdict} {NO_PROOF}{loose}", err=True)


def _row(finding: Finding) -> tuple[str, ...]:
    """Return the cells of one finding."""
    return (
        finding.mechanism,
        f"({finding.epsilon:g}, {finding.delta:.3g})",
        _lower(finding),
        f"{finding.share:.1%}" if finding.share >= 0.01 else "under 1%",
        "REFUTED" if finding.refuted else "not refuted",
        finding.pair,
    )


def _show_framed(rows: list[tuple[str, ...]]) -> None:
    """Draw the table on a terminal; refuted claims stand out."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, highlight=False)
    for name in HEADER:
        right = name == SHARE
        table.add_column(
            name, justify="right" if right else "left", overflow="fold", no_wrap=name != HEADER[-1]
        )
    for row in rows:
        table.add_row(*row, style="bold red" if "REFUTED" in row else "")
    Console(markup=False, emoji=False).print(table)


def _lower(finding: Finding) -> str:
    """Return what is spent for sure: of delta, or of epsilon if delta is 0."""
    if finding.epsilon_lower is None or finding.refuted:
        return f"delta {finding.delta_lower:.3g}"
    return f"epsilon {finding.epsilon_lower:.4g}"
