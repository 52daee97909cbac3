"""What people see: tables on standard output, words and progress on standard error."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from hushcount.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from hushcount.jobs.run import Progress
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease

TERMINAL_ROWS = 50
PIPE_WIDTH = 100


def warn(sentence: str) -> None:
    """One sentence that must not be overlooked."""
    from rich.text import Text

    _print(Text(sentence, style="bold yellow"), err=True)


def show_release(release: Release, style: str | None, limit: int | None) -> None:
    """Print the table to standard output, and before and after it to standard error what it means."""
    _show(release, style, lambda: _print_table(release, limit))


def show_tree(release: TreeRelease, style: str | None) -> None:
    """Print the tree as `show_release` prints a table."""
    _show(release, style, lambda: _print_tree(release))


def _show(release: Release | TreeRelease, style: str | None, print_table: Callable[[], None]) -> None:
    from hushcount.releases.views.words import headline

    warn(headline(release.guarantee.unit))
    if style == "json":
        _print_bytes(release.to_json() + "\n")
        return
    if style == "table" or sys.stdout.isatty():
        print_table()
    else:
        from hushcount.releases.views.tables import tsv

        _print_bytes("".join(f"{line}\n" for line in tsv(release)))
    _statements(release)


def say(*groups: tuple[str, Sequence[str]]) -> None:
    """Words for people on standard error: titles, and beside them their sentences."""
    _print(_grid(groups), err=True)


def print_facts(facts: Mapping[str, str]) -> None:
    """Names and values on standard output: aligned on a terminal, tab-separated elsewhere."""
    if sys.stdout.isatty():
        _print(_grid([(name, [value]) for name, value in facts.items()]), err=False)
    else:
        _print_bytes("".join(f"{name}\t{value}\n" for name, value in facts.items()))


def _grid(groups: Iterable[tuple[str, Sequence[str]]]) -> Table:
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
    """Megabytes, percent and time left on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
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
    """How much has been read, in words.

    >>> megabytes(1_500_000, 12_000_000)
    '1.5 of 12.0 MB'
    """
    if size is not None:
        return f"{done / 1e6:,.1f} of {size / 1e6:,.1f} MB"
    return f"{done / 1e6:,.1f} MB" if done else "counting"


def print_json(values: dict[str, object]) -> None:
    """One JSON object on standard output."""
    _print_bytes(json.dumps(values, ensure_ascii=False) + "\n")


def _print_table(release: Release, limit: int | None) -> None:
    from hushcount.releases.views.tables import rich_table

    rows = None if limit is not None else TERMINAL_ROWS
    _print("", err=False)
    _print(rich_table(release, rows), err=False)
    _print("", err=False)
    if len(release) == 0:
        say(("Empty", ("No key is frequent enough to be published at this budget.",)))
    if rows is not None and len(release) > rows:
        say(("More", (f"{len(release) - rows:,} further rows: --limit, --output or a pipe shows them.",)))


def _print_tree(release: TreeRelease) -> None:
    from hushcount.releases.views.trees import rich_tree

    _print("", err=False)
    _print(rich_tree(release, TERMINAL_ROWS), err=False)
    _print("", err=False)
    if len(release) == 0:
        say(("Empty", ("No node is frequent enough to be published at this threshold.",)))
    if len(release) > TERMINAL_ROWS:
        say(("More", (f"{len(release) - TERMINAL_ROWS:,} further nodes: --output or a pipe shows them.",)))


def _statements(release: Release | TreeRelease) -> None:
    from hushcount.releases.views.words import accuracy_sentences, privacy_sentences

    say(
        ("Privacy", privacy_sentences(release)),
        ("Accuracy", accuracy_sentences(release)),
        ("Notes", release.notes),
    )


def _print(words: Any, err: bool) -> None:
    """Print in colours on a terminal, as plain lines elsewhere."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without some characters shows the others
        _console(stream).print(words)
        return
    text = io.StringIO()
    _console(text).print(words)
    _print_bytes("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()), err)


def _console(stream: Any) -> Console:
    from rich.console import Console

    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def _print_bytes(text: str, err: bool = False) -> None:
    """UTF-8 whatever the locale says: what is not a terminal is a program or a file."""
    try:
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False, err=err)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or "input/output error").lower()
        failure = DataError(f"Cannot write to standard {'error' if err else 'output'}: {reason}.")
    else:
        return
    raise failure
