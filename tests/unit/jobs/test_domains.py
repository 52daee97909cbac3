"""Public domains: ranges, lists and files; keys outside are dropped without a word."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushcount as hc
from hushcount.cli.main import main
from hushcount.errors import HushcountError, KeyTypeError, ParameterError
from hushcount.jobs.domains import read_domain

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
    with pytest.raises(KeyTypeError) as refused:
        hc.top("events.csv", column="key", domain="0..9", **PURE)
    assert str(refused.value) == "domain holds integers, keys are string; read them as whole numbers."


def test_refusals(folder):
    with pytest.raises(ParameterError, match=r"^delta must be 0 with a public domain, got 1e-06\.$"):
        hc.top("events.csv", column="key", domain="known.txt", epsilon=1.0, delta=1e-6)
    with pytest.raises(ParameterError, match=r"^delta must be strictly between 0 and 1, got 0\.$"):
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
