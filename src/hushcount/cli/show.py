"""What people see: tables on standard output, messages and progress on standard error."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from hushcount import signals
from hushcount.cli.wording import with_options
from hushcount.errors import BudgetExceeded, DataError, system_reason

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console, RenderableType
    from rich.table import Table

    from hushcount.jobs.ldp.dry_run import DryReports
    from hushcount.jobs.request import Progress
    from hushcount.jobs.trust.dry_run import DryRun
    from hushcount.releases.feeds.table import FeedTable
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease
    from hushcount.releases.views.page import Page


USUAL, QUIET, VERBOSE = "usual", "quiet", "verbose"
_level = [USUAL]  # how much is said besides tables and errors, of the command that runs


def speak(level: str) -> None:
    """Say no messages besides warnings and errors (quiet), as many as usual, or more (verbose)."""
    _level[0] = level


def warn(sentence: str) -> None:
    """Print one sentence that must not be overlooked."""
    from rich.text import Text

    from hushcount.releases.views.tables import visible

    _print(Text(visible(sentence), style="bold yellow"), sys.stderr)


def show_release(release: Release | TreeRelease, style: str | None, limit: int | None = None) -> None:
    """Print the table to standard output, and before and after it to standard error what it means."""
    from hushcount.releases.views.page import Screen, page_of
    from hushcount.releases.views.words import detail_sentences

    signals.withdraw(signals.NOTHING, signals.PRINTED)
    show_page(page_of(release, Screen(style, sys.stdout.isatty(), width_of(sys.stdout), limit)))
    if _level[0] == VERBOSE:
        say(("Details", detail_sentences(release)))


def show_feed(found: FeedTable, style: str | None) -> None:
    """Print a table of a feed to standard output, and what it means to standard error."""
    if style == "json":
        _print_text(found.to_json() + "\n")
        return
    if style == "table" or sys.stdout.isatty():
        from hushcount.releases.views.feeds import feed_frame

        print_table(feed_frame(found, width_of(sys.stdout)))
    else:
        print_tsv(found.table)
    say(("Privacy", (found.statement,)), ("Meaning", found.sentences))


def show_dry(found: DryRun | DryReports, style: str | None) -> None:
    """Print what would be released, as names and sentences or as JSON."""
    if style == "json":
        print_json({"hushcount": 1, "kind": "dry-run", **found.to_dict()})
    else:
        print_facts(found.facts)


def show_dry_run(found: DryRun, style: str | None) -> None:
    """Print what a release would be; raise if the ledger would refuse it."""
    show_dry(found, style)
    if found.ledger is not None and found.refused:
        raise BudgetExceeded(found.ledger.refusal)


def show_page(page: Page) -> None:
    """Print a page: the table to standard output, everything else to standard error."""
    from rich.text import Text

    if page.headline and _level[0] != QUIET:
        _print(Text(page.headline, style="bold yellow"), sys.stderr)
    for block in page.text:
        _print_bytes(block, sys.stdout)
    if page.frame is not None:
        print_table(page.frame)
    if page.groups and _level[0] != QUIET:
        context = click.get_current_context(silent=True)
        asked = click.Command("none") if context is None else context.command
        groups = [(title, with_options(sentences, asked)) for title, sentences in page.groups]
        _print(_grid(groups), sys.stderr)


def print_tsv(table: pa.Table) -> None:
    """Print a table as tab-separated text, with escapes for what a terminal would obey."""
    from hushcount.releases.views.tables import tsv_of

    for block in tsv_of(table, terminal=sys.stdout.isatty()):
        _print_bytes(block, sys.stdout)


def say(*groups: tuple[str, Sequence[str]]) -> None:
    """Print messages to standard error: titles, and beside them their sentences; text is escaped."""
    if _level[0] == QUIET:
        return
    from hushcount.releases.views.tables import visible

    shown = [(visible(title), [visible(sentence) for sentence in sentences]) for title, sentences in groups]
    _print(_grid(shown), sys.stderr)


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values to standard output: aligned on a terminal, tab-separated elsewhere."""
    if sys.stdout.isatty():
        from hushcount.releases.views.tables import visible

        _print(_grid([(name, [visible(value)]) for name, value in facts.items()]), sys.stdout)
    else:
        from hushcount.releases.views.tables import TSV_ESCAPES

        lines = (f"{name}\t{value.translate(TSV_ESCAPES)}\n" for name, value in facts.items())
        _print_bytes("".join(lines), sys.stdout)


def _grid(groups: Iterable[tuple[str, Sequence[str]]]) -> Table:
    """Return titles with their sentences beside them."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for title, sentences in groups:
        for index, sentence in enumerate(sentences):
            grid.add_row("" if index else title, Text(sentence))
    return grid


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Show megabytes, percent and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty() or _level[0] == QUIET:
        yield None
        return
    from rich import progress as parts

    bar = parts.Progress(
        parts.SpinnerColumn(),
        parts.BarColumn(),
        parts.TaskProgressColumn(),
        parts.TextColumn("{task.description}"),
        parts.TimeRemainingColumn(),
        console=_console(sys.stderr),
        transient=True,
    )
    with bar:
        task = bar.add_task("starting", total=None)
        yield lambda done, size: bar.update(
            task, completed=done, total=size, description=megabytes(done, size)
        )


def megabytes(done: int, size: int | None) -> str:
    """Return how much has been read, in words.

    >>> megabytes(1_500_000, 12_000_000)
    '1.5 of 12.0 MB'
    """
    if size is not None:
        return f"{done / 1e6:,.1f} of {size / 1e6:,.1f} MB"
    return f"{done / 1e6:,.1f} MB" if done else "counting"


def print_json(values: dict[str, object]) -> None:
    """Print one JSON object to standard output."""
    _print_text(json.dumps(values, ensure_ascii=False) + "\n")


def print_table(table: Table) -> None:
    """Print a framed table to standard output."""
    for part in ("", table, ""):
        _print(part, sys.stdout)


def _print(words: RenderableType, stream: TextIO) -> None:
    """Print in colours on a terminal, as plain lines elsewhere."""
    if stream.isatty():
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without some characters shows the others
        with _outlived(stream):
            _console(stream).print(words)
        return
    text = io.StringIO()
    _console(text, width_of(stream)).print(words)
    _print_bytes("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()), stream)


def width_of(stream: TextIO) -> int:
    """Return how many characters a line may have: as COLUMNS or the terminal says, or 100."""
    from hushcount.releases.views.tables import WIDTH

    if stream.isatty():
        return _console(stream).width
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else WIDTH


def _console(stream: TextIO, width: int | None = None) -> Console:
    from rich.console import Console

    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _print_text(text: str) -> None:
    """Print JSON to standard output; on a terminal with escapes for what it would obey."""
    from hushcount.releases.views.tables import visible_json

    _print_bytes(visible_json(text) if sys.stdout.isatty() else text, sys.stdout)


def _print_bytes(text: str, stream: TextIO) -> None:
    """Print UTF-8 whatever the locale says: what is not a terminal is a program or a file."""
    with _outlived(stream):
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False, err=stream is sys.stderr)


@contextmanager
def _outlived(stream: TextIO) -> Iterator[None]:
    """Go on in silence if the reader has closed the pipe, as `head` does; raise for any other failure."""
    failure: DataError | None = None
    try:
        yield
    except BrokenPipeError:  # what is still printed goes nowhere, and the run ends as if all had been read
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except OSError as error:
        name = "error" if stream is sys.stderr else "output"
        failure = DataError(f"Cannot write to standard {name}: {system_reason(error)}.")
    if failure is not None:
        raise failure
