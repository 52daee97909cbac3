"""`hushcount sketch --append`: what it takes, what it refuses, and what is left when it is stopped."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.soak import runs

import hushcount as hc
from hushcount.cli.main import main
from hushcount.sketches.kinds import load_with_position
from hushcount.sources import growing
from hushcount.sources.formats.held import OpenLog

RAW = "x.hc is raw data, not a release: do not publish it.\n"
LINE = 'h{} - - [18/Nov/2026:06:00:00 +0000] "GET /{} HTTP/1.1" 200 2 "-" "x"\n'


@pytest.fixture(autouse=True)
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def append(run, *more, log="x.log"):
    return run("sketch", log, "--append", *more, "-o", "x.hc")


def write(text, name="x.log", mode="a"):
    with open(name, mode, newline="") as log:
        log.write(text)


def counts():
    sketch = hc.load("x.hc")
    return {key: int(sketch.estimate([key])[0]) for key in sketch.shape().keys.to_pylist()}


def test_a_log_that_grows(run):
    write("tea\nmilk\nte")
    assert append(run) == (0, "", RAW)
    assert (counts(), os.stat("x.hc").st_mode & 0o777) == ({"tea": 1, "milk": 1}, 0o600)
    before = Path("x.hc").read_bytes()
    assert append(run) == (0, "", RAW)
    assert counts() == {"tea": 1, "milk": 1}
    assert len(Path("x.hc").read_bytes()) == len(before)
    write("a\nsalt\n")
    append(run)
    assert counts() == {"tea": 2, "milk": 1, "salt": 1}
    budget = ("--epsilon", "1", "--delta", "1e-6")
    code, _, err = run("release", "x.hc", *budget)
    assert (code, growing.ARRIVED in err) == (0, True)


@pytest.mark.parametrize("ending", [".{}", "-2026111{}"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_was_renamed_twice(run, ending, packed):
    """Lines of all files between are counted, those of a file that a server still writes to as well."""
    names = [f"x.log{ending.format(number)}" for number in ((2, 1) if ending == ".{}" else (1, 2))]
    write("a\n")
    append(run)
    write("b\n")
    os.rename("x.log", names[0])
    write("c\nc\n", names[1])
    if packed:
        stamp = os.stat(names[0]).st_mtime_ns
        Path(f"{names[0]}.gz").write_bytes(gzip.compress(Path(names[0]).read_bytes()))
        os.utime(f"{names[0]}.gz", ns=(stamp, stamp // 10**9 * 10**9))  # as programs do that keep seconds
        os.remove(names[0])
    write("d\n")
    write("older\n", f"x.log{ending.format(3 if ending == '.{}' else 0)}")
    assert append(run) == (0, "", RAW)
    assert counts() == {"a": 1, "b": 1, "c": 2, "d": 1}
    write("late\n", names[1])
    write("e\n")
    append(run)
    assert counts() == {"a": 1, "b": 1, "c": 2, "d": 1, "e": 1, "late": 1}
    assert append(run) == (0, "", RAW)
    assert hc.load("x.hc").total == 7


def test_a_log_that_was_copied_and_truncated(run):
    write("a\nb\n")
    append(run)
    write("c\n")
    Path("x.log.1").write_bytes(Path("x.log").read_bytes())
    os.truncate("x.log", 0)
    append(run)  # nothing new was written to it yet
    assert counts() == {"a": 1, "b": 1, "c": 1}
    write("d\ne\nf\ng\n")
    append(run)
    assert counts() == dict.fromkeys("abcdefg", 1)


def test_a_log_that_was_truncated_without_a_copy(run):
    write("a\nb\n")
    append(run)
    os.truncate("x.log", 0)
    missing = (
        "x.log was truncated, and no rotated log beside it has what was counted: lines that came after that,"
        " and before it was truncated, are missing.\n"
    )
    assert append(run) == append(run) == (0, "", missing + RAW)  # nothing was written to it yet
    write("c\n")
    assert append(run) == (0, "", missing + RAW)
    write("d\n")
    assert append(run) == (0, "", RAW)
    assert counts() == dict.fromkeys("abcd", 1)


def refused(run, sentence, *more, log="x.log", code=1):
    """The sketch, if there is one, stays as it was."""
    before = Path("x.hc").read_bytes() if os.path.exists("x.hc") else None
    assert append(run, *more, log=log) == (code, "", f"{sentence}\n")
    assert before == (Path("x.hc").read_bytes() if os.path.exists("x.hc") else None)


def test_what_cannot_be_told_apart_is_refused(run):
    write("a\nb\n")
    append(run)
    write("a\nb\n", "x.log.1")
    refused(
        run,
        "x.log and x.log.1 both begin with what was counted, so it cannot be told which lines are new; move"
        " away the one that is a copy.",
    )
    os.remove("x.log.1")
    write("b\nc\n", mode="w")
    refused(
        run,
        "x.log was rewritten: it no longer begins with what was counted, but still has the last line of it."
        " Count from now on into another sketch file, of a log without the lines that were counted.",
    )
    write("c\n", "x.log.1")
    refused(
        run,
        "Neither x.log nor a rotated log beside it begins with what was counted, and there are newer ones"
        " whose lines may be missing. Count them into another sketch file; `hushcount release` takes both"
        " together.",
    )


@pytest.mark.parametrize("name", ["x.log.1", "x.log-2026111806"])
def test_rotated_logs_of_two_kinds_of_names_have_no_order(run, name):
    write("a\n")
    append(run)
    os.rename("x.log", name)
    write("b\n", "x.log-20261118")
    write("c\n")
    refused(
        run,
        "Beside x.log are rotated logs of two kinds of names, such as numbers and dates, so their order is"
        " not known; move those of one kind away.",
    )


def test_a_log_that_is_truncated_while_it_is_read(run, monkeypatch):
    write("a\nb\n")
    append(run)
    write("c\n" * 1000)
    real = OpenLog.mark

    def marked(log, read):
        mark = real(log, read)
        os.truncate("x.log", 0)
        return mark

    monkeypatch.setattr(OpenLog, "mark", marked)
    refused(
        run,
        "x.log was truncated or rewritten while it was read, so nothing of it was counted; run it again.",
    )


def test_options(run):
    write("a\n")
    only = (
        "--append takes one log that grows, an uncompressed file on this machine; rotated logs beside it are"
        " found by themselves."
    )
    write("a\n", "x.log.gz")
    for log in ("-", ".", "x.log.gz", "s3://a/x.log"):
        refused(run, only, "--format", "lines", log=log, code=2)
    kinds = (
        "--append is for logs, whose lines stand alone: lines, jsonl, combined, common or a pattern, not csv."
    )
    refused(run, kinds, "--format", "csv", "--column", "a", code=2)
    both = "--append cannot be combined with --{}: the sketch file itself is where counting goes on."
    refused(run, both.format("checkpoint"), "--checkpoint", "x.run", code=2)
    refused(run, both.format("counts"), "--counts", "n", code=2)
    refused(
        run,
        "--append cannot be combined with --user.",
        "--column",
        "k",
        "--user",
        "u",
        "--max-keys",
        "2",
        "--format",
        "jsonl",
        code=2,
    )
    write("", "x.log", "w")
    refused(run, "x.log has no whole line yet, so there is nothing to count.")
    refused(run, "y.log does not exist.", log="y.log")


def test_other_questions_are_refused(run):
    write("".join(LINE.format(row % 2, row % 3) for row in range(12)))
    form = ("--format", "combined")
    assert append(run, *form, "--column", "path")[0] == 0
    asked = (
        "x.hc was counted from the log with another column, type, format or --window, or another rule for"
        " malformed lines, so nothing can be appended to it; ask as before, or name another file."
    )
    refused(run, asked, *form, "--column", "host")
    refused(run, asked, *form, "--column", "path", "--on-bad", "fail")
    refused(run, asked, *form, "--column", "path", "--time", "time", "--window", "2026-11-18")
    sketch = (
        "x.hc was saved for another sketch (mechanism, hierarchy, counters or budget), so it cannot be"
        " resumed. Delete it to start again."
    )
    refused(run, sketch, *form, "--column", "path", "--counters", "8")
    run("sketch", "x.log", *form, "--column", "path", "-o", "x.hc")
    none = "x.hc is not the sketch of a log that grows, so nothing can be appended to it; name another file."
    refused(run, none, *form, "--column", "path", code=2)


def test_two_sketches_of_one_log_are_not_released_together(run):
    write("a\n" * 50)
    append(run)
    run("sketch", "x.log", "--append", "-o", "y.hc")
    write("a\n" * 50)
    append(run)
    code, _, err = run("release", "x.hc", "y.hc", "--epsilon", "1", "--delta", "1e-6")
    assert (code, "sketches of the same data" in err) == (1, True)


@pytest.mark.parametrize("kind", ["exact", "misra-gries", "count-min", "hierarchy"])
def test_every_kind_goes_on(run, kind):
    tree = ("--hierarchy", "path/1") if kind == "hierarchy" else ()
    for _ in range(3):
        write('{"k": "a", "n": 2}\n\n{"k": "b", "n": 1}\n')
        asked = ("--format", "jsonl", "--column", "k", "--kind", kind, *tree)
        assert append(run, *asked) == (0, "", RAW)
    assert hc.load("x.hc").total == 6


def test_a_column_that_no_line_has(run):
    write('{"a": 1}\n')
    code, _, err = append(run, "--format", "jsonl", "--column", "k")
    assert (code, "Column 'k' is in no row of the file" in err) == (1, True)


def test_long_logs_are_saved_on_the_way(run, monkeypatch):
    monkeypatch.setattr(growing, "MOST", 5000)
    write("".join(f"{row % 7}\n" for row in range(30_000)))
    write("tea" * 10_000 + "\n")
    saved = []
    real = hc.SpaceSaving.to_bytes
    monkeypatch.setattr(
        hc.SpaceSaving, "to_bytes", lambda sketch, **more: saved.append(1) or real(sketch, **more)
    )
    assert append(run) == (0, "", RAW)
    assert (hc.load("x.hc").total, len(saved) > 10) == (30_000, True)


def test_a_position_that_is_none(run):
    write("a\n")
    append(run)
    sketch, values = load_with_position("x.hc")
    for wrong in ("{", '{"marks": [{"device": 1}], "known": []}', json.dumps({"marks": 3})):
        sketch.save("x.hc", position=values | {"state": {"log": wrong}})
        refused(run, "The position in the log is one that this version cannot read.")


STOPPED = f"""{runs.FOREGROUND}
import os, sys
from hushcount.cli.main import main
from hushcount.jobs.tables import growing
from hushcount.sources import growing as logs
logs.MOST = 1 << 16
save = growing._save
def told(*values):
    save(*values)
    os.write(1, b".")
