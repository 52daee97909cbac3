"""What people see: tables on standard output, words and progress on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from hushcount.privacy import EVENT, RESULT_ROW, PrivacyUnit

if TYPE_CHECKING:
    from rich.console import Console

    from hushcount.release import Release

TERMINAL_ROWS = 50
PIPE_WIDTH = 100


def announce(sql: str | None) -> None:
    """The first line, before hours of work: what will be protected."""
    headline(EVENT if sql is None else RESULT_ROW)


def headline(unit: PrivacyUnit) -> None:
    """The first line: what is protected."""
    from hushcount.results import accuracy

    say("", (accuracy.headline(unit),))


def show_release(release: Release, style: str | None, limit: int | None) -> None:
    """Print the table to standard output and the statements to standard error."""
    if style == "json":
        _print_bytes(release.to_json() + "\n")
        return
    if style == "table" or sys.stdout.isatty():
        _print_table(release, limit)
    else:
        from hushcount.results.tables import tsv

        _print_bytes("".join(f"{line}\n" for line in tsv(release)))
    _statements(release)


def say(title: str, sentences: Sequence[str]) -> None:
    """Words for people: a title and its sentences, wrapped beside it."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = _console(err=True)
    if not title:
        console.print(Text(" ".join(sentences), style="bold yellow"))
        return
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for index, sentence in enumerate(sentences):
        grid.add_row("" if index else title, Text(sentence))
    console.print(Padding(grid, (0, 0, 0, 0)))


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int | None], None] | None]:
    """A bar with megabytes, percent and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as parts

    bar = parts.Progress(
        parts.SpinnerColumn(),
        parts.BarColumn(),
        parts.TaskProgressColumn(),
        parts.DownloadColumn(),
        parts.TimeRemainingColumn(),
        console=_console(err=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda done, size: bar.update(task, completed=done, total=size)


def print_json(values: dict[str, object]) -> None:
    """One JSON object on standard output."""
    _print_bytes(json.dumps(values, ensure_ascii=False) + "\n")


def _print_table(release: Release, limit: int | None) -> None:
    from hushcount.results.tables import rich_table

    console = _console(err=False)
    rows = None if limit is not None else TERMINAL_ROWS
    console.print()
    console.print(rich_table(release, rows))
    console.print()
    if len(release) == 0:
        say("Empty", ("No key is frequent enough to be published at this budget.",))
    if rows is not None and len(release) > rows:
        say("More", (f"{len(release) - rows:,} further rows: --limit, --output or a pipe shows them.",))


def _statements(release: Release) -> None:
    from hushcount.results.accuracy import accuracy_sentences, privacy_sentences

    say("Privacy", privacy_sentences(release))
    say("Accuracy", accuracy_sentences(release))
    if release.notes:
        say("Notes", release.notes)


def _console(err: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=err, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


def _print_bytes(text: str) -> None:
    """UTF-8 whatever the locale says: the output is for programs."""
    click.echo(text.encode("utf-8", "surrogatepass"), nl=False)
