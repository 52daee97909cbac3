"""Every job on every kind of data, put together in every way: what works, and what is refused.

`python -m tests.combinations` writes docs/combinations.md, which tests/acceptance/test_combinations_page.py
compares. A cell is a short program of commands or of Python; it works if all of it does.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "combinations.md"
JOBS = ("top", "tree", "sample", "oracle")
SOURCES = ("file", "SQL", "frame", "stdin")
WAYS = ("single", "merged", "shards", "checkpoint")
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
WORDS = ("--epsilon", "1", "--delta", "1e-6")
TREE = ("--hierarchy", "ipv4/8", "--threshold", "200")
OPTIONS = {"top": (), "tree": TREE, "sample": ("--rate", "0.01"), "oracle": ("--output", "oracle.hc")}
KIND = {
    "top": ("--kind", "space-saving"),
    "tree": ("--kind", "hierarchy", "--hierarchy", "ipv4/8"),
    "sample": ("--kind", "exact"),
    "oracle": ("--kind", "count-sketch"),
}
WORKS = "works"
PARTS = {"whole": 0, "a": 1, "b": 2}


class RefusedError(Exception):
    """What the program said when it refused."""


def addresses(part: str) -> list[str]:
    """Return the keys of a part of the data: a few networks, most of them with many events."""
    offset = PARTS[part]
    return [f"10.{(i * i + offset) % 7}.0.{i % 3}" for i in range(6000)]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(outcomes()))


def page(found: dict[tuple[str, str, str], str]) -> str:
    """Return the page of what was found."""
    lines = [
        "# What goes with what",
        "",
        "Four jobs, four kinds of data, four ways to put parts together. *Single*: one run over all data.",
        "*Merged*: parts are counted apart into sketches, which are added up and then published. *Shards*:",
        "the sketches of parts are published together; oracles of parts are published apart and added up.",
        "*Checkpoint*: a run that saves its progress and can be continued, for trees `--method streaming`.",
        "`python -m tests.combinations` writes this page, and a test runs every cell of it. A number stands",
        "for the sentence with which hushcount refuses, below the table.",
        "",
        "| job | data | " + " | ".join(WAYS) + " |",
        "|---|---|" + "---|" * len(WAYS),
    ]
    said: dict[str, int] = {}
    for job in JOBS:
        for source in SOURCES:
            cells = []
            for way in WAYS:
                outcome = found[job, source, way]
                if outcome != WORKS:
                    outcome = f"[{said.setdefault(outcome, len(said) + 1)}]"
                cells.append(outcome)
            lines.append(f"| `{job}` | {source} | " + " | ".join(cells) + " |")
    lines += ["", "Refusals:", ""]
    lines += [f"{number}. {sentence}" for sentence, number in said.items()]
    return "\n".join(lines) + "\n"


def outcomes() -> dict[tuple[str, str, str], str]:
    """Run every cell in a folder of its own."""
    return {cell: outcome(*cell) for cell in product(JOBS, SOURCES, WAYS)}


def outcome(job: str, source: str, way: str) -> str:
    """Return "works", or the sentence with which a cell is refused."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _write_data()
        run = _frame if source == "frame" else _commands
        try:
            run(job, source, way)
        except RefusedError as refused:
            return str(refused)
        return WORKS


def _write_data() -> None:
    for part in PARTS:
        Path(f"{part}.csv").write_text("ip\n" + "\n".join(addresses(part)) + "\n")


def _commands(job: str, source: str, way: str) -> None:
    """Do a job by commands, on files, queries or standard input."""
    if way in ("single", "checkpoint"):
        more = ("--checkpoint", "run.hc") if way == "checkpoint" else ()
        if job == "tree" and more:
            more += ("--method", "streaming")
        _command(source, "whole", job, *OPTIONS[job], *WORDS, *more)
        return
    like = ("--like", "a.hc") if job == "oracle" else ()
    if job == "oracle" and way == "shards":
        _command(source, "a", "oracle", *WORDS, "--output", "a.hc")
        _command(source, "b", "oracle", *WORDS, *like, "--output", "b.hc")
        _call("oracle", "merge", "a.hc", "b.hc", "--output", "both.hc")
        return
    _command(source, "a", "sketch", *KIND[job], "--output", "a.hc")
    _command(source, "b", "sketch", *KIND[job], *like, "--output", "b.hc")
    sketches = ["a.hc", "b.hc"]
    if way == "merged":
        _call("merge", "a.hc", "b.hc", "--output", "both.hc")
        sketches = ["both.hc"]
    if (job, way) in (("sample", "merged"), ("oracle", "merged")):
        _call(job, *sketches, *OPTIONS[job], *WORDS)
    else:
        _call("release", *sketches, *WORDS)


