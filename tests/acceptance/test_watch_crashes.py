"""A watch whose closing is killed, restored, doubled, set back or out of disk: one answer for each period.

The kills are enumerated: the process dies at the first line of the program that closing reaches, at the
second, until it ends by itself. Only lines of the modules that keep state are counted, each when it is first
reached; the statements of a ledger are killed one by one in test_ledger_crashes.py.
"""

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.accounting.inspection import history
from hushcount.errors import DataError, HushcountError, LedgerError, ParameterError
from hushcount.jobs.watch import watch as jobs
from hushcount.jobs.watch.state import open_state
from hushcount.jobs.watch.watch import Watch
from hushcount.secure import drawn_from

TERMS = {
    "period": "1h",
    "start": "2026-10-01",
    "until": "2026-10-02",
    "levels": ["1h", "2h"],
    "epsilon": 1,
    "delta": 1e-7,
    "dataset": "site",
}
KEEP_STATE = ("/watch/state", "/watch/watch", "/accounting/ledger", "/files/atomic.py:commit")
OLD = "The ledger knows a later state of this watch: "


def made(folder, **terms):
    """Make a watch with its ledger, and rows in the open period: keys near the threshold, one far above."""
    hc.Ledger(folder / "spent.db").init("site", epsilon=1, delta=1e-6, slack=0)
    found = hc.watch(folder / "site.hw", ledger=folder / "spent.db", **TERMS | terms)
    rows = [key for key in "abcdefgh" for _ in range(23)] + ["often"] * 500
    found.add(rows, label="first") if found.terms.time is None else None
    return found


def feed(folder):
    """The files of a feed by name."""
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.parquet")}


def killed_at(number):
    """Trace this process and kill it at the line that is the so manieth to be reached for the first time."""
    reached = set()

    def trace(frame, event, _argument):
        place = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
        if not any(part in place for part in KEEP_STATE):
            return None
        if event == "line" and (frame.f_code.co_filename, frame.f_lineno) not in reached:
            reached.add((frame.f_code.co_filename, frame.f_lineno))
            if len(reached) == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def closed(path, folder, seed, period=0):
    """Close a period with seeded noise."""
    with drawn_from(SeededBits(seed)):
        Watch(path).close(folder, f"2026-10-01T{period:02}")


def spawned(work, sentence):
    """Do something in a child process, which ends with 1 if it is refused with a sentence, 3 with another."""
    child = os.fork()
    if child == 0:
        said = refused(work)
        os._exit(0 if said is None else 1 if said.startswith(sentence) else 3)
    return child


def refused(work):
    """Return the sentence with which something is refused, or None."""
    try:
        work()
    except HushcountError as error:
        return str(error)
    return None


def test_a_kill_at_every_line_leaves_one_answer_also_with_a_backup(tmp_path, monkeypatch):
    """What was in the feed stays; whether the killed state or its backup closes next, one answer is there."""
    made(tmp_path)
    monkeypatch.chdir(tmp_path)
    shutil.copytree("site.hw", "backup.hw")
    shutil.copytree(tmp_path, tmp_path.parent / "fresh")
    number, kinds = 0, set()
    while True:
        number += 1
        shutil.rmtree(tmp_path)
        shutil.copytree(tmp_path.parent / "fresh", tmp_path)
        os.chdir(tmp_path)

        def work(number=number):
            killed_at(number)
            closed("site.hw", "feed", 1)

        died = os.waitstatus_to_exitcode(os.waitpid(spawned(work, OLD), 0)[1]) == -signal.SIGKILL
        seen = feed("feed")
        committed = [each["kind"] for each in history("spent.db", "site")].count("commit")
        kinds.add((committed, len(seen)))
        closers = ("backup.hw", "site.hw") if number % 4 == 0 else ("site.hw",)
        said = [refused(partial(closed, path, "feed", 2)) for path in closers]
        after = feed("feed")
        assert len(after) == 1
        assert seen in ({}, after)
        # One of them goes on or has nothing left to do; the other one is told that it is old.
        assert None in said
        assert all(each is None or each.startswith(OLD) for each in said)
        assert [each["kind"] for each in history("spent.db", "site")].count("commit") == 1
        assert hc.Ledger("spent.db").verify() == []
        if not died:
            break
    assert number > 100
    assert kinds == {(0, 0), (1, 0), (1, 1)}


