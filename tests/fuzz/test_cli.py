"""Commands with options drawn at random give a table, or one sentence that says what is wrong."""

import random
from pathlib import Path

import click
import pytest

from hushcount.cli.main import COMMANDS, main

NUMBERS = ["0", "1", "-1", "0.5", "1e-6", "1e-300", "1e400", "nan", "inf", "20", "64", "9" * 20]
FILES = ["in.csv", "in.txt", "none.csv", ".", "-", "out.csv", "out.json", "no/such/out.csv"]
NAMES = ["a", "item", "é", "a,b", "0..9", "9..0", "text", "int", "drop", "fail", "csv", "lines", "floor"]
KINDS = ["columns:item,n", "domain", "ipv4", "date", "words:4", "integers:8"]
TEXTS = ["", " ", "\x1b[31m", "SELECT item FROM 'in.csv'", "SELECT 1"]
VALUES = (*NUMBERS, *FILES, *NAMES, *KINDS, *TEXTS)

USUAL = {
    "--epsilon": "1",
    "--delta": "1e-6",
    "--column": "item",
    "--items": "words:2",
    "--users": "500",
    "--rate": "0.5",
    "--dataset": "visits",
    "--hierarchy": "path",
    "--user": "n",
    "--max-keys": "2",
    "--max-events": "1000",
    "--threshold": "90",
    "--output": "out.csv",
    "--format": "csv",
}
NEEDED = ("--epsilon", "--delta", "--column", "--items", "--users", "--rate", "--dataset", "--hierarchy")
UNUSED = ("--engine", "--help", "--force")  # a Java machine, no run, leave to overwrite


def leaves(name, command):
    """Yield the words and the command of everything that can be called."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from leaves((*name, inner.name), inner)
    else:
        yield name, command


CALLS = [found for name in COMMANDS for found in leaves((name,), COMMANDS[name])]


def drawn(draw, command):
    """Return the words of a call: a file, what the command needs, and one or two other options."""
    options = {max(each.opts, key=len): each for each in command.params if isinstance(each, click.Option)}
    others = [name for name in options if name not in (*NEEDED, *UNUSED)]
    chosen = [name for name in NEEDED if name in options and draw.random() < 0.95]
    chosen += draw.sample(others, min(draw.randint(0, 2), len(others)))
    words = ["in.csv" if draw.random() < 0.8 else draw.choice(VALUES)]
    for name in chosen:
        words.append(name)
        if not options[name].is_flag:
            odd = draw.random() < (0.1 if name in NEEDED else 0.5)
            words.append(USUAL[name] if name in USUAL and not odd else draw.choice(VALUES))
    return words


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("item,n\n" + "".join(f"secret{i % 7},{i % 5}\n" for i in range(200)))
    Path("in.txt").write_text("".join(f"secret{i % 7}\n" for i in range(200)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "command"), CALLS, ids=[" ".join(name) for name, _ in CALLS])
def test_any_options(name, command, seed, capsys):
    draw = random.Random(f"{name} {seed}")
    for _ in range(3):
        words = drawn(draw, command)
        code = main([*name, *words])
        shown = capsys.readouterr()
        said = shown.err if code == 0 else shown.err + shown.out  # verify prints what does not follow
        assert code in (0, 1, 2), words
        assert "unexpectedly" not in said, words
        assert "Traceback" not in said, words
        assert "\x1b" not in said, words
        assert code == 0 or (said.strip() and "secret" not in said), words
        assert Path("in.csv").read_text().startswith("item,n\nsecret0"), words
