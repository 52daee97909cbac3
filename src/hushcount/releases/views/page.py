"""Everything that is shown of a release, worked out at once: the table and what it means."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.releases.oracle import CONTENTS, Oracle
from hushcount.releases.other import other_sentences
from hushcount.releases.release import Release
from hushcount.releases.views import words
from hushcount.releases.views.tables import WIDTH, rich_table, tsv, visible, visible_json
from hushcount.releases.views.trees import rich_tree

if TYPE_CHECKING:
    from rich.table import Table

    from hushcount.releases.tree import TreeRelease

TERMINAL_ROWS = 50
REPR_ROWS = 20
AT_ONCE = 1 << 16  # rows; longer tables are printed block by block

Group = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Screen:
    """How a page is shown: in which style, on what, how wide, and how many rows were asked for."""

    style: str | None
    terminal: bool
    width: int
    limit: int | None = None

    @property
    def framed(self) -> bool:
        """Whether the table is drawn for people."""
        return self.style == "table" or (self.terminal and self.style != "json")


@dataclass(frozen=True, slots=True)
class Page:
    """The headline, the table as text or as a frame, and groups of sentences, all safe on a terminal."""

    headline: str
    text: Iterable[str]
    frame: Table | None
    groups: tuple[Group, ...]


def page_of(release: Release | TreeRelease, screen: Screen) -> Page:
    """Return what is shown of a release."""
    headline = visible(words.headline(release.guarantee.unit))
    if screen.style == "json":
        whole = release.to_json() + "\n"
        return Page(headline, [visible_json(whole) if screen.terminal else whole], None, ())
    if screen.framed:
        frame, more = _frame(release, screen)
        return Page(headline, (), frame, _groups(release, more, framed=bool(len(release))))
    blocks = tsv(release, screen.terminal)
    return Page(headline, list(blocks) if len(release) <= AT_ONCE else blocks, None, _groups(release, ()))


def text_of(release: Release | TreeRelease) -> str:
    """Return what Python shows of a release: what it is, and its first rows as a table."""
    from rich.console import Console

    promise, things = release.guarantee, "rows" if isinstance(release, Release) else "nodes"
    head = (
        f"{type(release).__name__} of {len(release):,} {things}: ({promise.epsilon:g}, {promise.delta:g})-"
        f"differential privacy for {promise.unit.one}, by {promise.mechanism}"
    )
    frame = rich_table(release, REPR_ROWS) if isinstance(release, Release) else rich_tree(release, REPR_ROWS)
    text = io.StringIO()
    if len(release):
        # In a notebook rich would show the table itself, beside what the notebook shows.
        plain = Console(file=text, width=WIDTH, color_system=None, highlight=False, force_jupyter=False)
        plain.print(frame)
    left = len(release) - REPR_ROWS
    more = f"{left:,} further {things} are in release.table" if left > 0 else ""
    lines = [head, *text.getvalue().splitlines(), more]
    return "\n".join(visible(line.rstrip()) for line in lines if line.strip())


def oracle_page(oracle: Oracle, headed: bool) -> Page:
    """Return what is shown of an oracle: what it protects and how accurate it is; `headed` says it first."""
    promise = oracle.guarantee
    groups = (
        (
            "Privacy",
            (promise.statement(), f"Assumes: {'; '.join(promise.assumed)}.", f"Proof: {promise.proof}."),
        ),
        ("Accuracy", (words.oracle_sentence(oracle, 0.95),)),
        ("Notes", (CONTENTS, *oracle.notes)),
    )
    headline = visible(words.headline(promise.unit)) if headed else ""
    return Page(headline, (), None, _escaped(groups))


def _frame(release: Release | TreeRelease, screen: Screen) -> tuple[Table, tuple[str, ...]]:
    """Return the table for people, and a sentence on the rows that it leaves out."""
    rows = TERMINAL_ROWS if screen.limit is None else None
    left = 0 if rows is None else max(len(release) - rows, 0)
    if isinstance(release, Release):
        more = f"{left:,} further rows: --limit, --output or a pipe shows them."
        return rich_table(release, rows, screen.width), (more,) if left else ()
    more = f"{left:,} further nodes: --output or a pipe shows them."
    return rich_tree(release, TERMINAL_ROWS, screen.width), (more,) if left else ()


def _groups(release: Release | TreeRelease, more: tuple[str, ...], framed: bool = False) -> tuple[Group, ...]:
    """Return the sentences beside the table, with escapes for what a terminal would obey.

    The foot of a table with a frame says already how much all other keys have.
    """
    other = other_sentences(release)[framed:] if isinstance(release, Release) else ()
    empty = words.empty_sentences(release) if len(release) == 0 else ()
    groups = (
        ("More", more),
        ("Empty", empty),
        ("Other keys", other),
        ("Privacy", words.privacy_sentences(release)),
        ("Accuracy", words.accuracy_sentences(release)),
        ("Notes", release.notes),
    )
    return _escaped(groups)


def _escaped(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Return the groups as they may be shown on a terminal."""
    return tuple((title, tuple(map(visible, sentences))) for title, sentences in groups)
