"""What `hushcount ldp` shows: a new campaign, and a simulation beside the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hushcount.cli import show

if TYPE_CHECKING:
    from hushcount.jobs.ldp.campaigns import Campaign, Quality, Terms
    from hushcount.jobs.ldp.tables import Comparison
    from hushcount.releases.release import Release

SHARES_SHOWN = 8


def show_campaign(made: Campaign, quality: Quality | None, zipf: float, style: str | None) -> None:
    """Print what a campaign asks and what it is expected to find, and warn if that is nothing."""
    manifest, plan = made.manifest, made.plan
    if plan is not None and plan.least_detectable > manifest.users:
        show.warn(
            f"With {manifest.users:,} users and epsilon {manifest.epsilon} no item can be found reliably: the"
            f" smallest detectable count is {plan.least_detectable:,.0f} users."
            " Use more users or a larger epsilon."
        )
    if style == "json":
        show.print_json(_figures(made))
        return
    show.print_facts(_facts(made) | _forecast(made, quality, zipf))


def _figures(made: Campaign) -> dict[str, object]:
    """Return what a program needs to know about a new campaign."""
    manifest, plan = made.manifest, made.plan
    claim = manifest.terms.central
    return {
        "hushcount": 1,
        "kind": "campaign",
        "campaign": manifest.id,
        "protocol": manifest.protocol,
        "epsilon": float(manifest.epsilon),
        "users": manifest.users,
        "reports_per_user": manifest.reports,
        "symbol_bits": [group.symbol_bits for group in manifest.groups],
        "threshold": manifest.parameters["threshold"],
        "smallest_detectable": None if plan is None else plan.least_detectable,
        "central": None if claim is None else {"epsilon": claim[0], "delta": claim[1]},
        "min_batch": manifest.terms.min_batch,
    }


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
    if manifest.reports > 1:
        facts["reports per user"] = f"{manifest.reports}, at epsilon {manifest.groups[0].epsilon} each"
    facts |= _terms(manifest.terms)
    for index, group in enumerate(manifest.groups):
        prefix = f"group {index + 1}: " if len(manifest.groups) > 1 else ""
        bits = "1 bit" if group.symbol_bits == 1 else f"{group.symbol_bits} bits"
        facts[f"{prefix}questions, by share of users"] = shares(group.shares)
        truthful = f"truthful with probability {group.probability / 2**64:.2f}"
        facts[f"{prefix}each report"] = f"{bits}, {truthful}"
    return facts


def _terms(terms: Terms) -> dict[str, str]:
    """Return who runs a campaign and what they promise, as far as it is said."""
    named = {"collector": terms.collector, "relay": terms.relay}
    facts = {what: name for what, name in named.items() if name}
    facts["reports are deleted"] = f"{terms.retention_days} days after the end"
    if terms.central is not None:
        epsilon, delta = terms.central
        facts["central guarantee"] = (
            f"({epsilon:g}, {delta:g}) of shuffled batches of at least {terms.min_batch:,} honest reports"
        )
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
