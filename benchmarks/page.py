"""docs/benchmarks.md, written from the figures of the last full run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.tables import Table, tables

INTRODUCTION = """# Benchmarks

Measured on {date} by `{command}`, all in one run; this page is written from `benchmarks/latest.json` by
`python -m benchmarks --page`.

Machine: {cores} cores ({processor}), {memory_gb} GB, {system}, Python {python}; {libraries}.

How: CPU time of all threads, contenders take turns, medians of {rounds} rounds; each contender has a process
of its own, and kernels are compiled beforehand.

- "CPU ns" is for one event; "speed" is relative to SpaceSaving on the same keys (two figures where k does
  not matter: for 1000 and 100,000); "MB" is the peak of memory during a count above what the process held
  with its libraries and keys loaded. Keys are drawn below 2^31.
- The limit loop only hashes, probes and increments in a table of a power of two slots at load at most 0.5
  that already holds the k heaviest keys.
- Apache DataSketches is fed through its Python package, which takes one Python object at a time: from the
  same array as the others, and as "(list)" from a list of objects made beforehand, without the conversion.
  The required figures are those on the same array.
- DuckDB and polars count exactly, with two threads.
- In the Parquet contest every run is a process with two threads, and the file is in the system's cache;
  "job" is without starting Python and loading libraries.
"""

ONCE = """## Measured once

On 2026-11-18, on the same kind of machine while other programs used it, by CPU time of all threads:

- 200,000,000 rows of 20,000,000 users (`python -m benchmarks.users --rows 200000000`), text keys, at most 8
  keys of a user, counted exactly on disk: 35.8 s CPU, 26.2 s in all, at most 813 MB.
- 20,000,000 rows of 2,000,000 users, three runs in turn with DuckDB, which counted the different pairs of
  user and key of the same file with two threads and did nothing else: 5.0 s CPU and 551 MB, with starting
  Python; DuckDB 3.6 s. The same table took 6.2 s before users and keys were hashed by compiled loops.
"""


def page(results: dict[str, Any]) -> str:
    """The whole page as Markdown."""
    machine = results["machine"]
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    words = {**machine, "libraries": libraries, "date": results["date"], "command": results["command"]}
    parts = [INTRODUCTION.format(**words, rounds=results["rounds"])]
    parts += ["\n".join(_markdown(table)) + "\n" for table in tables(results)]
    return "\n".join([*parts, ONCE])


def _markdown(table: Table) -> Iterator[str]:
    yield f"## {table.title}"
    yield ""
    yield _line(table.columns)
    yield _line(("---", *("---:" for _ in table.columns[1:])))
    yield from (_line(row) for row in table.rows)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
