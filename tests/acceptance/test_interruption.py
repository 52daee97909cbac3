"""Signals and SIGKILL for real: nothing half-written, and a run that continues."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from tests.soak import runs
from tests.soak.runs import facts

import hushcount as hc
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.jobs.sketch_files import write_sketch

ROWS = 1_000_000
# Says where it is after every batch, and saves whenever it says so.
PROGRAM = """
import sys
from hushcount.jobs import checkpoints
from hushcount.jobs.choices import SketchSize
from hushcount.jobs.request import Request
from hushcount.jobs.sketch_files import write_sketch
checkpoints.SECONDS = 0.0
def progress(done, size):
    print("batch", flush=True)
    if len(sys.argv) > 1:
        sys.stdin.readline()
size = SketchSize(counters=300)
write_sketch(Request("a.parquet", "item"), "out.hc", size=size, checkpoint="run.hc", progress=progress)
"""


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = "'key' || (hash(i) % 1000 * (hash(i) % 1000) // 900)"
    duckdb.sql(f"COPY (SELECT {key} AS item FROM range({ROWS}) r(i)) TO 'a.parquet'")


def kill_after(batches):
    """Start a run and kill it, without any warning, when it has counted some batches."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM, "wait"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        for _ in range(batches):
            assert process.stdout.readline() == "batch\n"
            process.stdin.write("\n")
            process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_killed_and_continued():
    kill_after(2)
    first = hc.load("run.hc").total
    assert 0 < first < ROWS
    kill_after(1)
    assert first < hc.load("run.hc").total < ROWS
    assert not os.path.exists("out.hc")
    rest = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert not os.path.exists("run.hc")
    batches = []
    size = SketchSize(counters=300)
    write_sketch(Request("a.parquet", "item"), "whole.hc", size=size, progress=lambda *_: batches.append(1))
    assert 0 < len(rest.stdout.splitlines()) < len(batches)
    assert facts("out.hc") == facts("whole.hc")


def start(*options):
    budget = ["--epsilon", "1", "--delta", "1e-6", "--output", "top.csv", "--counters", "300"]
    program = f"{runs.FOREGROUND}\nimport sys; from hushcount.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "top", "events.txt", "--format", "lines", *budget, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until_open(process, name):
    """Until the process is reading the file."""
    folder = Path(f"/proc/{process.pid}/fd")
    while name not in _open_names(folder):
        assert process.poll() is None
        time.sleep(0.01)


def _open_names(folder):
    """Names of the files that are open; one may be closed while this looks."""
    names = []
    for link in sorted(folder.iterdir()):
        with suppress(FileNotFoundError):
            names.append(os.path.basename(os.readlink(link)))
    return names


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_interrupted_while_it_waits_for_a_pipe(number):
    os.mkfifo("events.txt")
    process = start()
    with open("events.txt", "wb", buffering=0) as pipe:  # opens when the program does
        pipe.write(b"key\n" * 1000)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "Interrupted; nothing was released.\n")
    assert sorted(os.listdir()) == ["a.parquet", "events.txt"]


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_interrupted_while_it_counts(number):
    Path("events.txt").write_bytes(b"key\n" * 60_000_000)
    process = start("--checkpoint", "run.hc")
    wait_until_open(process, "events.txt")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    said = {False: "Interrupted; nothing was released.\n", True: runs.PROMISE}[os.path.exists("run.hc")]
    assert (process.returncode, out, err) == (130, "", said)
    assert set(os.listdir()) - {"run.hc"} == {"a.parquet", "events.txt"}


