"""Windows of any kind of source, and public domains: the rows inside alone, others dropped without a word."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import HushcountError, KeyTypeError, ParameterError
from hushcount.jobs.request import Request
from hushcount.sources.open import read_domain

START = datetime(2026, 11, 14, 12)
TIMES = [START + timedelta(hours=place) for place in range(60)]
KEYS = [f"k{place % 3}" for place in range(60)]
INSIDE = [key for key, time in zip(KEYS, TIMES, strict=True) if time.day == 15]
ASKED = {"window": "2026-11-15", "time": "when"}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"when": time.isoformat(), "key": key, "who": str(key)} for key, time in zip(KEYS, TIMES, strict=True)
    ]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    pq.write_table(table(), "rows.parquet")


def table():
    return pa.table({"key": KEYS, "when": pa.array(TIMES, pa.timestamp("us")), "who": KEYS})


def keys(data, **more):
    source = Request(data, "key", **(ASKED | more)).open()
    return sorted(key for batch in source.batches() for key in batch.keys.to_pylist())


@pytest.mark.parametrize(
    "data",
    [
        "rows.csv",
        "rows.jsonl",
        "rows.parquet",
        table,
        lambda: table().to_pandas(),
        lambda: pl.from_arrow(table()),
        lambda: pl.from_arrow(table()).lazy(),
    ],
)
def test_every_source_has_windows(data):
    assert keys(data() if callable(data) else data) == sorted(INSIDE)


def test_queries_have_windows():
    source = Request(None, "key", sql="SELECT * FROM 'rows.parquet'", **ASKED).open()
    assert sorted(key for batch in source.batches() for key in batch.keys.to_pylist()) == sorted(INSIDE)


def test_one_column_of_keys_has_no_times():
    with pytest.raises(hc.errors.ParameterError) as refused:
        Request(pa.array(KEYS), "key", **ASKED).open()
    assert str(refused.value) == "time must name a column, but the data are one column of keys."


def test_the_columns_are_those_of_the_keys():
    source = Request("rows.parquet", ["key", "who"], **ASKED).open()
    assert source.columns.names == ("key", "who")
    assert source.decode(next(source.batches()).keys).column_names == ["key", "who"]
    assert source.notes[-1] == (
        "Only rows of the window 2026-11-15T00:00:00Z/2026-11-16T00:00:00Z are counted, by when."
    )


def test_a_window_has_a_fingerprint_of_its_own():
    prints = [
        Request("rows.csv", "key", window=window, time="when").open().fingerprint
        for window in ("2026-11-15", "2026-11-16", "2026-11-15")
    ]
    assert prints[0] == prints[2] != prints[1]
    assert prints[0] != Request("rows.csv", "key").open().fingerprint


def test_users_in_a_window():
    release = hc.top(
        "rows.csv", column="key", user="who", max_keys=2, epsilon=5.0, delta=1e-3, exact=True, **ASKED
    )
    assert any("2026-11-15T00:00:00Z" in note for note in release.notes)


def test_no_row_outside_is_kept_whatever_the_zone():
    assert len(keys("rows.parquet", time_zone="Asia/Tokyo")) == 24
    assert keys("rows.parquet", time_zone="Asia/Tokyo") == sorted(INSIDE)


PURE = {"epsilon": 1.0, "delta": 0}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.txt").write_text("tea\nmilk\ntea\njam\n")
    (tmp_path / "numbers.txt").write_text("1\n2\n3\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "events.csv").write_text("key,user\n" + "tea,1\n" * 900 + "private,2\n" * 800 + "7,3\n" * 700)
    return tmp_path


def test_files_of_keys(folder):
    assert read_domain("known.txt").size == 3
    assert read_domain(folder / "known.txt").size == 3
    assert read_domain("numbers.txt", "int").key_type == pa.int64()
    pq.write_table(pa.table({"k": ["a", "b"]}), "known.parquet")
    assert read_domain("known.parquet").size == 2
    assert read_domain("-3..3").size == 7
    assert read_domain(["a", "b"]).size == 2
    assert read_domain(None) is None


@pytest.mark.parametrize(
    ("domain", "sentence"),
    [
        ("missing.txt", "domain must be A..B or a file of keys, got missing.txt."),
        ("empty.txt", "empty.txt is empty."),
        ("5..1", "last must be at least first = 5, got 1."),
        ("a..b", "domain must be A..B or a list of keys, got 'a..b'."),
    ],
)
def test_bad_domains(folder, domain, sentence):
    with pytest.raises(HushcountError) as refused:
        hc.top("events.csv", column="key", domain=domain, **PURE)
    assert str(refused.value) == sentence


def test_keys_outside_are_dropped_without_a_word(folder, capfd):
    arguments = ["top", "events.csv", "--column", "key", "--domain", "known.txt", "--counters", "16"]
    assert main([*arguments, "--epsilon", "1", "--delta", "0"]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines()[1].startswith("tea\t")
    assert "private" not in captured.out + captured.err
    assert {line.split("\t")[0] for line in captured.out.splitlines()[1:]} <= {"tea", "milk", "jam"}


def test_ranges_of_whole_numbers(folder, capfd):
    (folder / "numbers.csv").write_text("key\n" + "7\n" * 900 + "700000\n" * 900)
    arguments = [
        "top",
        "numbers.csv",
        "--column",
        "key",
        "--domain",
        "0..99",
        "--type",
        "int",
        "--limit",
        "1",
    ]
    assert main([*arguments, "--counters", "16", "--epsilon", "1", "--delta", "0"]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines()[1].startswith("7\t")
    assert "(1, 0)-differential privacy" in captured.err
    assert "700000" not in captured.out + captured.err


def test_types_are_compared_before_counting(folder):
    days = pa.array([0] * 10, pa.date32())
    pq.write_table(pa.table({"key": days, "number": [1] * 10}), "days.parquet")
    for domain, column, sentence in (
        ("0..9", "key", "domain holds integers, keys are date32[day]; read them as whole numbers."),
        ("known.txt", "number", "domain holds string, keys are int64."),
    ):
        with pytest.raises(KeyTypeError) as refused:
            hc.top("days.parquet", column=column, domain=domain, **PURE)
        assert str(refused.value) == sentence


@pytest.mark.parametrize("key_type", ["auto", "int"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("user", [None, "user"])
def test_text_that_is_no_number_of_the_domain_is_dropped_without_a_word(folder, key_type, ending, user):
    """An error would tell that somebody wrote it."""
    strange = ["private", "", "1.5", "-3", "9" * 40, "0x07", str(1 << 64)]
    keys = (["7"] * 900 + [" 007"] * 100) + strange * 300
    if ending == "csv":
        lines = ["key,user", *(f"{key},{index}" for index, key in enumerate(keys))]
    else:
        lines = [f'{{"key": "{key}", "user": {index}}}' for index, key in enumerate(keys)]
    (folder / f"all.{ending}").write_text("\n".join(lines) + "\n")
    options = {} if user is None else {"user": user, "max_keys": 1}
    release = hc.top(
        f"all.{ending}", column="key", domain="0..9", key_type=key_type, counters=64, **options, **PURE
    )
    assert release.keys.column("key").type == pa.int64()
    top = release.at_confidence(1 - 1e-9).table.to_pylist()[0]
    assert top["key"] == 7
    assert 900 < top["count"] < 1100  # " 007" is seven, and no counter is spent on what is dropped
    assert "Keys outside the domain are dropped." in release.notes


def test_a_range_of_64_bits_in_text(folder):
    largest = (1 << 64) - 1
    (folder / "wide.csv").write_text("key\n" + f"{largest}\n" * 3000)
    release = hc.top("wide.csv", column="key", domain=f"0..{largest}", counters=4, **PURE)
    assert release.keys.column("key")[0].as_py() == largest
    assert release.keys.column("key").type == pa.uint64()


def test_a_checkpoint_belongs_to_its_domain(folder):
    from hushcount.jobs.request import Request

    prints = {
        Request("events.csv", "key", domain=read_domain(domain)).open().fingerprint
        for domain in ("0..9", "0..8", "known.txt", "numbers.txt", None)
    }
    assert len(prints) == 5
    assert Request(["tea"], domain=read_domain(["tea"])).open().fingerprint == ""


def test_refusals(folder):
    with pytest.raises(ParameterError, match=r"^delta must be 0 with a public domain, got 1e-06\.$"):
        hc.top("events.csv", column="key", domain="known.txt", epsilon=1.0, delta=1e-6)
    with pytest.raises(
        ParameterError, match=r"^delta must be strictly between 0 and 1, got 0; or give a public domain\.$"
    ):
        hc.top("events.csv", column="key", **PURE)
    with pytest.raises(ParameterError, match=r"^domain is for one key column, got 2\.$"):
        hc.top("events.csv", column=["key", "user"], domain="known.txt", **PURE)
    with pytest.raises(ParameterError, match=r"^mechanism must be one of pure, pure-bounded with a domain"):
        hc.top("events.csv", column="key", domain="known.txt", mechanism="floor", **PURE)


def test_a_sketch_file_is_released_over_a_domain(folder, capfd):
    assert main(["sketch", "events.csv", "--column", "key", "--counters", "16", "-o", "all.hc"]) == 0
    capfd.readouterr()
    assert main(["release", "all.hc", "--domain", "known.txt", "--epsilon", "1", "--delta", "0"]) == 0
    assert capfd.readouterr().out.splitlines()[1].startswith("tea\t")
