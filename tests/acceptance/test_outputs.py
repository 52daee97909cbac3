"""Outputs never destroy inputs, appear together, and the same data are not released twice together."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hushcount.cli.main import main
from hushcount.files.fingerprint import ASSUMED_DISJOINT
from hushcount.releases.views import icicle

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
    draw = icicle.icicle

    def interrupted(release):
        signal.raise_signal(signal.SIGINT)
        return draw(release)

    monkeypatch.setattr(icicle, "icicle", interrupted)
    code, out, err = run(*TREE, "--output", "tree.csv", "--plot", "tree.svg")
    names = {"tree.csv", "tree.svg"} & set(os.listdir())
    assert (code, out, err) == (130, "", "Interrupted; tree.csv and tree.svg had been written.\n")
    assert names == {"tree.csv", "tree.svg"}


def test_a_failure_of_the_second_output_leaves_none(run, monkeypatch):
    def full(release):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(icicle, "icicle", full)
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
        " release only one of them.\n"
    )
    assert run("release", "a.hc", "b.hc", *BUDGET) == (1, "", refused)
    assert run("release", "a.hc", *BUDGET)[0] == 0


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