@pytest.fixture
def whole():
    runs.make_data()


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_every_signal_in_the_middle_of_a_batch_or_a_save_and_continued(whole, number):
    for moment in (5, 6, 7):
        ended = runs.run(runs.CHECKPOINTED, [(moment, 0.0, number), (0, 0.0, number)])
        assert (ended.code, ended.said) == (130, runs.PROMISE)
        assert hc.load("run.hc").total > 0
    assert runs.run(runs.CHECKPOINTED).code == 0
    assert facts("out.hc") == facts("whole.hc")
    assert sorted(os.listdir()) == ["a.parquet", "out.hc", "whole.hc"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_signals_at_random_moments_lose_nothing(whole, seed):
    """A short version of `make soak`."""
    runs.struck_until_it_ends(random.Random(seed), attempts=4)


@pytest.mark.slow
def test_signals_that_were_ignored_stay_ignored(whole):
    strikes = [(2, 0.0, number) for number in runs.SIGNALS]
    ended = runs.run(runs.CHECKPOINTED, strikes, disposition="SIG_IGN")
    assert (ended.code, ended.said) == (0, "out.hc is raw data, not a release: do not publish it.\n")
    assert facts("out.hc") == facts("whole.hc")


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_before_a_checkpoint_exists_nothing_is_promised(number):
    ended = runs.run(runs.CHECKPOINTED, [(1, 0.3, number)])
    assert (ended.said == runs.PROMISE) == os.path.exists("run.hc")
    written = "had been written" in ended.said
    assert (ended.code, os.path.exists("out.hc")) in ((130, written), (0, True))


def spilling(*options):
    """Start a tree that puts raw data into a folder here, and wait until the folder is there."""
    program = f"{runs.FOREGROUND}\nimport sys; from hushcount.cli.main import main; sys.exit(main())"
    budget = ["--hierarchy", "path/2", "--threshold", "900", "--epsilon", "1", "--delta", "1e-6"]
    command = [sys.executable, "-c", program, "tree", "events.txt", *budget, "--output", "tree.csv", *options]
    environment = {**os.environ, "TMPDIR": os.getcwd()}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    while f"hushcount-{process.pid}-" not in " ".join(folders()):
        assert process.poll() is None
        time.sleep(0.01)
    return process


def folders():
    return [name for name in os.listdir() if name.startswith("hushcount-")]


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_signal_leaves_no_raw_data_of_a_tree(number):
    os.mkfifo("events.txt")
    writer = os.open("events.txt", os.O_RDWR)  # a pipe that says nothing more: the run waits
    os.write(writer, b"a/b\n" * 1000)
    process = spilling("--format", "lines")
    process.send_signal(number)
    assert (process.communicate()[1], process.returncode) == ("Interrupted; nothing was released.\n", 130)
    os.close(writer)
    assert sorted(os.listdir()) == ["a.parquet", "events.txt"]


@pytest.mark.slow
def test_what_sigkill_leaves_is_removed_by_the_next_run():
    os.mkfifo("events.txt")
    writer = os.open("events.txt", os.O_RDWR)
    os.write(writer, b"a/b\n" * 1000)
    killed = spilling("--format", "lines")
    killed.kill()
    killed.communicate()
    os.close(writer)
    assert len(folders()) == 1
    ended = runs.run(("sketch", "a.parquet", "--column", "item", "-o", "out.hc"))
    assert (ended.code, folders()) == (0, [])


COUNTING = f"""{runs.FOREGROUND}
import os, sys
from hushcount.cli.main import main
from hushcount.sketches.counters import SpaceSaving
update = SpaceSaving.update
def told(self, keys):
    update(self, keys)
    os.write(1, b"." * len(keys))
SpaceSaving.update = told
sys.exit(main())
"""


def sketched(number, form, data, counted):
    """Send data to a sketch of a pipe that stays open, and a signal once so many rows are counted."""
    command = [sys.executable, "-c", COUNTING, "sketch", "-", "--format", *form, "-o", "stream.hc"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        for piece in data:
            process.stdin.write(piece)
            process.stdin.flush()
        seen = 0
        while seen < counted:
            seen += len(os.read(process.stdout.fileno(), counted - seen))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"Interrupted; stream.hc has what was counted until then; nothing was released.\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", runs.SIGNALS)
def test_a_sketch_of_a_pipe_keeps_what_was_counted(number):
    """Rows are counted when they come; the last line, of which only a part came, is not."""
    sketched(number, ["lines"], [b"tea\nmilk\n", b"tea\nte"], 3)
    assert sorted(os.listdir()) == ["a.parquet", "stream.hc"]
    sketch = hc.load("stream.hc")
    assert (sketch.total, list(sketch.estimate(["tea", "te"]))) == (3, [2, 0])
    assert os.stat("stream.hc").st_mode & 0o777 == 0o600
    command = [sys.executable, "-m", "hushcount", "release", "stream.hc", "--epsilon", "1", "--delta", "1e-6"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "Counting was stopped by a signal" in told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "data"),
    [
        (["jsonl", "--column", "k"], [b'{"k": "tea"}\n', b'{"k": "milk"}\n{"k": "te']),
        (["csv", "--column", "k"], [b"k,n\ntea,1\n", b"milk,2\nsal"]),
        (
            ["combined", "--column", "host"],
            [b'h - - [18/Nov/2026:06:00:00 +0100] "G" 200 2 "-" "x"\n' * 2 + b"h"],
        ),
    ],
)
def test_every_format_is_counted_when_it_comes(form, data):
    sketched(signal.SIGTERM, form, data, 2)
    assert hc.load("stream.hc").total == 2


def test_a_file_that_is_interrupted_leaves_no_sketch(monkeypatch):
    """It can be read again, so a checkpoint is the way to keep what was counted."""

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sketch(Request("a.parquet", "item"), "out.hc", progress=stop)
    assert sorted(os.listdir()) == ["a.parquet"]
