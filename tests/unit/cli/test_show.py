"""What people see: nothing that a file says can reach the terminal or forge a line."""

import pytest

from hushcount.cli import show
from hushcount.cli.main import main


def test_text_of_files_is_escaped(capfd):
    show.say(("Notes", ("\x1b[2J\u202eall is well", "second")), ("Empty", ()))
    show.warn("raw \x9b2J data")
    assert capfd.readouterr().err == ("Notes  \\x1b[2J\\u202eall is well\n       second\nraw \\x9b2J data\n")


def test_facts_have_one_line_each(capfd):
    show.print_facts({"kind": "oracle", "note": "one\ntwo\tthree"})
    assert capfd.readouterr().out == "kind\toracle\nnote\tone\\ntwo\\tthree\n"


def test_failures_are_escaped(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["top", "\x1b2J.csv", "--epsilon", "1", "--delta", "1e-6"]) == 1
    assert capfd.readouterr().err == "\\x1b2J.csv does not exist.\n"


@pytest.mark.parametrize(("columns", "width"), [("58", 58), ("", 100), ("wide", 100), ("0", 100)])
def test_widths_follow_columns(monkeypatch, tmp_path, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    with (tmp_path / "out").open("w") as stream:
        assert show.width_of(stream) == width
