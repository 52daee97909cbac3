"""A log that is read in pieces gives the sketch of all its lines, with each line and without it.

Histories of a real log in a folder: lines are written in parts, the log is read, renamed, copied and
truncated, and what it was rotated to is compressed, in any order.
"""

import gzip
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.soak.runs import facts

import hushcount as hc
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.jobs.tables.growing import write_growing
from hushcount.sources.formats import rotated
from hushcount.sources.formats.held import OpenLog

SEEDED = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=list(HealthCheck),
)
ROTATIONS = ("rename", "copy")
STEPS = st.one_of(
    st.tuples(st.just("write"), st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)),
    st.tuples(st.just("start"), st.sampled_from("ab")),
    st.tuples(st.just("read"), st.none()),
    st.tuples(st.sampled_from((*ROTATIONS, "pack")), st.none()),
)
HISTORIES = st.lists(STEPS, max_size=14).map(lambda steps: [("write", ["a"]), ("read", None), *steps])
SIZE = SketchSize(kind="misra-gries", counters=2)


class History:
    """A log that is written and rotated, without one of its lines if asked for."""

    def __init__(self, left_out=None):
        self.left_out, self.number, self.whole, self.started = left_out, 0, [], ""

    def run(self, steps):
        for step, values in [*steps, ("write", ["d"]), ("read", None)]:
            getattr(self, step)(values)
        Path("whole.log").write_text("".join(f"{line}\n" for line in self.whole))

    def write(self, keys):
        for key in keys:
            self.number += 1
            if self.number - 1 != self.left_out:  # numbers tell lines apart, as times do
                self.append(f"{self.number} {key}\n")
                self.whole.append(f"{self.started}{self.number} {key}")
            elif self.started:
                os.truncate("x.log", os.stat("x.log").st_size - len(self.started))
            self.started = ""

    def start(self, key):
        """A line that has not ended."""
        if not self.started:
            self.started = f"{key}-"
            self.append(self.started)

    def append(self, text):
        with open("x.log", "a") as log:
            log.write(text)

    def read(self, _):
        if Path("x.log").stat().st_size or Path("x.hc").exists():
            write_growing(Request("x.log", "k", format=FORMAT), "x.hc", size=SIZE)

    def shift(self):
        if self.started:  # rotation between two lines
            self.write(["c"])
        for old in sorted(Path().glob("x.log.*"), reverse=True):
            number, *ending = old.name.removeprefix("x.log.").split(".")
            old.rename(".".join(["x.log", str(int(number) + 1), *ending]))

    def rename(self, _):
        self.shift()
        os.rename("x.log", "x.log.1")
        Path("x.log").touch()

    def copy(self, _):
        self.shift()
        shutil.copyfile("x.log", "x.log.1")
        os.truncate("x.log", 0)

    def pack(self, _):
        for old in Path().glob("x.log.?"):
            with gzip.open(f"{old}.gz", "wb") as packed:
                packed.write(old.read_bytes())
            status = old.stat()
            os.utime(f"{old}.gz", ns=(status.st_atime_ns, status.st_mtime_ns))
            old.unlink()


FORMAT = "pattern:(?P<k>[a-d])"


@pytest.fixture(autouse=True)
def same_keyed_hash(monkeypatch):
    """Which of several keys is evicted is decided by a keyed hash: one key for all sketches here."""
    monkeypatch.setattr("hushcount.sketches.counters.fresh_key", lambda: b"k" * 16)


def equal(steps, left_out=None):
    """Whether the sketch of a history read in pieces is the one of all its lines."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            history = History(left_out)
            history.run(steps)
            write_growing(Request("whole.log", "k", format=FORMAT), "whole.hc", size=SIZE)
            return facts("x.hc") == facts("whole.hc") and hc.load("x.hc").total == len(history.whole)
        finally:
            os.chdir(before)


@SEEDED
@given(HISTORIES)
def test_pieces_are_the_whole(steps):
    assert equal(steps)


@SEEDED
@given(HISTORIES, st.integers(1, 9))
def test_without_one_line_the_others_are_counted_as_before(steps, left_out):
    assert equal(steps, left_out)


def found_out(steps):
    try:
        return not equal(steps)
    except hc.errors.HushcountError:
        return True


WRITTEN = [("write", ["b", "c"]), ("read", None)]
BROKEN = {
    "counts lines that have not ended": [("start", "a"), ("read", None), ("write", ["b"])],
    "trusts the number of bytes": [*WRITTEN, ("copy", None), ("write", ["d"] * 4)],
    "trusts inodes": [*WRITTEN, ("copy", None), ("write", ["d"])],
}


@pytest.mark.parametrize("twin", BROKEN)
def test_broken_readers_are_found_out(twin, monkeypatch):
    """Each is refuted by a history that the real one reads as the whole."""
    steps = [("write", ["a"]), ("read", None), *BROKEN[twin]]
    assert equal(steps)
    if twin == "counts lines that have not ended":
        monkeypatch.setattr(OpenLog, "whole_lines", lambda log, start, most: log.size)
    elif twin == "trusts the number of bytes":
        monkeypatch.setattr(OpenLog, "begins_with", lambda log, mark: log.size >= mark.read)
    else:
        monkeypatch.setattr(OpenLog, "begins_with", lambda log, mark: log.identity == mark.identity)
    assert found_out(steps)
    assert rotated.ATTEMPTS > 1
