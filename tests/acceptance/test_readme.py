"""What the README says is what the program does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hushcount.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
WITH_OPTIONS = {
    "oracle": [["oracle", "build"], ["oracle", "query"], ["oracle", "merge"]],
    "ldp": [["ldp", "new"], ["ldp", "randomise"], ["ldp", "aggregate"], ["ldp", "simulate"]],
}
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_help(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = [sys.executable, "-m", "hushcount", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"```\n$ hushcount --help\n{done.stdout}```\n" in README


@pytest.mark.parametrize("example", EXAMPLES, ids=["oracle", "local model", "top", "sketch"])
def test_examples_run(example, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})


def test_two_commands():
    assert "```\nmake demo\nmake test\n```" in README
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^demo:", makefile, re.MULTILINE)
    assert re.search(r"^test:", makefile, re.MULTILINE)


def test_commands_and_options_exist(capfd):
    from hushcount.cli.main import main

    blocks = "".join(re.findall(r"```\n(.*?)```", README, re.DOTALL))
    found = re.findall(r"^(?:.*\| )?hushcount (\w+) (.*)$", blocks, re.MULTILINE)
    assert len(found) >= 6
    for name, rest in found:
        assert name in COMMANDS
        for command in WITH_OPTIONS.get(name, [[name]]):
            main([*command, "--help"])
        shown = capfd.readouterr().out
        assert all(option in shown for option in re.findall(r"(?<!\w)--[a-z-]+", rest))
