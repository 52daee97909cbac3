"""`hushcount ldp`: manifest, reports, aggregate, simulation, and bad input."""

import fcntl
import json
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushcount.cli.main import main
from hushcount.ldp.client.client import Client
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest, canonical
from hushcount.ldp.wire.questions import Prefix

NEW = ("new", "m.json", "--items", "words:4", "--epsilon", "4", "--users", "20000", "--threshold", "3000")
WORDS = ["tea"] * 9000 + ["milk"] * 7000 + ["toolong", None] * 1500 + [f"w{i % 26:c}" for i in range(1000)]


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # whole sentences on one line
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
    assert facts["if counts were proportional to rank^-1.2"].startswith("precision 0.")
    assert "smallest count found reliably" in facts


def test_new_states_no_share_of_nothing(run):
    """Before, precision 0.000 and recall 1.000 of 0 items."""
    code, out, _ = run("new", "n.json", "--items", "words:4", "--epsilon", "0.001", "--users", "1000")
    facts = dict(line.split("\t") for line in out.splitlines())
    assert code == 0
    assert facts["if counts were proportional to rank^-1.2"] == "no item would be above the threshold"


def test_every_row_reports(campaign):
    assert Path("r.bin").stat().st_size == 27 * len(WORDS)


def test_aggregate(campaign):
    code, out, err = campaign("aggregate", "m.json", "r.bin")
    assert (code, keys(out)) == (0, ["tea", "milk"])
    assert f"{len(WORDS):,} reports counted." in err
    assert "Protects the item of one user, from the collector too." in err


def test_lines_say_the_same_as_packed_reports(campaign):
    lines = [Path("r.bin").read_bytes()[start : start + 27].hex() for start in range(0, 27 * len(WORDS), 27)]
    Path("r.txt").write_text("\n".join(lines) + "\n")
    packed = campaign("aggregate", "m.json", "r.bin")
    assert campaign("aggregate", "m.json", "r.txt")[:2] == packed[:2]


def test_randomise_writes_lines(campaign):
    campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "lines.txt")
    lines = Path("lines.txt").read_text().splitlines()
    assert len(lines) == len(WORDS)
    assert {len(line) for line in lines} == {54}
    assert keys(campaign("aggregate", "m.json", "lines.txt")[1]) == ["tea", "milk"]


def test_state_keeps_the_reports(campaign):
    data = Path("r.bin").read_bytes()
    Path("first.bin").write_bytes(data[: 27 * 10000])
    Path("second.bin").write_bytes(data[27 * 10000 :])
    campaign("aggregate", "m.json", "first.bin", "--state", "kept.hc")
    whole = campaign("aggregate", "m.json", "r.bin")
    assert campaign("aggregate", "m.json", "second.bin", "--state", "kept.hc")[:2] == whole[:2]
    assert campaign("aggregate", "m.json", "--state", "kept.hc")[:2] == whole[:2]
    _, out, err = campaign("aggregate", "m.json", "first.bin", "--state", "kept.hc")
    assert out == whole[1]
    assert "refused: 10,000 with a nonce that came before." in err


def test_bad_reports_are_counted_by_reason(campaign):
    good = Path("r.bin").read_bytes()
    other_version, other_campaign, symbol = bytearray(good[:27]), bytearray(good[:27]), bytearray(good[:27])
    other_version[0], other_campaign[3], symbol[26] = 1, other_campaign[3] ^ 1, 255
    bad = bytes(other_campaign + symbol + other_version)
    Path("bad.bin").write_bytes(good + bad + b"\x01\x02")
    _, _, err = campaign("aggregate", "m.json", "bad.bin")
    refused = "1 of a wrong length, 1 of another version, 1 of another campaign, 1 with an impossible symbol"
    assert f"{len(WORDS):,} reports counted; refused: {refused}." in err
    Path("bad.txt").write_text("01zz\n" + good[:27].hex() + "\n")
    _, _, err = campaign("aggregate", "m.json", "bad.txt", "r.bin")
    assert "refused: 1 of a wrong length, 1 with a nonce that came before." in err


