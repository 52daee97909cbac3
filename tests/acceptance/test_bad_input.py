"""Bad input: one clear sentence, exit code 1 or 2, no traceback, nothing of the data, nothing written."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import hushcount as hc
from hushcount.cli.main import main

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
DATA, USAGE = 1, 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files named after their defect; whatever is data in them contains the word secret."""
    monkeypatch.chdir(tmp_path)
    keys = [f"secret{i % 7}" for i in range(9000)]
    good = pa.table({"url": keys, "price": [0.25] * 9000, "parts": [["secret"]] * 9000})
    parquet.write_table(good, "good.parquet")
    whole = Path("good.parquet").read_bytes()
    Path("truncated.parquet").write_bytes(whole[:-100])
    Path("empty.csv").write_bytes(b"")
    Path("empty.parquet").write_bytes(b"")
    Path("latin.csv").write_bytes(b"url,n\nsecret\xe9,1\n")
    Path("ragged.csv").write_bytes(b"url,n\nsecret,1\nsecret\n")
    Path("broken.jsonl").write_bytes(b'{"url": "secret"}\n{"url": \n')
    Path("cut.csv.gz").write_bytes(gzip.compress(b"url\n" + os.urandom(9000).hex().encode())[:-900])
    Path("words.csv").write_bytes(b"url\n17\nsecret\n")
    Path("good.csv").write_bytes(b"url\n" + b"secret\n" * 100)
    sketch = hc.SpaceSaving(counters=10)
    sketch.update(keys)
    sketch.save("good.hc")
    data = Path("good.hc").read_bytes()
    Path("corrupted.hc").write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    Path("truncated.hc").write_bytes(data[:-10])
    Path("newer.hc").write_bytes(data[:8] + (99).to_bytes(4, "little") + data[12:])
    Path("other.hc").write_bytes(b"secret" * 100)
    return tmp_path


def top(name, *options):
    return ("top", name, "--column", "url", *BUDGET, *options)


def budget(epsilon, delta="1e-6", *options):
    return ("top", "good.parquet", "-c", "url", "--epsilon", epsilon, "--delta", delta, *options)


