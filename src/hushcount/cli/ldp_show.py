"""What people see of a campaign of the local model."""

from __future__ import annotations

from typing import Any

import click


def counted(aggregator: Any) -> str:
    """How many reports were counted, and how many were not for which reason."""
    refused = [f"{count:,} {reason}" for reason, count in aggregator.refused.items() if count]
    words = f"; refused: {', '.join(refused)}" if refused else ""
    return f"{aggregator.reports:,} reports counted{words}."


def facts(made: Any, zipf: float) -> dict[str, str]:
    """What a maker of a campaign wants to know before anybody has reported."""
    manifest = made.manifest
    known = {
        "campaign": manifest.id,
        "protocol": manifest.protocol,
        "epsilon": manifest.epsilon,
        "users": f"{manifest.users:,}",
        "item": f"{manifest.encoding.width} bits",
        "threshold": f"{manifest.parameters['threshold']:,} users",
    }
    for index, group in enumerate(manifest.groups):
        prefix = f"group {index + 1}: " if len(manifest.groups) > 1 else ""
        shares = ", ".join(f"{100 * share / 2**32:.3g}%" for share in group.shares)
        few = shares if len(group.shares) <= 8 else f"{len(group.shares)} equal parts"
        known[f"{prefix}questions, by share of users"] = few
        known[f"{prefix}response"] = f"{group.symbol_bits} bits, true with {group.probability / 2**64:.4f}"
    return known | _forecast(made, zipf)


def _forecast(made: Any, zipf: float) -> dict[str, str]:
    from hushcount.ldp.protocols.campaign import zipf_counts

    plan = getattr(made, "plan", None)
    if plan is None:
        return {}
    quality = plan.quality(zipf_counts(made.manifest.users, zipf, 10_000))
    return {
        "standard deviation of a rare item": f"{plan.deviation:,.0f} users",
        "least count found reliably": f"{plan.least_detectable:,.0f} users",
        "memory of the aggregator": f"{plan.memory / 1e6:,.0f} MB",
        f"if counts were rank^-{zipf:g}": f"precision {quality.precision:.3f}, recall {quality.recall:.3f}"
        f" of {quality.above_threshold} items above the threshold",
    }


def show_comparison(found: Any, release: Any, style: str | None) -> None:
    """What a simulation found, beside the truth."""
    from hushcount.cli import show
    from hushcount.releases.views.tables import TSV_ESCAPES, visible

    show.warn("Not private: a simulation shows true counts.")
    figures: dict[str, object] = {
        "users": release.guarantee.parameters["reports"],
        "threshold": release.floor,
        "published": len(found.rows),
        "heavy": found.heavy,
        "precision": found.precision,
        "recall": found.recall,
        "in_interval": found.in_interval,
    }
    if style == "json":
        show.print_json({"hushcount": 1, "kind": "simulation", **figures, "rows": list(found.rows)})
        return
    lines = ["key\tcount\tlower\tupper\ttrue"]
    for row in found.rows:
        lines.append("\t".join(visible(value).translate(TSV_ESCAPES) for value in row.values()))
    click.echo("".join(f"{line}\n" for line in lines).encode(), nl=False)
    show.say(
        (
            "Found",
            (
                f"{len(found.rows)} items, {found.heavy} truly held by at least {release.floor:,} users:"
                f" precision {found.precision:.3f}, recall {found.recall:.3f};"
                f" {100 * found.in_interval:.0f}% of the true counts lie in their intervals.",
            ),
        )
    )
