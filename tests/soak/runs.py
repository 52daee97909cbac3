"""Real runs of the program that are struck by signals at random moments, and what must hold of each."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

import hushcount as hc

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# Undoes what nohup and the background of a shell let a program inherit, or does the same.
INHERITED = """
import signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.{disposition})
if signal.{disposition} is signal.SIG_DFL:
    signal.signal(signal.SIGINT, signal.default_int_handler)
"""
FOREGROUND = INHERITED.format(disposition="SIG_DFL")
# Saves after every batch, and says by one character each when it counts, saves or renames.
PROGRAM = """
import os, sys
import hushcount.cli.main
from hushcount.__main__ import main
from hushcount.files.atomic import Outputs
from hushcount.jobs import checkpoints
from hushcount.sketches.counters import SpaceSaving
checkpoints.SECONDS = 0.0
def telling(kind, name):
    call = getattr(kind, name)
    def told(*values, **options):
        os.write({handle}, b".")
        return call(*values, **options)
    setattr(kind, name, told)
telling(sys.modules["hushcount.cli.main"], "_open_streams")
for kind, name in ((checkpoints.Checkpoint, "save"), (SpaceSaving, "update"), (Outputs, "commit")):
    telling(kind, name)
sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code and what it said."""

    code: int
    said: str


def run(arguments, strikes=(), disposition="SIG_DFL"):
    """Run the program; `strikes` are (moments to wait for, seconds after that, signal)."""
    reader, writer = os.pipe()
    program = (INHERITED + PROGRAM).format(disposition=disposition, handle=writer)
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(writer,),
        env={**os.environ, "TMPDIR": os.getcwd()},
    ) as process:
        os.close(writer)
        for moments, seconds, number in strikes:
            heard = 0
            while heard < moments and (found := os.read(reader, moments - heard)):
                heard += len(found)
            time.sleep(seconds)
            process.send_signal(number)
        while os.read(reader, 4096):
            pass
        os.close(reader)
        said = process.communicate()[1]
    return Ended(process.returncode, said)


def strikes(rng: random.Random):
    """Return one or two signals at random moments, the second soon after the first."""
    first = (rng.randrange(1, 20), rng.random() * rng.choice((0.0, 0.001, 0.02)), rng.choice(SIGNALS))
    second = (0, rng.random() * rng.choice((0.0, 0.0005, 0.01)), rng.choice(SIGNALS))
    return [first, second] if rng.random() < 0.5 else [first]


def facts(path):
    """Return all that a release of a sketch file depends on."""
    sketch = hc.load(path)
    shape = sketch.shape()
    counts = dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))
    return counts, shape.floor, sketch.total


def make_data(rows: int = 1_000_000) -> None:
    """Write the data, and the sketch of a run that nothing interrupts."""
    key = "'key' || (hash(i) % 1000 * (hash(i) % 1000) // 900)"
    duckdb.sql(f"COPY (SELECT {key} AS item FROM range({rows}) r(i)) TO 'a.parquet'")
    whole = run(("sketch", "a.parquet", "--column", "item", "-o", "whole.hc", "--counters", "300"))
    assert whole.code == 0, whole


SKETCH = ("sketch", "a.parquet", "--column", "item", "-o", "out.hc", "--counters", "300")
CHECKPOINTED = (*SKETCH, "--checkpoint", "run.hc")
PROMISE = "Interrupted; nothing was released. Run it again with --checkpoint run.hc to continue.\n"


def check_struck(ended: Ended, number: int) -> None:
    """Raise unless a run that was struck left what it said; a signal may come after its last word."""
    said = "out.hc is raw data, not a release: do not publish it.\n"
    assert (ended.code, ended.said) in (
        (130, PROMISE),
        (130, "Interrupted; nothing was released.\n"),
        (130, "Interrupted.\n"),
        (130, f"{said}Interrupted; out.hc had been written.\n"),
        (130, "Interrupted; out.hc had been written.\n"),
        (0, said),
    ), ended
    if ended.said == PROMISE:
        assert hc.load("run.hc").total >= 0
    assert os.path.exists("out.hc") == (ended.code == 0 or "had been written" in ended.said), ended
    assert set(os.listdir()) <= {"a.parquet", "run.hc", "out.hc", "whole.hc"}, (number, os.listdir())


def struck_until_it_ends(rng: random.Random, attempts: int = 8) -> int:
    """Strike a run with a checkpoint again and again, let it end, and return how often it went on."""
    continued = 0
    for attempt in range(attempts):
        ended = run(CHECKPOINTED, strikes(rng))
        check_struck(ended, attempt)
        continued += ended.said == PROMISE
        if os.path.exists("out.hc"):
            break
    else:
        last = run(CHECKPOINTED)
        assert last.code == 0, last
    assert facts("out.hc") == facts("whole.hc")
    for name in ("out.hc", "run.hc"):
        Path(name).unlink(missing_ok=True)
    return continued


TREE = ("tree", "a.parquet", "--column", "item", "--hierarchy", "path/2", "--epsilon", "1", "--delta", "1e-9")
FILES = ("--share", "0.01", "--max-events", "2000000", "--output", "tree.csv", "--plot", "tree.svg")


def struck_tree(rng: random.Random) -> bool:
    """Strike a run that spills to disk and writes two files; return whether it ended before the signal."""
    ended = run((*TREE, *FILES), [(1, 5 * rng.random(), rng.choice(SIGNALS))])
    both = {"tree.csv", "tree.svg"} & set(os.listdir())
    assert len(both) in (0, 2), ended
    if ended.code:
        assert ended.code == 130, ended
        assert ("had been written" in ended.said) == bool(both), ended
    assert set(os.listdir()) - both <= {"a.parquet", "whole.hc"}, os.listdir()
    for name in both:
        os.unlink(name)
    return not ended.code
