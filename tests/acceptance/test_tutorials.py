"""Tutorials and pages of decisions: every command and every example runs as it is printed."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from hushcount.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/choosing.md"]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with what a reader has: the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run(page, checkout):
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line != "pip install ."]
    assert lines
    for line in lines:
        program, *arguments = shlex.split(line)
        assert (program, main(arguments)) == ("hushcount", 0), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_run(page, checkout):
    test = doctest.DocTestParser().get_doctest(page.read_text(), {}, page.name, str(page), 0)
    assert test.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)