def test_kills_of_a_watch_of_users_that_looks_back(tmp_path, monkeypatch):
    """Its close does more, in the same transaction; pairs that have counted are there once."""
    hc.Ledger(tmp_path / "spent.db").init("site", epsilon=1, delta=1e-6, slack=0, unit="user")
    asked = {
        "user": "who",
        "column": "url",
        "max_pairs": 2,
        "backfill": "2h",
        "ledger": tmp_path / "spent.db",
    }
    made_with = hc.watch(tmp_path / "site.hw", **TERMS | asked)
    rows = [{"who": who, "url": key} for who in range(90) for key in ("a", "b", "c")]
    made_with.add(pa.Table.from_pylist(rows), label="first")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tmp_path, tmp_path.parent / "fresh_users")
    for number in range(1, 200, 16):
        shutil.rmtree(tmp_path)
        shutil.copytree(tmp_path.parent / "fresh_users", tmp_path)
        os.chdir(tmp_path)

        def work(number=number):
            killed_at(number)
            closed("site.hw", "feed", 1)

        os.waitpid(spawned(work, OLD), 0)
        seen = feed("feed")
        closed("site.hw", "feed", 2)
        assert len(feed("feed")) == 1
        assert seen in ({}, feed("feed"))
        with open_state("site.hw") as state:
            pairs = state.connection.sql("SELECT count(*), count(DISTINCT (owner, k0)) FROM seen").fetchall()
        assert pairs == [(180, 180)]
    assert hc.Ledger("spent.db").verify() == []


def test_two_copies_that_close_at_once_publish_one_answer(tmp_path):
    made(tmp_path)
    for turn in range(4):
        here = tmp_path / str(turn)
        here.mkdir()
        for name in ("one.hw", "two.hw"):
            shutil.copytree(tmp_path / "site.hw", here / name)
        children = [
            spawned(partial(closed, here / f"{name}.hw", here / name, seed, turn), OLD)
            for seed, name in enumerate(("one", "two"))
        ]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert sorted(codes) == [0, 1]
        winner = ("one", "two")[codes.index(0)]
        # Either catches up with what was published before; this period is published by the winner only.
        assert len(feed(here / winner)) == turn + 1
        assert sorted(len(feed(here / name)) for name in ("one", "two")) == [turn, turn + 1]
        shutil.rmtree(tmp_path / "site.hw")
        shutil.copytree(here / f"{winner}.hw", tmp_path / "site.hw")
    assert hc.Ledger(tmp_path / "spent.db").verify() == []


def test_two_closers_of_one_state_do_not_meet(tmp_path):
    """The second is refused or finds all done; there is one answer for each period."""
    made(tmp_path)

    def work():
        Watch(tmp_path / "site.hw").close(tmp_path / "feed")

    children = [spawned(work, "Another process uses ") for _ in range(3)]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) <= {0, 1}
    Watch(tmp_path / "site.hw").close(tmp_path / "feed")
    assert len(feed(tmp_path / "feed")) == 24
    assert [each["kind"] for each in history(tmp_path / "spent.db", "site")].count("commit") == 24


class Clock(datetime):
    """A clock that is set by a test."""

    hour_now = 0

    @classmethod
    def now(cls, tz=None):
        return datetime(2026, 10, 1, cls.hour_now, tzinfo=tz or UTC)


def test_a_clock_that_jumps_back_closes_nothing_twice(tmp_path, monkeypatch):
    found = made(tmp_path)
    monkeypatch.setattr(jobs, "datetime", Clock)
    Clock.hour_now = 5
    found.close(tmp_path / "feed")
    before = feed(tmp_path / "feed")
    assert len(before) == found.closed == 5
    Clock.hour_now = 2
    found.close(tmp_path / "feed")
    found.close(tmp_path / "feed", "2026-10-01T03")
    with pytest.raises(ParameterError) as early:
        found.close(tmp_path / "feed", "2026-10-01T05")
    assert str(early.value) == (
        "Period 2026-10-01T05 has not ended; close it after 2026-10-01T06:00:00+00:00."
    )
    assert feed(tmp_path / "feed") == before
    Clock.hour_now = 6
    found.close(tmp_path / "feed")
    assert len(feed(tmp_path / "feed")) == 6
    assert {name: feed(tmp_path / "feed")[name] for name in before} == before