def test_output_json_and_limit(campaign):
    code, out, _ = campaign("aggregate", "m.json", "r.bin", "--json", "-o", "top.csv", "--limit", "1")
    values = json.loads(out)
    assert (code, [row["key"] for row in values["rows"]]) == (0, ["tea"])
    assert values["guarantee"]["delta"] == "0"
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
        "--items must be one of words:LENGTH[:ALPHABET], packed-words:LENGTH[:ALPHABET], bytes:LENGTH,"
        " integers:BITS or categories:FILE, got 'poems:4'.\n",
    ),
    "epsilon": (
        ("new", "m2.json", "--items", "words:4", "--epsilon", "0", "--users", "10"),
        None,
    ),
    "users": (
        ("new", "m2.json", "--items", "words:4", "--epsilon", "1", "--users", "0"),
        "--users must be at least 1, got 0.\n",
    ),
    "no categories": (
        ("new", "m2.json", "--items", "categories:none.txt", "--epsilon", "1", "--users", "10"),
        "Cannot read none.txt: no such file or directory.\n",
    ),
    "truncated integers": (
        ("new", "m2.json", "--items", "integers:4", "--truncate", "--epsilon", "1", "--users", "10"),
        "--truncate is for words and bytes, got integers.\n",
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
        "tree-hist-paper sends one bit, so leave out --symbol-bits.\n",
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
    assert err == "the id is not that of this manifest, which was edited or damaged.\n"


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
    assert f"refused: {len(WORDS):,} after the end of the campaign." in err
    assert keys(campaign("aggregate", "m.json", "r.bin", "--collected-in-time")[1]) == ["tea", "milk"]
    code, _, err = campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "late.bin")
    assert (code, Path("late.bin").exists()) == (1, False)


# Files of reports


def reports_of(path="r.bin"):
    data = Path(path).read_bytes()
    return [data[start : start + 27] for start in range(0, len(data), 27)]


def test_the_first_bytes_do_not_decide_the_form(campaign):
    """27 characters 0 before good reports once made the whole file a file of lines."""
    Path("zeros.bin").write_bytes(b"0" * 27 + Path("r.bin").read_bytes())
    code, out, err = campaign("aggregate", "m.json", "zeros.bin")
    assert (code, keys(out)) == (0, ["tea", "milk"])
    assert f"{len(WORDS):,} reports counted; refused: 1 of another version." in err


def test_a_short_report_costs_no_other(campaign):
    reports = reports_of()
    reports[6] = reports[6][:17]
    Path("short.bin").write_bytes(b"".join(reports))
    code, out, err = campaign("aggregate", "m.json", "short.bin")
    assert (code, keys(out)) == (0, ["tea", "milk"])
    assert f"{len(WORDS) - 1:,} reports counted; refused: 1 of a wrong length." in err


def test_the_form_comes_from_the_option_or_the_name(campaign):
    lines = "".join(f"{report.hex()}\n" for report in reports_of())
    for name in ("r.txt", "r.HEX", "lines"):
        Path(name).write_text(lines)
    expected = campaign("aggregate", "m.json", "r.bin")[1]
    assert campaign("aggregate", "m.json", "r.txt")[1] == expected
    assert campaign("aggregate", "m.json", "r.HEX")[1] == expected
    assert campaign("aggregate", "m.json", "lines", "--report-format", "hex")[1] == expected
    Path("packed.txt").write_bytes(Path("r.bin").read_bytes())
    assert campaign("aggregate", "m.json", "packed.txt", "--report-format", "packed")[1] == expected
    campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "made", "--report-format", "hex")
    assert len(Path("made").read_text().splitlines()) == len(WORDS)


@pytest.mark.parametrize("state", [(), ("--state", "kept.hc")])
def test_mostly_refused_reports_are_an_error(campaign, state):
    lines = "".join(f"{report.hex()}\n" for report in reports_of()[:50])
    Path("lines.bin").write_text(lines)
    code, out, err = campaign("aggregate", "m.json", "lines.bin", *state)
    assert (code, out) == (1, "")
    assert err == (
        "0 reports counted; refused: 1 of a wrong length, 101 of another version. Most reports were"
        " refused, so nothing was published. Check MANIFEST, --report-format and the files.\n"
    )
    assert not Path("kept.hc").exists()


def test_a_report_sent_again_is_not_malformed(campaign):
    campaign("aggregate", "m.json", "r.bin", "--state", "kept.hc")
    code, _, err = campaign("aggregate", "m.json", "r.bin", "--state", "kept.hc")
    assert code == 0
    assert f"refused: {len(WORDS):,} with a nonce that came before." in err


