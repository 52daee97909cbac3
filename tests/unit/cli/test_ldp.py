"""`hushcount ldp`: manifest, reports, aggregate, simulation, and bad input."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.cli.main import main
from hushcount.ldp.client.client import Client
from hushcount.ldp.wire.manifest import Manifest

NEW = ("new", "m.json", "--items", "words:4", "--epsilon", "4", "--users", "20000", "--threshold", "3000")
WORDS = ["tea"] * 9000 + ["milk"] * 7000 + ["toolong", None] * 1500 + [f"w{i % 26:c}" for i in range(1000)]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"word": WORDS}), "words.parquet")

    def call(*arguments):
        code = main(["ldp", *arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def campaign(run):
    """A manifest and the reports of all rows."""
    assert run(*NEW)[0] == 0
    assert run("randomise", "m.json", "words.parquet", "--column", "word", "-o", "r.bin")[0] == 0
    return run


def keys(out):
    return [line.split("\t")[0] for line in out.splitlines()[1:]]


def test_new_foresees_what_can_be_found(run):
    code, out, _ = run(*NEW)
    facts = dict(line.split("\t") for line in out.splitlines())
    assert code == 0
    assert facts["campaign"] == Manifest.load("m.json").id
    assert (facts["threshold"], facts["item"]) == ("3,000 users", "20 bits")
    assert facts["if counts were rank^-1.2"].startswith("precision 0.")
    assert "least count found reliably" in facts


def test_every_row_reports(campaign):
    assert Path("r.bin").stat().st_size == 18 * len(WORDS)


def test_aggregate(campaign):
    code, out, err = campaign("aggregate", "m.json", "r.bin")
    assert (code, keys(out)) == (0, ["tea", "milk"])
    assert f"{len(WORDS):,} reports counted." in err
    assert "Protects the item of one user, from the collector too." in err


def test_lines_say_the_same_as_packed_reports(campaign):
    lines = [Path("r.bin").read_bytes()[start : start + 18].hex() for start in range(0, 18 * len(WORDS), 18)]
    Path("r.txt").write_text("\n".join(lines) + "\n")
    packed = campaign("aggregate", "m.json", "r.bin")
    assert campaign("aggregate", "m.json", "r.txt")[:2] == packed[:2]


def test_randomise_writes_lines(campaign):
    campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "lines.txt")
    lines = Path("lines.txt").read_text().splitlines()
    assert len(lines) == len(WORDS)
    assert {len(line) for line in lines} == {36}
    assert keys(campaign("aggregate", "m.json", "lines.txt")[1]) == ["tea", "milk"]


def test_state_keeps_the_reports(campaign):
    data = Path("r.bin").read_bytes()
    Path("first.bin").write_bytes(data[: 18 * 10000])
    Path("second.bin").write_bytes(data[18 * 10000 :])
    campaign("aggregate", "m.json", "first.bin", "--state", "kept.hc")
    whole = campaign("aggregate", "m.json", "r.bin")
    assert campaign("aggregate", "m.json", "second.bin", "--state", "kept.hc")[:2] == whole[:2]
    assert campaign("aggregate", "m.json", "--state", "kept.hc")[:2] == whole[:2]
    _, out, err = campaign("aggregate", "m.json", "first.bin", "--state", "kept.hc")
    assert out == whole[1]
    assert "refused: 10,000 duplicate." in err


def test_bad_reports_are_counted_by_reason(campaign):
    good = Path("r.bin").read_bytes()
    other_version, other_campaign, symbol = bytearray(good[:18]), bytearray(good[:18]), bytearray(good[:18])
    other_version[0], other_campaign[3], symbol[17] = 2, other_campaign[3] ^ 1, 255
    bad = bytes(other_campaign + symbol + other_version)
    Path("bad.bin").write_bytes(good + bad + b"\x01\x02")
    _, _, err = campaign("aggregate", "m.json", "bad.bin")
    assert f"{len(WORDS):,} reports counted; refused: 1 length, 1 version, 1 campaign, 1 symbol." in err
    Path("bad.txt").write_text("01zz\n" + good[:18].hex() + "\n")
    _, _, err = campaign("aggregate", "m.json", "bad.txt", "r.bin")
    assert "refused: 1 length, 1 duplicate." in err


def test_output_json_and_limit(campaign):
    code, out, _ = campaign("aggregate", "m.json", "r.bin", "--json", "-o", "top.csv", "--limit", "1")
    values = json.loads(out)
    assert (code, [row["key"] for row in values["rows"]]) == (0, ["tea"])
    assert values["guarantee"]["delta"] == 0
    assert len(Path("top.csv").read_text().splitlines()) == 2


def test_a_pure_client_is_counted_too(campaign):
    manifest = Manifest.load("m.json")
    Path("one.bin").write_bytes(Client(manifest, 12345).report("tea"))
    assert f"{len(WORDS) + 1:,} reports counted." in campaign("aggregate", "m.json", "r.bin", "one.bin")[2]


@pytest.mark.parametrize("protocol", ["tree-hist", "bitstogram", "bitstogram-binary"])
def test_simulate(run, protocol):
    options = ("--items", "words:4", "--epsilon", "4", "--threshold", "3000", "--protocol", protocol)
    code, out, err = run("simulate", "words.parquet", "-c", "word", *options)
    rows = [line.split("\t") for line in out.splitlines()]
    assert (code, rows[0]) == (0, ["key", "count", "lower", "upper", "true"])
    assert [(row[0], row[4]) for row in rows[1:]] == [("tea", "9000"), ("milk", "7000")]
    assert err.startswith("Not private: a simulation shows true counts.\n")
    assert "precision 1.000, recall 1.000" in err


def test_simulate_json_with_truncation(run):
    options = ("--items", "words:2", "--truncate", "--epsilon", "4", "--threshold", "1000", "--json")
    code, out, _ = run("simulate", "words.parquet", "-c", "word", *options)
    values = json.loads(out)
    assert code == 0
    assert {row["key"]: row["true"] for row in values["rows"]} == {"te": 9000, "mi": 7000, "to": 1500}


def test_integers_are_read_as_numbers(run):
    Path("n.csv").write_text("n\n" + "7\n" * 5000 + "9\n" * 3000)
    options = ("--items", "integers:8", "--epsilon", "4", "--threshold", "1000")
    _, out, _ = run("simulate", "n.csv", "-c", "n", *options)
    assert keys(out) == ["7", "9"]


def test_categories_come_from_a_file(run):
    Path("drinks.txt").write_text("tea\nmilk\nwater\n")
    options = ("--items", "categories:drinks.txt", "--epsilon", "4", "--threshold", "3000")
    assert keys(run("simulate", "words.parquet", "-c", "word", *options)[1]) == ["tea", "milk"]


PLAIN = ("new", "m2.json", "--items", "words:4", "--epsilon", "1", "--users", "10")
BAD = {
    "items": (
        ("new", "m2.json", "--items", "poems:4", "--epsilon", "1", "--users", "10"),
        "items must be one of words:LENGTH[:ALPHABET], packed-words:LENGTH[:ALPHABET], bytes:LENGTH,"
        " integers:BITS or categories:FILE, got 'poems:4'.\n",
    ),
    "epsilon": (
        ("new", "m2.json", "--items", "words:4", "--epsilon", "0", "--users", "10"),
        None,
    ),
    "users": (
        ("new", "m2.json", "--items", "words:4", "--epsilon", "1", "--users", "0"),
        "users must be at least 1, got 0.\n",
    ),
    "no categories": (
        ("new", "m2.json", "--items", "categories:none.txt", "--epsilon", "1", "--users", "10"),
        "Cannot read none.txt: no such file or directory.\n",
    ),
    "truncated integers": (
        ("new", "m2.json", "--items", "integers:4", "--truncate", "--epsilon", "1", "--users", "10"),
        "truncate is for words and bytes, got integers.\n",
    ),
    "no manifest": (
        ("aggregate", "none.json", "r.bin"),
        "Cannot read none.json: no such file or directory.\n",
    ),
    "no reports": (
        ("aggregate", "m.json"),
        "REPORTS must be given, files or - for standard input.\n",
    ),
    "missing reports": (
        ("aggregate", "m.json", "none.bin"),
        "Cannot read none.bin: no such file or directory.\n",
    ),
    "paper with bits": (
        (*PLAIN, "--protocol", "tree-hist-paper", "--symbol-bits", "2"),
        "tree-hist-paper has responses of one bit; leave out symbol_bits.\n",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), BAD.values(), ids=BAD)
def test_bad_input(campaign, arguments, text):
    code, out, err = campaign(*arguments)
    assert (code in (1, 2), out, len(err.splitlines())) == (True, "", 1)
    assert text in (None, err)
    assert not Path("m2.json").exists()


def test_an_edited_manifest_is_refused(campaign):
    Path("m.json").write_text(Path("m.json").read_text().replace('"users":20000', '"users":20001'))
    code, out, err = campaign("aggregate", "m.json", "r.bin")
    assert (code, out) == (1, "")
    assert err == "the id must fit the manifest, which was edited or damaged.\n"


def test_zero_reports_have_no_answer(campaign):
    Path("empty.bin").write_bytes(b"")
    code, out, err = campaign("aggregate", "m.json", "empty.bin")
    assert (code, out) == (1, "")
    assert err.endswith(
        "No report belongs to this campaign, so nothing can be estimated."
        " Check that the clients used the same manifest.\n"
    )


def test_reports_of_an_ended_campaign(campaign, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1e11)
    code, _, err = campaign("aggregate", "m.json", "r.bin")
    assert code == 1
    assert f"refused: {len(WORDS):,} expired." in err
    assert keys(campaign("aggregate", "m.json", "r.bin", "--collected-in-time")[1]) == ["tea", "milk"]
    code, _, err = campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "late.bin")
    assert (code, Path("late.bin").exists()) == (1, False)
