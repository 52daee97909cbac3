"""What papers claim of their experiments, and what was found of each claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

HOLDS, CHANGED, FAILS = "holds", "holds with our change", "fails"
HEAD = "| where | what the paper says | verdict | what was found | figure |\n|---|---|---|---|---|\n"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper: where it is printed, what it says in our words, the verdict, and the numbers.

    A claim about a mechanism that is not private as printed holds with our change at best.
    """

    where: str
    says: str
    verdict: str
    found: str
    figure: str = ""


def judged(as_printed: bool, with_our_change: bool = False) -> str:
    """Return the verdict of a claim."""
    if as_printed:
        return HOLDS
    return CHANGED if with_our_change else FAILS


def table(claims: Iterable[Claim], folder: str = "") -> str:
    """Return the claims as a table, whose links are read from a page beside or above `folder`."""
    lines = []
    for each in claims:
        figure = f"[{each.figure}]({folder}figures/{each.figure}.svg)" if each.figure else ""
        verdict = f"**{each.verdict}**" if each.verdict == FAILS else each.verdict
        lines.append(f"| {each.where} | {each.says} | {verdict} | {each.found} | {figure} |\n")
    return HEAD + "".join(lines)