def test_two_collectors_with_one_state_lose_nothing(campaign):
    """The one that comes second waits, and continues with what the first has kept."""
    reports = reports_of()
    Path("second.bin").write_bytes(b"".join(reports[9000:]))
    command = [sys.executable, "-m", "hushcount", "ldp", "aggregate", "m.json", "--state", "kept.hc"]
    first = subprocess.Popen([*command, "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if is_locked("kept.hc.lock"):
            break
        time.sleep(0.1)
    assert is_locked("kept.hc.lock")
    second = subprocess.Popen([*command, "second.bin"], stdout=subprocess.DEVNULL)
    first.communicate(b"".join(reports[:9000]))
    assert (first.returncode, second.wait(60)) == (0, 0)
    assert Aggregator.load("kept.hc").reports == len(WORDS)


def is_locked(path):
    try:
        with open(path) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def test_an_output_that_is_an_input_is_refused(campaign):
    before = Path("r.bin").read_bytes()
    code, _, err = campaign("aggregate", "m.json", "r.bin", "--state", "r.bin")
    assert (code, err) == (2, "r.bin is read by this run, so it cannot be written; name another file.\n")
    code, _, err = campaign("randomise", "m.json", "words.parquet", "-c", "word", "-o", "words.parquet")
    assert (code, "words.parquet is read by this run" in err) == (2, True)
    assert Path("r.bin").read_bytes() == before


# New campaigns


def test_a_live_manifest_is_not_overwritten(campaign):
    before = Path("m.json").read_bytes()
    code, out, err = campaign(*NEW)
    assert (code, out, Path("m.json").read_bytes()) == (2, "", before)
    assert err == (
        "m.json exists. Reports of its campaign could not be read without it; name another file, or give"
        " --force to replace it.\n"
    )
    assert campaign(*NEW, "--force")[0] == 0
    assert Path("m.json").read_bytes() != before


@pytest.mark.parametrize(
    ("protocol", "items", "bits"), [("hashtogram", "words:6", 30), ("explicit-hist", "integers:24", 24)]
)
def test_items_that_could_never_be_listed_are_refused_at_the_start(run, protocol, items, bits):
    code, out, err = run(
        "new", "m.json", "--items", items, "--protocol", protocol, "--epsilon", "1", "--users", "9"
    )
    assert (code, out, Path("m.json").exists()) == (2, "", False)
    assert err == (
        f"{protocol} can list items of at most 20 bits, and {items} has {bits}."
        " Use tree-hist or bitstogram, or narrower items.\n"
    )


def test_what_is_said_of_questions_and_responses(run):
    code, out, _ = run("new", "m.json", "--items", "words:6", "--epsilon", "2", "--users", "1000000")
    facts = dict(line.split("\t") for line in out.splitlines())
    assert (code, facts["each report"]) == (0, "3 bits, truthful with probability 0.51")
    arguments = ("--items", "integers:200", "--epsilon", "2", "--users", "1000000", "--force")
    facts = dict(line.split("\t") for line in run("new", "m.json", *arguments)[1].splitlines())
    assert facts["questions, by share of users"] == "19 questions, 2.67% to 50%"


def test_too_few_users(run):
    code, _, err = run("new", "m.json", "--items", "words:6", "--epsilon", "0.1", "--users", "1000")
    assert code == 0
    assert err.startswith("With 1,000 users and epsilon 0.1 no item can be found reliably: the smallest")


def test_a_manifest_that_asks_too_much_is_refused_before_reports_are_read(campaign):
    group = Group("1", 1, (Prefix(28, 1, 28),), (ALL_SHARES,))
    Manifest("tree_hist", Integers(28), "1", (group,), 9, 9999999999, {"threshold": 5}).save("large.json")
    text = "the manifest asks the collector for 268,435,456 cells, and at most 134,217,728 are allowed.\n"
    assert campaign("aggregate", "large.json", "none.bin") == (1, "", text)
    code, _, err = campaign("randomise", "large.json", "words.parquet", "-c", "word", "-o", "large.bin")
    assert (code, err) == (1, text)


# Tables of items


def test_items_that_cannot_be_encoded_give_a_report(run):
    rows = ["7"] * 3000 + ["abc", "1.5", "", str(2**63), "-1", str(2**64), " 9 ", "+9"]
    Path("n.csv").write_text("n,m\n" + "".join(f"{row},x\n" for row in rows))
    run("new", "n.json", "--items", "integers:64", "--epsilon", "4", "--users", "3000", "--threshold", "900")
    code, _, err = run("randomise", "n.json", "n.csv", "-c", "n", "-o", "n.bin")
    assert (code, Path("n.bin").stat().st_size) == (0, 27 * len(rows))
    assert err == (f"Reports  n.bin contains {len(rows):,} reports, each 4-locally differentially private.\n")
    assert keys(run("aggregate", "n.json", "n.bin")[1]) == ["7"]


def test_large_integers_count(run):
    Path("n.csv").write_text("n\n" + f"{2**63}\n" * 3000)
    options = ("--items", "integers:64", "--epsilon", "4", "--threshold", "900")
    assert keys(run("simulate", "n.csv", "-c", "n", *options)[1]) == [str(2**63)]


def test_one_report_for_each_user(run):
    """Users have five rows, the first of tea; one has no item, and a row without a user is nobody's."""
    rows = [f"u{user},{item}" for user in range(3000) for item in ("tea", "milk", "milk", "milk", "salt")]
    Path("u.csv").write_text("user,word\n" + "\n".join([*rows, "empty,", ",tea", ""]))
    run("new", "u.json", "--items", "words:4", "--epsilon", "8", "--users", "3001", "--threshold", "300")
    code, _, _ = run("randomise", "u.json", "u.csv", "-c", "word", "--user", "user", "-o", "u.bin")
    assert (code, Path("u.bin").stat().st_size) == (0, 27 * 3001)
    table = [line.split("\t") for line in run("aggregate", "u.json", "u.bin")[1].splitlines()[1:]]
    counts = {row[0]: int(row[1]) for row in table}
    assert set(counts) == {"tea", "milk", "salt"}
    assert all(abs(count - 1000) < 250 for count in counts.values())  # any of the three, not the first row


def test_simulate_with_users(run):
    rows = [f"u{user},{item}" for user in range(3000) for item in ("tea", "tea", "tea")]
    Path("u.csv").write_text("user,word\n" + "\n".join(rows) + "\n")
    options = ("--items", "words:4", "--epsilon", "8", "--threshold", "300", "--user", "user")
    code, out, _ = run("simulate", "u.csv", "-c", "word", *options)
    assert (code, [line.split("\t")[4] for line in out.splitlines()[1:]]) == (0, ["3000"])


def test_users_need_a_file_that_can_be_read_twice(campaign):
    code, _, err = campaign(
        "randomise", "m.json", "-", "--format", "csv", "-c", "word", "--user", "u", "-o", "u.bin"
    )
    assert (code, err) == (2, "--user reads the data twice, so FILE cannot be standard input.\n")


def test_items_are_one_column(campaign):
    code, _, err = campaign("randomise", "m.json", "words.parquet", "-c", "word", "-c", "b", "-o", "u.bin")
    assert (code, err) == (2, "Items are one column, so give --column once.\n")


def test_a_simulation_that_finds_nothing_states_no_precision(run):
    Path("few.csv").write_text("word\n" + "tea\nmilk\n" * 1000)
    options = ("--items", "words:4", "--epsilon", "4", "--threshold", "2000")
    code, out, err = run("simulate", "few.csv", "-c", "word", *options)
    assert (code, out) == (0, "key\tcount\tlower\tupper\ttrue\n")
    assert "Found  No item was found; 0 items are truly held by at least" in err
    assert "precision" not in err
    values = json.loads(run("simulate", "few.csv", "-c", "word", *options, "--json")[1])
    assert (values["precision"], values["recall"], values["in_interval"]) == (None, None, None)


def test_escape_sequences_of_a_manifest_are_not_printed(campaign):
    text = Path("m.json").read_text()
    for old, new in (('"tree_hist"', '"\\u001b[2J"'), ('"epsilon":"4"', '"epsilon":"\\u001b[2J"')):
        fields = json.loads(text.replace(old, new))
        fields.pop("id")
        signed = canonical({**fields, "id": sha256(canonical(fields)).hexdigest()})
        Path("escape.json").write_bytes(signed)
        code, out, err = campaign("aggregate", "escape.json", "r.bin")
        assert (code, out, "\x1b" in err) == (1, "", False)


def test_an_item_that_is_too_long_for_a_key_is_no_item_but_a_report(campaign):
    options = ("words.parquet", "-c", "word", "-o", "short.bin", "--max-key-bytes", "3")
    assert campaign("randomise", "m.json", *options)[0] == 0
    assert Path("short.bin").stat().st_size == 27 * len(WORDS)
    assert keys(campaign("aggregate", "m.json", "short.bin")[1]) == ["tea"]
    Path("short.bin").unlink()
    code, _, err = campaign("randomise", "m.json", *options, "--on-bad", "fail")
    assert (code, Path("short.bin").exists(), len(err.splitlines())) == (1, False, 1)


ASKED = ("new", "x.json", "--items", "words:6", "--users", "1000")
RELAY = ("--relay", "R", "--min-batch", "1000")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((), "Give --epsilon, or a central guarantee from which it follows."),
        (("--central-epsilon", "1"), "Give --central-epsilon and --central-delta together."),
        (
            ("--central-epsilon", "1", "--central-delta", "1e-6"),
            "A central guarantee rests on a relay that shuffles: give --relay NAME and --min-batch N, at"
            " least 2.",
        ),
        (
            ("--epsilon", "8", "--central-epsilon", "0.1", "--central-delta", "1e-6", *RELAY),
            "shuffled batches of 1,000 reports with epsilon 8 do not reach the central guarantee (0.1,"
            " 1e-06). Claim less, use a smaller epsilon, or larger batches.",
        ),
        (
            ("--epsilon", "1", "--rows", "5"),
            "tree-hist has no --rows, which is for hashtogram, tree-hist-paper, bitstogram-paper.",
        ),
        (
            ("--epsilon", "1", "--protocol", "bitstogram-binary", "--symbol-bits", "3"),
            "bitstogram-binary has no --symbol-bits, which is for tree-hist, bitstogram.",
        ),
        (("--epsilon", "1", "--reports-per-user", "17"), "--reports-per-user must be at most 16, got 17."),
        (("--epsilon", "1", "--retention-days", "-1"), "--retention-days must be at least 0, got -1."),
        (("--epsilon", "1", "--min-batch", "0"), "--min-batch must be at least 1, got 0."),
    ],
)
def test_a_new_campaign_that_is_refused(campaign, given, text):
    code, out, err = campaign(*ASKED, *given)
    assert (code != 0, out) == (True, "")
    assert err == f"{text}\n"
    assert not Path("x.json").exists()


