"""Ctrl-C, SIGTERM and SIGKILL for real: nothing half-written, and a run that continues."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

import hushcount as hc
from hushcount.jobs.run import Request
from hushcount.jobs.sketch_files import write_sketch

ROWS = 1_000_000
# Says where it is after every batch, and saves whenever it says so.
PROGRAM = """
import sys
from hushcount.jobs import checkpoints
from hushcount.jobs.run import Request
from hushcount.jobs.sketch_files import write_sketch
checkpoints.SECONDS = 0.0
def progress(done, size):
    print("batch", flush=True)
    if len(sys.argv) > 1:
        sys.stdin.readline()
write_sketch(Request("a.parquet", "item"), "out.hc", counters=300, checkpoint="run.hc", progress=progress)
"""


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = "'key' || (hash(i) % 1000 * (hash(i) % 1000) // 900)"
    duckdb.sql(f"COPY (SELECT {key} AS item FROM range({ROWS}) r(i)) TO 'a.parquet'")


def facts(path):
    """All that a release depends on."""
    shape = hc.load(path).shape()
    counts = dict(zip(shape.keys.to_pylist(), shape.counts.tolist(), strict=True))
    return counts, shape.floor, hc.load(path).total


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
    write_sketch(
        Request("a.parquet", "item"), "whole.hc", counters=300, progress=lambda *_: batches.append("batch")
    )
    assert 0 < len(rest.stdout.splitlines()) < len(batches)
    assert facts("out.hc") == facts("whole.hc")


def start(*options):
    budget = ["--epsilon", "1", "--delta", "1e-6", "--output", "top.csv", "--counters", "300"]
    command = [sys.executable, "-m", "hushcount", "top", "events.txt", "--format", "lines", *budget, *options]
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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_it_counts(number):
    Path("events.txt").write_bytes(b"key\n" * 60_000_000)
    process = start("--checkpoint", "run.hc")
    wait_until_open(process, "events.txt")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    again = "Run it again with --checkpoint run.hc to continue."
    assert (process.returncode, out, err) == (130, "", f"Interrupted; nothing was released. {again}\n")
    assert set(os.listdir()) - {"run.hc"} == {"a.parquet", "events.txt"}
