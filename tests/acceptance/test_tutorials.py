"""Tutorials and pages of decisions: every command and every example runs as it is printed, in its order."""

import contextlib
import doctest
import glob
import io
import re
import shlex
import warnings
from pathlib import Path

import pytest

from hushcount.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/choosing.md"]
REFUSED = "  # refused"
# The files that a page reads from the machine, and how many of them make data of some size.
NEEDED = {
    "words-by-author": ("/usr/share/games/fortunes/*", 50),
    "changes-by-author": ("/usr/share/doc/*/changelog.Debian.gz", 100),
}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A folder with what a reader has: the examples."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_command(line):
    if line == "pip install .":
        return
    program, *arguments = shlex.split(line.removesuffix(REFUSED))
    assert (program, main(arguments)) == ("hushcount", 1 if line.endswith(REFUSED) else 0), line


def run_examples(text, page):
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert test.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_everything_runs(page, checkout):
    files, fewest = NEEDED.get(page.stem, ("", 0))
    if len(glob.glob(files)) < fewest:
        pytest.skip(f"THE TUTORIAL {page.name} WAS NOT TESTED: it needs {fewest} files {files}.")
    blocks = re.findall(r"```(sh|python|pycon)\n(.*?)```", page.read_text(), re.DOTALL)
    assert blocks
    for language, text in blocks:
        if language == "sh":
            for line in text.splitlines():
                run_command(line)
        elif language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as said, warnings.catch_warnings():
                exec(compile(text, page.name, "exec"), {})
            assert re.fullmatch(r"[0-9,]+ \w+\n", said.getvalue())
    examples = [text for language, text in blocks if language == "pycon"]
    if examples:
        run_examples("\n".join(examples), page)