DEFECT = "is not a whole Parquet file (damaged, truncated or of another format)."
CASES = {
    "missing file": (top("none.csv"), DATA, "none.csv does not exist."),
    "missing column": (
        ("top", "good.parquet", "-c", "uri", *BUDGET),
        USAGE,
        "Column 'uri' is not in the file; it has: url, price, parts.",
    ),
    "column not named": (
        ("top", "good.parquet", *BUDGET),
        USAGE,
        "--column must be named; the file has: url, price, parts.",
    ),
    "column named as in the result": (
        ("top", "good.parquet", "-c", "url", "-c", "count", *BUDGET),
        USAGE,
        "--column must not have the name of a result column, got count; rename it, with sql perhaps.",
    ),
    "more events than the public bound": (
        ("release", "good.hc", *BUDGET, "--max-events", "8999"),
        DATA,
        "The sketch holds more than --max-events = 8999 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee.",
    ),
    "empty file": (top("empty.csv"), DATA, "empty.csv is empty."),
    "empty Parquet": (top("empty.parquet"), DATA, "empty.parquet is empty."),
    "truncated Parquet": (top("truncated.parquet"), DATA, f"truncated.parquet {DEFECT}"),
    "invalid UTF-8": (top("latin.csv"), DATA, "latin.csv has text that is not valid UTF-8."),
    "ragged rows": (top("ragged.csv"), DATA, "ragged.csv has rows that are not well-formed CSV."),
    "broken JSON": (
        top("broken.jsonl"),
        DATA,
        "broken.jsonl has lines that are not well-formed JSON objects.",
    ),
    "truncated gzip": (top("cut.csv.gz"), DATA, "cut.csv.gz is not a whole compressed file."),
    "mixed types": (
        top("words.csv", "--type", "int"),
        DATA,
        "Column 'url' has values that are not whole numbers (type int).",
    ),
    "floats": (
        ("top", "good.parquet", "-c", "price", *BUDGET),
        DATA,
        "Column 'price' holds floating point numbers; bin or round them to whole numbers first.",
    ),
    "nested values": (
        ("top", "good.parquet", "-c", "parts", *BUDGET),
        DATA,
        "Column 'parts' holds nested values; select one field of them, or cast them to text first.",
    ),
    "epsilon nan": (budget("nan"), USAGE, "--epsilon must be a finite number above 0, got nan."),
    "epsilon inf": (budget("inf"), USAGE, "--epsilon must be a finite number above 0, got inf."),
    "epsilon 0": (budget("0"), USAGE, "--epsilon must be a finite number above 0, got 0.0."),
    "epsilon negative": (budget("-1"), USAGE, "--epsilon must be a finite number above 0, got -1.0."),
    "epsilon too large": (budget("21"), USAGE, "--epsilon above 20 protects nobody, got 21.0."),
    "delta 1": (budget("1", "1"), USAGE, "--delta must be strictly between 0 and 1, got 1.0."),
    "delta 0": (
        budget("1", "0"),
        USAGE,
        "--delta must be strictly between 0 and 1, got 0.0; or give a public domain.",
    ),
    "delta nan": (budget("1", "nan"), USAGE, "--delta must be strictly between 0 and 1, got nan."),
    "share of nothing": (
        top("good.parquet", "--share", "0.1"),
        USAGE,
        "--share needs --max-events, the public bound it is a share of, or --other, a noisy total that is"
        " paid for.",
    ),
    "share 0": (
        top("good.parquet", "--share", "0", "--max-events", "1000"),
        USAGE,
        "--share must be strictly between 0 and 1, got 0.0.",
    ),
    "share too small": (
        top("good.parquet", "--share", "0.001", "--max-events", "10000"),
        USAGE,
        "--share must be larger at this budget, got 0.001: it is 11 of 10,000 events, and only keys with at"
        " least 21 events are published reliably.",
    ),
    "measured envelope without a bound": (
        top("good.parquet", "--mechanism", "measured-envelope"),
        USAGE,
        "measured-envelope needs --max-events, a public bound, got None.",
    ),
    "measured envelope of one counter": (
        top("good.parquet", "--mechanism", "measured-envelope", "--max-events", "1000", "--counters", "1"),
        USAGE,
        "--counters must be at least 2, got 1.",
    ),
    "counters 1": (top("good.parquet", "--counters", "1"), USAGE, "--counters must be at least 2, got 1."),
    "confidence 1": (
        top("good.parquet", "--confidence", "1"),
        USAGE,
        "--confidence must be strictly between 0 and 1, got 1.0.",
    ),
    "limit 0": (top("good.parquet", "--limit", "0"), USAGE, "--limit must be at least 1, got 0."),
    "limit beyond 64 bits": (
        top("good.parquet", "--limit", "9223372036854775808"),
        USAGE,
        "--limit must be at most 9223372036854775807, got 9223372036854775808.",
    ),
    "min-count beyond 64 bits": (
        top("good.parquet", "--min-count", "9223372036854775808"),
        USAGE,
        "--min-count must be at most 9223372036854775807, got 9223372036854775808.",
    ),
    "max-events beyond 64 bits": (
        budget("1", "1e-30", "--max-events", "9223372036854775808"),
        USAGE,
        "--max-events must be at most 9223372036854775807, got 9223372036854775808.",
    ),
    "output in no folder": (
        top("good.parquet", "-o", "none/top.csv"),
        DATA,
        "Cannot write none/top.csv: the folder none does not exist.",
    ),
    "output of unknown kind": (
        top("good.parquet", "-o", "top.xls"),
        USAGE,
        "--output must end in one of .csv, .tsv, .parquet, .json, got top.xls.",
    ),
    "checkpoint in no folder": (
        top("good.parquet", "--checkpoint", "none/run.hc"),
        DATA,
        "Cannot write none/run.hc: the folder none does not exist.",
    ),
    "checkpoint that is data": (
        top("good.parquet", "--checkpoint", "other.hc"),
        DATA,
        "other.hc is not a hushcount sketch.",
    ),
    "SQL that does not parse": (
        ("top", "--sql", "SELEC 'secret'", "-c", "url", *BUDGET),
        USAGE,
        "The SQL query does not parse.",
    ),
    "SQL that fails": (
        ("top", "--sql", "SELECT url::INT AS url FROM 'good.parquet'", "-c", "url", *BUDGET),
        DATA,
        "The SQL query failed on the data.",
    ),
    "standard input without format": (
        top("-"),
        USAGE,
        "Standard input needs --format, one of lines, csv, tsv, jsonl, parquet, arrow, combined, common.",
    ),
    "corrupted sketch": (
        ("release", "corrupted.hc", *BUDGET),
        DATA,
        "corrupted.hc is damaged: its contents do not match its checksum.",
    ),
    "truncated sketch": (
        ("inspect", "truncated.hc"),
        DATA,
        "truncated.hc is damaged: its contents do not match its checksum.",
    ),
    "not a sketch": (("release", "other.hc", *BUDGET), DATA, "other.hc is not a hushcount sketch."),
    "missing sketch": (("inspect", "none.hc"), DATA, "none.hc does not exist."),
    "newer sketch": (
        ("release", "newer.hc", *BUDGET),
        DATA,
        "newer.hc was written by a newer hushcount (format 99, this one reads up to 1).",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence(folder, capfd, case):
    arguments, code, sentence = CASES[case]
    before = sorted(os.listdir())
    assert main(list(arguments)) == code
    captured = capfd.readouterr()
    assert captured.err == f"{sentence}\n"
    assert captured.out == ""
    assert "secret" not in captured.err
    assert sorted(os.listdir()) == before


def test_output_not_writable(folder, capfd, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(list(top("good.parquet", "-o", "top.csv"))) == DATA
    text = "Cannot write top.csv: permission denied, or it is a folder.\n"
    assert capfd.readouterr().err == text


def test_as_a_program(folder):
    """The same through a process of its own: exit code, and nothing else on either stream."""
    command = [sys.executable, "-m", "hushcount", *top("truncated.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (DATA, "", f"truncated.parquet {DEFECT}\n")


def test_a_reader_that_leaves_early(folder):
    """A pipe that closes, as `head` does, is no reason to complain."""
    command = f"{sys.executable} -m hushcount {' '.join(top('good.parquet'))} 2>errors.txt | true"
    subprocess.run(command, shell=True, check=True)
    assert "Traceback" not in Path("errors.txt").read_text()
    assert "BrokenPipe" not in Path("errors.txt").read_text()


def shell(command):
    """Run the program, called $HUSHCOUNT, in a shell that closes or fills its streams."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment = {**buffered, "HUSHCOUNT": f"{sys.executable} -m hushcount"}
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False, env=environment)


def test_standard_input_closed(folder):
    done = shell("$HUSHCOUNT top - --format lines --epsilon 1 --delta 1e-6 <&-")
    assert (done.returncode, done.stdout, done.stderr) == (DATA, "", "Standard input is closed.\n")


def test_standard_output_full(folder):
    done = shell("$HUSHCOUNT top good.csv --epsilon 1 --delta 1e-6 >/dev/full")
    assert done.returncode == DATA
    assert done.stderr.splitlines()[1:] == ["Cannot write to standard output: no space left on device."]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_leave_the_output_alone(folder, closed):
    done = shell(f"$HUSHCOUNT top good.csv --epsilon 1 --delta 1e-6 -o top.csv {closed}")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert Path("top.csv").read_text().startswith('"key","count","lower","upper"\n"secret",')
    assert ("key\tcount" in done.stdout) == (closed == "2>&-")