growing._save = told
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_for_real_and_continued(run, number):
    """Nothing is counted twice and nothing is lost, wherever the program is stopped."""
    lines = [LINE.format(row % 5, row * row % 31) for row in range(60_000)]
    write("".join(lines))
    asked = ("sketch", "x.log", "--append", "--format", "combined", "--column", "path", "-o", "x.hc")
    for saves in (1, 3, 9):
        pipe = subprocess.PIPE
        with subprocess.Popen([sys.executable, "-c", STOPPED, *asked], stdout=pipe, stderr=pipe) as process:
            for _ in range(saves):
                assert os.read(process.stdout.fileno(), 1) == b"."
            process.send_signal(number)
            err = process.communicate(timeout=60)[1]
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            said = b"Interrupted; x.hc has what was counted until then; nothing was released.\n"
            assert (process.returncode, err) == (130, said)
        assert 0 < hc.load("x.hc").total < len(lines)
    os.rename("x.log", "x.log.1")
    write("".join(lines[:100]))
    assert run(*asked) == (0, "", RAW)
    Path("whole.log").write_text("".join([*lines, *lines[:100]]))
    run("sketch", "whole.log", "--format", "combined", "--column", "path", "-o", "whole.hc")
    assert runs.facts("x.hc") == runs.facts("whole.hc")