def _command(source: str, part: str, command: str, *words: str) -> None:
    """Run a command on a part of the data."""
    if source == "SQL":
        # Columns of CSV are declared, because a type that is guessed from rows would depend on them.
        reading = f"read_csv('{part}.csv', header=true, delim=',', quote='\"', columns={{'ip': 'VARCHAR'}})"
        _call(command, "--sql", f"SELECT ip FROM {reading}", *words)
    elif source == "file":
        _call(command, f"{part}.csv", "--column", "ip", *words)
    else:
        with _standard_input(Path(f"{part}.csv")):
            _call(command, "-", "--format", "csv", "--column", "ip", *words)


@contextlib.contextmanager
def _standard_input(path: Path) -> Iterator[None]:
    """Make standard input a pipe from which a file comes."""
    before, kept = sys.stdin, os.dup(0)
    with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as writer:
        os.dup2(writer.stdout.fileno(), 0)
        writer.stdout.close()
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        try:
            yield
        finally:
            sys.stdin.close()
            sys.stdin = before
            os.dup2(kept, 0)
            os.close(kept)


def _call(*words: str) -> None:
    """Run the program; raise what it says if it refuses."""
    from hushcount.cli.main import main as program

    if words[0] == "oracle" and words[1] != "merge":
        words = ("oracle", "build", *words[1:])

    said, shown = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(shown):
        code = program(list(words))
    if code:
        said.flush()
        raise RefusedError(said.buffer.getvalue().decode().strip().splitlines()[-1])


def _frame(job: str, _source: str, way: str) -> None:
    """Do a job by Python, on data frames of pandas."""
    import pandas

    import hushcount as hc
    from hushcount.errors import HushcountError

    def frame(part: str) -> pandas.DataFrame:
        return pandas.DataFrame({"ip": addresses(part)})

    options = {"tree": {"hierarchy": "ipv4/8", "threshold": 200}, "sample": {"rate": 0.01}}.get(job, {})
    one_call: dict[str, Callable[..., object]] = {name: getattr(hc, name) for name in JOBS}
    new: dict[str, Callable[[], object]] = {
        "top": lambda: hc.SpaceSaving(counters=1024),
        "tree": lambda: hc.HierarchySketch("ipv4/8", 1024),
        "sample": hc.Exact,
        "oracle": lambda: hc.CountSketch(5, 1024, seed="shared", max_weight=1),
    }
    try:
        if way in ("single", "checkpoint"):
            more = {"checkpoint": "run.hc"} if way == "checkpoint" else {}
            if job == "tree" and more:
                more["method"] = "streaming"
            one_call[job](frame("whole"), column="ip", **options, **more, **BUDGET)
            return
        if job == "oracle" and way == "shards":
            first = hc.oracle(frame("a"), column="ip", **BUDGET)
            first.merge(hc.oracle(frame("b"), column="ip", like=first, **BUDGET))
            return
        sketches = [new[job](), new[job]()]
        for sketch, part in zip(sketches, ("a", "b"), strict=True):
            sketch.update(frame(part)["ip"])
        whole = sketches[0].merge(sketches[1]) if way == "merged" else sketches
        if (job, way) in (("sample", "merged"), ("oracle", "merged")):
            one_call[job](whole, **options, **BUDGET)
        else:
            hc.release(whole, **BUDGET)
    except HushcountError as error:
        raise RefusedError(str(error)) from None


if __name__ == "__main__":
    main()
