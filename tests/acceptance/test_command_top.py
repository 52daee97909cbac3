"""`hushcount top`: what goes to standard output, what to standard error, and what to files."""

import json
import os
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hushcount.cli.main import main

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
ONE_STREAM = (
    "floor",
    "pmg",
    "pmg-paper",
    "pmg-standard",
    "chan",
    "dpss",
    "public-floor",
    "laplace-threshold",
    "truncated-geometric",
)
KEYS = ["tea"] * 900 + ["milk"] * 600 + ["salt"] * 300 + [f"secret{i}" for i in range(50)]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"item": KEYS, "shop": ["a", "b", None] * 616 + ["a", "b"]}), "a.parquet")

    def call(*arguments):
        code = main(list(arguments))
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


def test_pipe(run):
    code, out, err = run("top", "a.parquet", "--column", "item", *BUDGET)
    assert code == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert lines[0] == ["key", "count", "lower", "upper"]
    assert [line[0] for line in lines[1:]] == ["tea", "milk", "salt"]
    assert all(int(low) <= int(count) <= int(high) for _, count, low, high in lines[1:])
    assert abs(int(lines[1][1]) - 900) < 60  # e^-60: never
    assert err.startswith("Protects one event, not one person.\nPrivacy   (1, 1e-06)-differential privacy")
    assert "Accuracy  With confidence 0.95" in err
    assert "Null keys are dropped." in err
    assert "secret" not in out + err


def test_table(run):
    code, out, _ = run("top", "a.parquet", "-c", "item", *BUDGET, "--table", "--confidence", "0.9")
    assert code == 0
    assert out.splitlines()[1].split() == ["#", "key", "count", "90%", "interval"]
    assert out.splitlines()[3].split()[:2] == ["1", "tea"]
    assert "█" * 20 in out


def test_json(run):
    code, out, err = run("top", "a.parquet", "-c", "item", *BUDGET, "--json", "--limit", "2")
    assert (code, err) == (0, "Protects one event, not one person.\n")
    values = json.loads(out)
    assert (values["hushcount"], values["kind"]) == (2, "release")
    assert [row["key"] for row in values["rows"]] == ["tea", "milk"]
    assert values["guarantee"]["epsilon"] == "1"
    assert out.count("\n") == 1


def test_cuts(run):
    assert run("top", "a.parquet", "-c", "item", *BUDGET, "--limit", "1")[1].count("\n") == 2
    assert run("top", "a.parquet", "-c", "item", *BUDGET, "--min-count", "450")[1].count("\n") == 3


def test_output(run):
    for name in ("top.csv", "top.parquet", "top.json", "top.tsv"):
        assert run("top", "a.parquet", "-c", "item", *BUDGET, "-o", name)[0] == 0
    assert csv.read_csv("top.csv")["key"].to_pylist() == ["tea", "milk", "salt"]
    assert parquet.read_table("top.parquet").column_names == ["key", "count", "lower", "upper"]
    names = sorted(os.listdir())
    assert names == ["a.parquet", "top.csv", "top.json", "top.parquet", "top.tsv"]
    assert os.stat("top.csv").st_mode & 0o777 == 0o644


def test_several_columns(run):
    code, out, err = run("top", "a.parquet", "-c", "item", "-c", "shop", *BUDGET)
    assert code == 0
    assert out.splitlines()[0] == "item\tshop\tcount\tlower\tupper"
    assert out.splitlines()[1].startswith(("tea\ta\t", "tea\tb\t"))
    assert "Rows with a null in a key column are dropped." in err


def test_sql(run):
    query = "SELECT upper(item) AS item FROM 'a.parquet'"
    code, out, err = run("top", "--sql", query, "--column", "item", *BUDGET)
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()[1:]] == ["TEA", "MILK", "SALT"]
    assert err.startswith("Protects one row of the SQL result, not one person.\n")
    assert "The unit is one row of the SQL result." in err


def test_whole_numbers(run):
    duckdb.sql("COPY (SELECT i % 3 AS n FROM range(3000) r(i)) TO 'n.csv'")
    assert [line[0] for line in run("top", "n.csv", *BUDGET, "--type", "int")[1].splitlines()[1:]]
    values = json.loads(run("top", "n.csv", *BUDGET, "--type", "int", "--json")[1])
    assert {row["key"] for row in values["rows"]} == {0, 1, 2}
    values = json.loads(run("top", "n.csv", *BUDGET, "--json")[1])
    assert {row["key"] for row in values["rows"]} == {"0", "1", "2"}