def test_a_central_target_chooses_the_local_epsilon(campaign):
    code, out, _ = campaign(*ASKED, "--central-epsilon", "0.5", "--central-delta", "1e-6", *RELAY, "--json")
    plan = json.loads(out)
    assert (code, plan["central"], plan["min_batch"]) == (0, {"epsilon": 0.5, "delta": 1e-06}, 1000)
    _, out, _ = campaign(*ASKED, "--epsilon", "0.5", "--json", "--force")
    assert plan["smallest_detectable"] < json.loads(out)["smallest_detectable"] / 4


def test_parameters_of_the_paper_are_options(campaign):
    given = ("--protocol", "bitstogram-paper", "--rows", "5", "--cell-bits", "6", "--bucket-bits", "4")
    code, _, _ = campaign(*ASKED, "--epsilon", "2", *given, "--repetitions", "3")
    manifest = json.loads(Path("x.json").read_text())
    asked, whole = manifest["groups"][0]["questions"][0], manifest["groups"][1]["questions"][0]
    assert (code, asked["rows"], asked["bucket_bits"], whole["rows"], whole["cell_bits"]) == (0, 3, 4, 5, 6)


def test_several_reports_of_each_user(campaign):
    rows = [f"u{user},{item}" for user in range(3000) for item in ("tea", "milk", "salt")[: user % 4]]
    rows += ["nobody,"]
    Path("u.csv").write_text("user,word\n" + "\n".join(rows) + "\n")
    asked = ("--items", "words:6", "--users", "3000", "--epsilon", "12", "--threshold", "700")
    campaign("new", "k.json", *asked, "--reports-per-user", "3")
    code, _, _ = campaign("randomise", "k.json", "u.csv", "--column", "word", "--user", "user", "-o", "k.bin")
    users = 3000 - 750 + 1  # a user without any row is not in the table
    assert (code, Path("k.bin").stat().st_size) == (0, 27 * 3 * users)
    _, out, err = campaign("aggregate", "k.json", "k.bin", "--json")
    counts = {row["key"]: row["count"] for row in json.loads(out)["rows"]}
    assert abs(counts["tea"] - 2250) < 300
    assert "Each user sent 3 reports, each about another of their items" in " ".join(err.split()) + out


