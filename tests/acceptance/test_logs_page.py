"""The commands of docs/logs.md, run as they stand there on a log that is made here."""

import random
import re
import shlex
from pathlib import Path

import pytest

from hushcount.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs/logs.md").read_text()
COMMANDS = re.findall(r"^\$ (hushcount .*)$", PAGE, re.MULTILINE)
LINE = '{host} - - [{day}/Nov/2026:06:00:00 +0000] "GET /page/{page}?x=1 HTTP/1.1" {status} 23 "-" "Moz/5"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = random.Random(3)
    with open("access.log", "w") as log:
        for row in range(8000):
            host = f"198.51.100.{row % 4}" if row % 2 else f"2001:db8:{row % 3:x}::1"
            page, day, status = source.randrange(20), 17 + row % 2, (200, 404)[row % 5 == 0]
            log.write(LINE.format(host=host, day=day, page=page, status=status))


def test_the_page_has_examples():
    assert len(COMMANDS) == 6


@pytest.mark.parametrize("command", COMMANDS[:4])
def test_examples_run(command, capfd):
    assert main(shlex.split(command)[1:]) == 0
    rows = capfd.readouterr().out.splitlines()
    assert len(rows) > 2
    if "ip/8" in command:
        assert any(row.startswith("2001:db8:") for row in rows)
        assert any(row.startswith("198.51.100.") for row in rows)
    if "--window" in command:
        assert sum(int(row.split("\t")[1]) for row in rows[1:]) < 5000


def test_a_log_that_grows(capfd):
    append, release = (shlex.split(command)[1:] for command in COMMANDS[4:])
    for _ in range(2):
        assert main(append) == 0
        Path("access.log").rename("access.log.1")
        Path("access.log").write_text(LINE.format(host="::1", day=19, page="new", status=200) * 900)
    assert main(append) == 0
    assert main(release) == 0
    assert "/page/new" in capfd.readouterr().out
