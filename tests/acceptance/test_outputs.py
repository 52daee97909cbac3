"""Outputs never destroy inputs, appear together, and the same data are not released twice together."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hushcount.accounting.ledger import Ledger
from hushcount.cli import show
from hushcount.cli.main import main
from hushcount.files.fingerprint import ASSUMED_DISJOINT
from hushcount.releases.views import plots
from hushcount.signals import SIGNALS
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.exact import Exact

BUDGET = ("--epsilon", "1", "--delta", "1e-6")
TREE = ("tree", "in.csv", "--column", "item", "--hierarchy", "path/2", "--threshold", "100", *BUDGET)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("item,country\n" + "tea/green,FR\n" * 1000 + "milk/cow,ES\n" * 1000)
    os.symlink("in.csv", "soft.csv")
    os.link("in.csv", "hard.csv")


@pytest.fixture
def run(capfd):
    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.mark.parametrize("output", ["in.csv", "./in.csv", "soft.csv", "hard.csv"])
@pytest.mark.parametrize(
    "command",
    [
        ("top", "in.csv", "--column", "item", *BUDGET, "--output"),
        ("top", "in.csv", "--column", "item", "--user", "country", "--max-keys", "3", *BUDGET, "--output"),
        ("top", "--sql", "SELECT item FROM 'in.csv'", *BUDGET, "--output"),
        ("sample", "in.csv", "--column", "item", "--size", "10", "--max-events", "9000", *BUDGET, "--output"),
        ("oracle", "build", "in.csv", "--column", "item", *BUDGET, "--output"),
        ("sketch", "in.csv", "--column", "item", "--output"),
        (*TREE, "--output"),
    ],
)
def test_an_input_is_not_overwritten(run, command, output):
    before = Path("in.csv").read_bytes()
    code, out, err = run(*command, output)
    assert (code, out) == (2, "")
    assert err == f"{output} is read by this run, so it cannot be written; name another file.\n"
    assert Path("in.csv").read_bytes() == before
    assert sorted(os.listdir()) == ["hard.csv", "in.csv", "soft.csv"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (("-o", "t.tsv", "--sidecar"), "t.tsv.json is read by this run, so it cannot be written;"),
        (
            ("-o", "u.tsv", "--sidecar", "--checkpoint", "u.tsv.json"),
            "u.tsv.json would be written twice;",
        ),
        (
            ("-o", "key.json", "--sign", "./key.json"),
            "key.json is read by this run, so it cannot be written;",
        ),
    ],
)
def test_files_beside_an_output_destroy_nothing(run, asked, text):
    """Before, the sidecar replaced the input, the checkpoint or the key."""
    Path("t.tsv.json").write_text('{"item": "tea"}\n' * 1000)
    Path("key.json").write_text("a key")
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    code, out, err = run("top", "t.tsv.json", "--format", "jsonl", "-c", "item", *BUDGET, *asked)
    assert (code, out) == (2, "")
    assert err.startswith(text)
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before


def test_a_checkpoint_is_no_output_and_no_input(run):
    common = ("top", "in.csv", "--column", "item", *BUDGET)
    assert run(*common, "--checkpoint", "x.csv", "--output", "./x.csv") == (
        2,
        "",
        "./x.csv would be written twice; name another file for one of them.\n",
    )
    code, _, err = run("release", "in.csv", *BUDGET, "--output", "soft.csv")
    assert (code, err) == (2, "soft.csv is read by this run, so it cannot be written; name another file.\n")


def test_a_signal_between_two_outputs_leaves_both_or_none(run, monkeypatch):
    draw = plots.icicle

    def interrupted(release):
        signal.raise_signal(signal.SIGINT)
        return draw(release)

    monkeypatch.setattr(plots, "icicle", interrupted)
    code, out, err = run(*TREE, "--output", "tree.csv", "--plot", "tree.svg")
    names = {"tree.csv", "tree.svg"} & set(os.listdir())
    assert (code, out, err) == (130, "", "Interrupted; tree.csv and tree.svg had been written.\n")
    assert names == {"tree.csv", "tree.svg"}


TOP = ("top", "in.csv", "--column", "item", *BUDGET)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_the_table_is_printed_does_not_say_that_nothing_was_released(run, monkeypatch, number):
    printed = show._print_bytes

    def interrupted(text, stream):
        printed(text, stream)
        if stream is sys.stdout and "tea/green" in text:
            signal.raise_signal(number)

    before = signal.signal(number, signal.SIG_DFL)  # also where the tests were started by nohup
    monkeypatch.setattr(show, "_print_bytes", interrupted)
    try:
        code, out, err = run(*TOP, "--checkpoint", "run.hc")
        sketched = run("sketch", "in.csv", "--column", "item", "-o", "sketch.hc")
        released = run("release", "sketch.hc", *BUDGET)
    finally:
        signal.signal(number, before)
    said = "Interrupted; the table may have been printed, whole or in part."
    assert (code, err.splitlines()[-1]) == (130, said)
    assert "tea/green" in out
    assert sketched[0] == 0
    assert (released[0], released[2].splitlines()[-1]) == (130, said)


def test_a_signal_after_the_ledger_has_stored_a_release_says_how_to_get_it(run, monkeypatch):
    assert run("ledger", "init", "spent.db", "--dataset", "tea", "--epsilon", "2", "--delta", "1e-5")[0] == 0
    charged = (*TOP, "--ledger", "spent.db", "--dataset", "tea")
    with monkeypatch.context() as patch:
        patch.setattr(SpaceSaving, "update", lambda *_: signal.raise_signal(signal.SIGINT))
        assert run(*charged) == (130, "", "Interrupted; nothing was released.\n")
    commit = Ledger.commit

    def interrupted(*arguments):
        done = commit(*arguments)
        signal.raise_signal(signal.SIGINT)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", interrupted)
        code, out, err = run(*charged, "--output", "top.csv")
    assert (code, out, err) == (
        130,
        "",
        "Interrupted; the ledger holds the release. Run it again, without --again, to get it at no further"
        " cost.\n",
    )
    assert not os.path.exists("top.csv")
    assert run(*charged, "--output", "top.csv")[0] == 0
    assert Path("top.csv").read_text().startswith('"key","count"')
    spent = run("ledger", "show", "spent.db")[1].splitlines()[1].split("\t")
    assert spent[:3] == ["tea", "1", "1"]  # one release of epsilon 1


def test_a_failure_of_the_second_output_leaves_none(run, monkeypatch):
    class Full(str):
        __slots__ = ()

        def encode(self, *_):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(plots, "icicle", lambda _: Full())
    code, out, err = run(*TREE, "--output", "tree.csv", "--plot", "tree.svg")
    assert (code, out, err) == (1, "", "Cannot write tree.svg: no space left on device.\n")
    assert not os.path.exists("tree.csv")


def sketch(run, output, *source):
    assert run("sketch", *source, "--column", "item", "-o", output)[0] == 0


def test_two_sketches_of_the_same_data_are_not_released_together(run):
    sketch(run, "a.hc", "in.csv")
    Path("copy.csv").write_bytes(Path("in.csv").read_bytes())
    sketch(run, "b.hc", "copy.csv")
    refused = (
        "b.hc and a.hc are sketches of the same data, so their events would count twice;"
        " take only one of them.\n"
    )
    assert run("release", "a.hc", "b.hc", *BUDGET) == (1, "", refused)
    assert run("release", "a.hc", *BUDGET)[0] == 0


@pytest.mark.parametrize("way", ["merge", "release"])
@pytest.mark.parametrize("kind", ["space-saving", "misra-gries", "exact"])
def test_a_merged_sketch_is_not_put_together_with_its_parts(run, kind, way):
    """A part, or another sketch of the same data, would count twice."""
    Path("more.csv").write_text(Path("in.csv").read_text() + "more,FR\n")
    for name, file in {"a.hc": "in.csv", "b.hc": "more.csv", "again.hc": "in.csv"}.items():
        sketch(run, name, file, "--kind", kind)
    assert run("merge", "a.hc", "b.hc", "-o", "both.hc")[0] == 0
    more = ("-o", "sum.hc") if way == "merge" else BUDGET
    for part in ("a.hc", "again.hc"):
        refused = f"{part} and both.hc are sketches of the same data, so their events would count twice;"
        assert run(way, "both.hc", part, *more) == (1, "", f"{refused} take only one of them.\n")


def test_merged_sketches_without_fingerprints_are_not_merged_with_their_parts(run):
    """The data of a pipe, or of a sketch in memory, cannot be recognised, so the ids of sketches tell."""
    for name in ("a", "b"):
        counted = Exact()
        counted.update([name] * 500)
        counted.save(f"{name}.hc")
    assert run("merge", "a.hc", "b.hc", "-o", "both.hc")[0] == 0
    refused = "a.hc and both.hc are sketches of the same data, so their events would count twice;"
    assert run("merge", "both.hc", "a.hc", "-o", "sum.hc") == (1, "", f"{refused} take only one of them.\n")


def test_two_queries_of_one_file_are_released_with_an_assumption(run):
    for name in ("FR", "ES"):
        sketch(run, f"{name}.hc", "--sql", f"SELECT item FROM 'in.csv' WHERE country = '{name}'")
    code, out, _ = run("release", "FR.hc", "ES.hc", *BUDGET, "--json")
    assert code == 0
    assert ASSUMED_DISJOINT in json.loads(out)["notes"]
    sketch(run, "again.hc", "--sql", "select item from 'in.csv' where country='FR'")
    code, _, err = run("release", "FR.hc", "again.hc", *BUDGET)
    assert (code, err.startswith("again.hc and FR.hc are sketches of the same data")) == (1, True)


def test_files_that_are_read_besides_the_data_are_not_overwritten(run):
    Path("domain.csv").write_text("tea/green\nmilk/cow\n")
    pure = ("--epsilon", "1", "--delta", "0")
    asked = ("top", "in.csv", "--column", "item", *pure, "--domain", "domain.csv", "--output", "domain.csv")
    assert run(*asked)[0] == 2
    assert Path("domain.csv").read_text() == "tea/green\nmilk/cow\n"
    Path("parents.csv").write_text("tea/green,tea\nmilk/cow,milk\n")
    parents = (
        "tree",
        "in.csv",
        "--column",
        "item",
        "--hierarchy",
        "parents:parents.csv",
        "--threshold",
        "100",
    )
    assert run(*parents, *BUDGET, "--output", "parents.csv")[0] == 2
    assert Path("parents.csv").read_text() == "tea/green,tea\nmilk/cow,milk\n"


def test_standard_input_is_not_overwritten():
    before = Path("in.csv").read_bytes()
    command = [sys.executable, "-m", "hushcount", "top", "-", "--format", "csv", "--column", "item", *BUDGET]
    with open("in.csv", "rb") as stream:
        done = subprocess.run(
            [*command, "--output", "in.csv"], stdin=stream, capture_output=True, check=False
        )
    assert done.returncode == 2
    assert Path("in.csv").read_bytes() == before


def test_a_file_on_standard_input_is_the_same_data(run):
    """A file by its name and by a shell's redirection: one fingerprint."""
    sketch(run, "a.hc", "in.csv")
    command = [sys.executable, "-m", "hushcount", "sketch", "-", "--format", "csv", "--column", "item"]
    with open("hard.csv", "rb") as stream:
        subprocess.run([*command, "-o", "b.hc"], stdin=stream, check=True, capture_output=True)
    refused = (
        "b.hc and a.hc are sketches of the same data, so their events would count twice;"
        " take only one of them.\n"
    )
    assert run("release", "a.hc", "b.hc", *BUDGET) == (1, "", refused)