def test_a_batch_of_a_relay_is_read(campaign):
    from hushcount.ldp.wire.batch import pack_batch

    batch = pack_batch(Path("r.bin").read_bytes())
    Path("b.hcb").write_bytes(batch)
    whole = campaign("aggregate", "m.json", "r.bin")
    assert campaign("aggregate", "m.json", "b.hcb")[:2] == whole[:2]
    Path("b.hcb").write_bytes(batch[:-1])
    code, out, err = campaign("aggregate", "m.json", "b.hcb")
    assert (code, out) == (1, "")
    assert err == "the batch is damaged or was cut short, so none of its reports is taken.\n"


@pytest.mark.parametrize("protocol", ["tree-hist", "bitstogram", "bitstogram-binary", "hashtogram"])
def test_query(run, protocol):
    more = ("--protocol", protocol, "--force")
    assert run(*NEW, *more)[0] == 0
    assert run("randomise", "m.json", "words.parquet", "-c", "word", "-o", "r.bin")[0] == 0
    Path("items.txt").write_text("milk\nsalt\n")
    items = ("--item", "tea", "--items-file", "items.txt")
    asked = ("query", "m.json", "r.bin", *items, "--confidence", "0.999999")
    code, out, err = run(*asked)
    rows = [line.split("\t") for line in out.splitlines()]
    assert (code, rows[0]) == (0, ["key", "count", "lower", "upper"])
    assert [row[0] for row in rows[1:]] == ["tea", "milk", "salt"]
    for (_, count, lower, upper), truth in zip(rows[1:], (9000, 7000, 0), strict=True):
        assert int(lower) <= truth <= int(upper)
        assert int(count) <= int(upper)
    assert f"{len(WORDS):,} reports counted." in err
    assert "With confidence 0.999999 the true count of an item chosen before seeing the result lies" in err
    code, out, _ = run(*asked, "--json")
    values = json.loads(out)
    assert (code, values["kind"]) == (0, "answers")
    assert [row["key"] for row in values["rows"]] == ["tea", "milk", "salt"]
    assert values["guarantee"]["mechanism"] == protocol.replace("-", "_")