def test_late_rows_count_in_the_open_period_or_are_dropped(tmp_path, monkeypatch):
    """`add` takes them where they are added; `run` reads each period once, after it has ended."""
    found = made(tmp_path, time="ts", column="url", epsilon=20 / 20)
    monkeypatch.setattr(jobs, "datetime", Clock)
    log = tmp_path / "log.csv"
    lines = ["url,ts"] + ["early,2026-10-01T00:10:00"] * 400
    log.write_text("\n".join([*lines, ""]))
    Clock.hour_now = 2
    found.run(log, tmp_path / "feed", once=True)
    log.write_text("\n".join([*lines, *["late,2026-10-01T00:20:00"] * 400, ""]))
    Clock.hour_now = 3
    found.run(log, tmp_path / "feed", once=True)
    assert [row["key"] for row in hc.feed(tmp_path / "feed").top()] == ["early"]
    found.add(log, label="all that came late")
    Clock.hour_now = 4
    found.close(tmp_path / "feed")
    assert {row["key"] for row in hc.feed(tmp_path / "feed").top(period="2026-10-01T03")} == {"early", "late"}


def test_a_file_is_a_function_of_what_is_published(tmp_path):
    """Rows are sorted by key, in whatever order they came; nothing in a file tells of others."""
    files = []
    for turn, order in enumerate((1, -1)):
        here = tmp_path / str(turn)
        here.mkdir()
        hc.Ledger(here / "spent.db").init("site", epsilon=1, delta=1e-6, slack=0)
        found = hc.watch(here / "site.hw", ledger=here / "spent.db", **TERMS)
        found.add([f"{key:03}" for key in range(200) for _ in range(900)][::order], label="some")
        found.add([f"rare {key}" for key in range(50 * turn)], label="none of these is published")
        found.close(here / "feed", "2026-10-01T00")
        files.append(hc.feed(here / "feed").top(None).table["key"].to_pylist())
        import pyarrow.parquet as pq

        file = pq.ParquetFile(here / "feed" / "2026-10-01T00.parquet")
        assert file.read()["key"].to_pylist() == sorted(file.read()["key"].to_pylist())
        assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
    assert sorted(files[0]) == sorted(files[1])


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 48 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("A REALLY FULL DISK WAS NOT TESTED: this machine may not mount a file system.")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder, left):
    """Fill a disk but for some bytes."""
    free = shutil.disk_usage(folder).free
    Path(folder, "filler").write_bytes(bytes(max(0, free - left)))


def test_a_full_disk_is_told_before_anything_is_drawn(small_disk, tmp_path):
    """Whether a period is drawn must not depend on how much is drawn."""
    made(tmp_path)
    shutil.copytree(tmp_path / "site.hw", small_disk / "site.hw")
    fill(small_disk, 1 << 20)
    found = Watch(small_disk / "site.hw")
    with pytest.raises(DataError) as full:
        found.close(tmp_path / "feed")
    assert str(full.value) == jobs.FULL.format(path=small_disk / "site.hw")
    assert found.closed == 0
    assert feed(tmp_path / "feed") == {}
    (small_disk / "filler").unlink()
    found.close(tmp_path / "feed")
    assert len(feed(tmp_path / "feed")) == 24


def test_a_full_disk_of_the_feed_or_the_ledger_leaves_the_answer_for_later(small_disk, tmp_path):
    made(tmp_path)
    (small_disk / "feed").mkdir()
    closed(tmp_path / "site.hw", small_disk / "feed", 1)
    before = feed(small_disk / "feed")
    fill(small_disk, 0)
    with pytest.raises(DataError) as full:
        closed(tmp_path / "site.hw", small_disk / "feed", 2, period=1)
    assert "No space left on device" in str(full.value) or "full" in str(full.value)
    (small_disk / "filler").unlink()
    closed(tmp_path / "site.hw", small_disk / "feed", 3, period=1)
    closed(tmp_path / "site.hw", tmp_path / "copy", 4, period=1)
    assert feed(small_disk / "feed") == feed(tmp_path / "copy")
    assert {name: feed(tmp_path / "copy")[name] for name in before} == before


def test_a_copy_that_drew_but_came_second_stays_refused(tmp_path):
    made(tmp_path)
    shutil.copytree(tmp_path / "site.hw", tmp_path / "copy.hw")
    with open_state(tmp_path / "copy.hw") as state:
        state.close(SeededBits(6))
    closed(tmp_path / "site.hw", tmp_path / "feed", 7)
    for _ in range(2):
        with pytest.raises(LedgerError) as old:
            Watch(tmp_path / "copy.hw").close(tmp_path / "other")
        assert str(old.value).startswith(OLD)
        assert feed(tmp_path / "other") == {}