@pytest.mark.parametrize("mechanism", ONE_STREAM)
def test_mechanisms(run, mechanism):
    bound = ("--max-events", "2000", "--counters", "64")
    options = ("--mechanism", mechanism, *bound, "--json")
    code, out, err = run("top", "a.parquet", "-c", "item", *BUDGET, *options)
    assert code == 0, err
    rows = json.loads(out)["rows"]
    if mechanism != "chan":  # its noise grows with the counters
        assert [row["key"] for row in rows] == ["tea", "milk", "salt"]


def test_control_characters(run):
    keys = ["\x1b[2Jred", "tab\there", "back\\slash"]
    parquet.write_table(pa.table({"item": keys * 200}), "c.parquet")
    shown = run("top", "c.parquet", *BUDGET, "--table")[1]
    assert "\\x1b[2Jred" in shown
    assert "\x1b" not in shown
    piped = run("top", "c.parquet", *BUDGET)[1]
    assert {line.split("\t")[0] for line in piped.splitlines()[1:]} == {
        "\x1b[2Jred",
        "tab\\there",
        "back\\\\slash",
    }


def reliable(err):
    """What is said to be published reliably, a number that depends on the noisy floor."""
    return re.search(r"about [0-9]+ events", err)[0]


def hides(err):
    """What the noisy floor is said to hide, if it is above 0."""
    found = re.search(r": it hides keys below about [0-9]+", err)
    return found[0] if found else ""


def test_nothing_to_publish(run):
    parquet.write_table(pa.table({"item": [f"secret{i}" for i in range(100)]}), "n.parquet")
    code, out, err = run("top", "n.parquet", *BUDGET, "--table")
    assert code == 0
    assert err.splitlines()[1:6] == [
        "Empty     No key was published. Possible causes, the same for any data:",
        f"          - every key is too rare for this budget: {reliable(err)} are published reliably;",
        f"          - the sketch has too few counters (--counters){hides(err)};",
        "          - other keys of the users were kept (--max-keys), or rows were cut (--min-count);",
        "          - the keys are null, malformed, or outside the domain (--domain).",
    ]
    assert "secret" not in out + err


def test_no_rows(run):
    Path("none.csv").write_text("item\n")
    assert run("top", "none.csv", *BUDGET)[:2] == (0, "key\tcount\tlower\tupper\n")


def test_longer_than_public(run):
    code, out, err = run("top", "a.parquet", "-c", "item", *BUDGET, "--max-events", "1000", "-o", "t.csv")
    assert (code, out) == (1, "")
    assert err == (
        "The data hold more than --max-events = 1000 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee.\n"
    )
    assert not os.path.exists("t.csv")


def test_counts_of_raw_rows_are_nowhere(run):
    _, out, err = run("top", "a.parquet", "-c", "item", *BUDGET, "--json", "-o", "t.json")
    text = out + err + Path("t.json").read_text()
    assert "1850" not in text
    assert "rows_read" not in text


def test_checkpoint_is_removed(run):
    code, _, err = run("top", "a.parquet", "-c", "item", *BUDGET, "--checkpoint", "run.hc")
    assert code == 0
    assert err.endswith("Checkpoint  run.hc is removed; running again would spend the budget again.\n")
    assert not os.path.exists("run.hc")


def test_signed_json_csv_for_spreadsheets_and_sidecars(run, tmp_path):
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    Path("key.pem").write_bytes(
        key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    )
    asked = ("top", "a.parquet", "-c", "item", *BUDGET)
    assert run(*asked, "--output", "t.json", "--sign", "key.pem", "--source-name", "shop")[0] == 0
    values = json.loads(Path("t.json").read_text())
    key.public_key().verify(
        bytes.fromhex(values["signature"]["value"]), b"hushcount-release-2\n" + values["digest"].encode()
    )
    assert values["made"]["source_name"] == "shop"
    assert "a.parquet" not in Path("t.json").read_text()
    assert run(*asked, "-o", "t.csv", "--excel", "--sidecar")[0] == 0
    assert json.loads(Path("t.csv.json").read_text())["guarantee"]["epsilon"] == "1"
    for refused, text in (
        (("--sign", "key.pem"), "--sign, --excel, --sidecar and --if-exists need --output.\n"),
        (("-o", "u.csv", "--sign", "key.pem"), "--sign needs an output that ends in .json, got u.csv.\n"),
        (("-o", "u.json", "--excel"), "--excel needs an output that ends in .csv or .tsv, got u.json.\n"),
        (("-o", "u.json", "--sign", "no.pem"), "Cannot read the key no.pem: no such file or directory.\n"),
    ):
        code, out, err = run(*asked, *refused)
        assert (out, err) == ("", text)
        assert code in (1, 2)
        assert not list(tmp_path.glob("u.*"))
