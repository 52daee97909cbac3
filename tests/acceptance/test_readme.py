"""What the README says is what the program does: every command and every Python block is run."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hushcount.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SHELL = [block.splitlines() for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)]
SHOWN = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
FIRST = "hushcount top examples/searches.parquet --column query --epsilon 1 --delta 1e-8 --limit 8 --table"


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with what a reader has: the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands(block):
    return [line for line in block if line.startswith("hushcount ")]


def program(line):
    """Run a command of the README as it stands, in an interpreter of its own."""
    command = [sys.executable, "-m", *shlex.split(line)]
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def shape(text):
    """The lines without what the noise decides: numbers, bars and the widths of columns."""
    lines = [re.sub(r"[█▏▎▍▌▋▊▉]", "", line) for line in text.splitlines()]
    lines = [re.sub(r"\s+", " ", re.sub(r"\d[\d,]*", "N", line)).strip() for line in lines]
    return [re.sub("─+", "─", line) for line in lines if line]


def sentences(text):
    """The statements as one line; which sentence tells of the floor is decided by the noise."""
    return re.sub(r"(What the|The) sketch may overcount[^.]*\.", "FLOOR", " ".join(shape(text)))


def test_length():
    assert len(README.splitlines()) <= 250


@pytest.mark.parametrize("example", PYTHON, ids=["top", "sketch", "local model"])
def test_examples_run(example, checkout):
    exec(compile(example, "README.md", "exec"), {})


@pytest.mark.parametrize(
    "block", [block for block in SHELL if commands(block)], ids=lambda block: block[0][:24]
)
def test_commands_run(block, checkout):
    assert commands(block) == block
    for line in block:
        if "--engine spark" in line and shutil.which("java") is None:
            continue
        done = program(line)
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout or "--output" in line


def test_other_commands_are_targets_or_installations():
    others = [line for block in SHELL for line in block if line not in commands(block)]
    assert others == ["pip install .", "make demo", "make test"]
    assert all(f"\n{name}:" in (ROOT / "Makefile").read_text() for name in ("demo", "test"))


def test_every_output_is_that_of_the_first_command(checkout):
    assert [FIRST] in SHELL
    done = program(FIRST)
    table, statements = SHOWN
    assert shape(table) == shape(done.stdout)[: len(shape(table))]
    assert sentences(statements) == sentences(done.stderr)


def test_every_command_is_named():
    assert all(f"hushcount {name}" in README or f"`{name}`" in README for name in COMMANDS)


def test_commands_and_options_exist(capfd):
    with_options = {
        "oracle": [["oracle", "build"], ["oracle", "query"], ["oracle", "merge"]],
        "ledger": [["ledger", "init"], ["ledger", "show"]],
        "ldp": [["ldp", name] for name in ("new", "randomise", "aggregate", "query", "simulate")],
    }
    found = [line.split(" ", 2)[1:] for block in SHELL for line in commands(block)]
    assert len(found) >= 6
    for name, rest in found:
        assert name in COMMANDS
        for command in with_options.get(name, [[name]]):
            main([*command, "--help"])
        shown = capfd.readouterr().out
        assert all(option in shown for option in re.findall(r"(?<!\w)--[a-z-]+", rest))


def test_the_picture_is_one_of_hushcount():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    text = (ROOT / picture).read_text()
    assert text.startswith("<svg ")
    assert "Hierarchical heavy hitters: ipv4/8" in text
    assert "hsl(" not in text