def test_standard_input_is_read_from_where_it_stands():
    """A shell may have read the first line of a file before it hands it on."""
    Path("dated.csv").write_text("2026\nitem\n" + "tea\n" * 1000)
    program = "import os, sys; os.lseek(0, 5, 0); from hushcount.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "top", "-", "--format", "csv", "--column", "item", *BUDGET]
    with open("dated.csv", "rb") as stream:
        done = subprocess.run([*command, "--quiet"], stdin=stream, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[1].startswith(b"tea\t")


LEDGER = ("--ledger", "spent.json", "--dataset", "d")


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (("top", "in.csv", "--column", "item", *BUDGET, *LEDGER, "--output", "spent.json"), "database"),
        (("top", "in.csv", "--column", "item", *BUDGET, "--output", "spent.json"), "database"),
        (("sketch", "in.csv", "--column", "item", "-o", "spent.json"), "database"),
        (("release", "a.hc", *BUDGET, *LEDGER, "--run-id", "r", "--output", "spent.json"), "database"),
        ((*TREE, "--checkpoint", "spent.json", "--method", "streaming", "--max-events", "9999"), "database"),
        (("ledger", "export", "spent.json", "-o", "spent.json"), "read"),
        (("ledger", "export", "spent.json", "-o", "linked.json"), "read"),
        (("ledger", "export", "spent.json", "-o", "spent.json.head"), "read"),
    ],
)
def test_a_ledger_is_never_replaced(run, words, refused):
    """Whoever replaced it would forget what was spent."""
    assert run("ledger", "init", "spent.json", "--dataset", "d", "--epsilon", "3", "--delta", "1e-5")[0] == 0
    sketch(run, "a.hc", "in.csv")
    os.link("spent.json", "linked.json")
    before = [Path(name).read_bytes() for name in ("spent.json", "spent.json.head")]
    code, out, err = run(*words)
    name = words[-1] if refused == "read" else "spent.json"
    sentences = {
        "database": f"{name} is a database, which may be the ledger of what was spent, so it is not replaced;"
        " name another file.\n",
        "read": f"{name} is read by this run, so it cannot be written; name another file.\n",
    }
    assert (code, out, err) == (2, "", sentences[refused])
    assert [Path(name).read_bytes() for name in ("spent.json", "spent.json.head")] == before


def test_the_oracle_whose_hash_functions_are_taken_over_is_not_replaced(run):
    build = ("oracle", "build", "in.csv", "--column", "item", *BUDGET)
    assert run(*build, "-o", "o.hc")[0] == 0
    os.link("o.hc", "same.hc")
    before = Path("o.hc").read_bytes()
    for name in ("o.hc", "same.hc"):
        refused = f"{name} is read by this run, so it cannot be written; name another file.\n"
        assert run(*build, "--like", "o.hc", "-o", name) == (2, "", refused)
    assert Path("o.hc").read_bytes() == before