def test_query_of_numbers_and_of_a_state(run):
    new = ("new", "n.json", "--items", "integers:8", "--epsilon", "6", "--users", "3000")
    assert run(*new)[0] == 0
    Path("numbers.txt").write_text("7\n" * 2000 + "9\n" * 1000)
    assert run("randomise", "n.json", "numbers.txt", "--format", "lines", "-o", "r.bin")[0] == 0
    assert run("aggregate", "n.json", "r.bin", "--state", "kept.hc")[0] == 0
    code, out, _ = run("query", "n.json", "--state", "kept.hc", "--item", "7", "--item", " 9")
    counts = [int(line.split("\t")[1]) for line in out.splitlines()[1:]]
    assert code == 0
    assert abs(counts[0] - 2000) < 200
    assert abs(counts[1] - 1000) < 200


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("r.bin",), "Give the items with --item, or in a file with --items-file."),
        (("--item", "tea"), "REPORTS must be given, files or - for standard input."),
        (("r.bin", "--item", "Tea!"), "The campaign of m.json cannot encode one of the items, 'Tea!'."),
        (
            ("r.bin", "--item", "tea", "--confidence", "1"),
            "confidence must be strictly between 0 and 1, got 1.0.",
        ),
        (("r.bin", "--items-file", "none.txt"), "Cannot read none.txt: no such file or directory."),
    ],
)
def test_refused_queries(campaign, arguments, text):
    code, out, err = campaign("query", "m.json", *arguments)
    assert (code, out) == (1 if "read" in text else 2, "")
    assert err.endswith(f"{text}\n")
