"""docs/peers.md, written from the results of the contests."""

from __future__ import annotations

from typing import Any

HEAD = """# Beside other libraries

The same file and the same budget for everybody, each library in an environment of its own, pinned by a lock
file below `requirements/peers`. Made by `make peers` (the contests of 20 million rows by `make peers-full`)
from `benchmarks/peers/results.json`; each table says when. Machine: {cores} cores ({processor}),
{memory_gb} GB.

- Text keys of 8 to 30 characters by Zipf's law of power 1.2 over 2^31 keys; a user has ten rows on average.
  In the local model, Zipf of power 1.1.
- *published*: keys in the table. *recall*: how many of the thousand keys that are truly most frequent are
  among them. *error*: the median of |published - true| over those. Nobody published a key that does not
  occur, unless a table says so.
- *CPU*: processor time of all processes and threads of the program, from its start until its result is in
  memory, with loading its libraries. *MB*: the most memory that its processes held. A program may take
  {limit:g} s.
- A library that needs a bound on the keys of a user gets {max_keys}. Counts of users at other libraries are
  of the rows that their own bound leaves.

What the libraries are asked for is in `benchmarks/peers/programs`. OpenDP is asked by its queries of
polars; its default choice of a user's groups fails in this version, so it keeps the first. PipelineDP
compares the count itself with the threshold, and has Gaussian noise from four keys of a user on, as
hushcount has. Tumult finds the keys with half of epsilon and counts them with the other half. pure-ldp's
clients and servers are called one by one, as ours are.

## In short

"""
TABLE = "| | mechanism | published | recall | error | CPU, s | MB |\n|---|---|---|---|---|---|---|\n"


def page(results: dict[str, Any]) -> str:
    """Return the page."""
    from benchmarks.peers.__main__ import LIMIT
    from benchmarks.peers.contests import MAX_KEYS

    head = HEAD.format(**results["machine"], limit=LIMIT, max_keys=MAX_KEYS)
    found = results["contests"]
    return head + "\n".join([in_short(found), *(part(contest) for contest in found.values())])


def part(contest: dict[str, Any]) -> str:
    """Return the table of one contest."""
    budget = f"epsilon {contest['epsilon']:g}"
    if "local" not in contest["title"]:
        budget += f", delta {contest['delta']:g}"
    about = f"{contest['rows']:,} rows of {contest['keys']:,} keys, {budget}; {contest['date']}."
    return f"## {contest['title']}\n\n{about}\n\n{TABLE}" + "".join(map(row, contest["entrants"]))


def row(entrant: dict[str, Any]) -> str:
    """Return the line of one entrant."""
    if "failed" in entrant:
        return f"| {entrant['name']} | | {entrant['failed']} | | | | |\n"
    error = "" if entrant["error"] is None else f"{entrant['error']:,.1f}"
    absent = f" ({entrant['absent']} absent)" if entrant["absent"] else ""
    version = f" {entrant['version']}" if not entrant["name"].startswith("hushcount") else ""
    return (
        f"| {entrant['name'].partition(',')[0]}{version}{''.join(entrant['name'].partition(',')[1:])} "
        f"| {entrant['mechanism']} | {entrant['published']:,}{absent} "
        f"| {entrant['recall']:.3f} | {error} | {entrant['cpu_s']:.1f} | {entrant['peak_mb']:,.0f} |\n"
    )


def in_short(found: dict[str, Any]) -> str:
    """Return a line for each other library that protects: keys, and processor time."""
    lines = []
    for contest in found.values():
        first, *others = contest["entrants"]
        for other in others:
            if "failed" not in other and other["name"] in ("OpenDP", "PipelineDP", "Tumult"):
                keys = f"{first['published']:,} keys where {other['name']} publishes {other['published']:,}"
                times = other["cpu_s"] / first["cpu_s"]
                lines.append(
                    f"- {contest['title']}, {contest['rows']:,} rows: {keys}, in 1/{times:.0f} of its CPU.\n"
                )
    return "".join(lines)
