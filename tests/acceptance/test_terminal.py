"""On a terminal: the table for people, no key that can reach the terminal, a progress bar that goes away."""

import os
import pty
import re
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet


def on_terminal(*arguments, columns=90):
    """Exit code and everything that a terminal gets from the program."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    command = [sys.executable, "-m", "hushcount", *arguments]
    process = subprocess.Popen(command, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    try:
        while block := os.read(leader, 1 << 16):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(leader)
    return process.wait(), shown.decode()


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys = [f"key{i:02}" for i in range(60) for _ in range(900 - 10 * i)] + ["\x1b]0;title\x07"] * 2000
    parquet.write_table(pa.table({"item": keys}), "a.parquet")


def test_table():
    code, shown = on_terminal("top", "a.parquet", "--epsilon", "1", "--delta", "1e-8")
    assert code == 0
    assert shown.index("Protects one event") < shown.index("95% interval") < shown.index("Privacy")
    assert "\\x1b]0;title\\x07" in shown
    assert "\x1b]0;" not in shown
    assert "█" * 20 in shown
    assert "11 further rows: --limit, --output or a pipe shows them." in shown
    assert "MB" in shown  # the progress bar
    assert shown.index("MB") < shown.index("Protects one event")


def test_all_rows_when_asked():
    _, shown = on_terminal("top", "a.parquet", "--epsilon", "1", "--delta", "1e-8", "--limit", "100")
    assert "further rows" not in shown
    assert "key59" in shown


def test_one_sentence_for_failures():
    code, shown = on_terminal("top", "none.csv", "--epsilon", "1", "--delta", "1e-8")
    assert code == 1
    assert shown.endswith("none.csv does not exist.\r\n")
    assert "Traceback" not in shown


def test_inspect():
    on_terminal("sketch", "a.parquet", "-o", "a.hc")
    code, shown = on_terminal("inspect", "a.hc")
    assert code == 0
    assert "SpaceSaving" in shown
    assert "\t" not in shown


BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.mark.parametrize("arguments", [("--table",), (), ("--json",)])
def test_a_reader_that_stops_early_is_no_failure(arguments):
    """As `| head -1`; before, exit code 1."""
    keys = [f"key{i}" for i in range(20_000) for _ in range(40)]
    parquet.write_table(pa.table({"item": keys}), "many.parquet")
    whole = ("many.parquet", *BUDGET, "--limit", "99999", *arguments)
    command = [sys.executable, "-m", "hushcount", "top", *whole]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.read(1)
        process.stdout.close()
        words = process.stderr.read()
    assert process.returncode == 0
    assert "Traceback" not in words
    assert ("Privacy" in words) == (arguments != ("--json",))


def test_widths_follow_columns():
    paths = [f"/{'folder' * 3}/{'file' * 9}{i}" for i in range(5) for _ in range(999)]
    parquet.write_table(pa.table({"path": paths}), "p.parquet")
    for command in (("top",), ("tree", "--hierarchy", "path", "--threshold", "99", "--on-bad", "drop")):
        name, *options = command
        code, shown = on_terminal(name, "p.parquet", "-c", "path", *BUDGET, *options, columns=58)
        table = shown[shown.index("95% interval") - 40 : shown.index("Privacy")]
        lines = [re.sub("\x1b[^m]*m", "", line) for line in table.splitlines()[1:]]
        assert code == 0
        assert len(lines) > 5
        assert max(map(len, lines)) <= 58


def test_an_oracle_shows_no_key_that_reaches_the_terminal():
    on_terminal("oracle", "a.parquet", *BUDGET, "--width", "1024", "-o", "o.hc")
    code, shown = on_terminal("oracle", "query", "o.hc", "\x1b]0;title\x07", "\u202e")
    assert code == 0
    assert "\\x1b]0;title\\x07\t" in shown
    assert "\\u202e\t" in shown
    code, shown = on_terminal("oracle", "query", "o.hc", "\u202e", "--json")
    assert '"key": "\\u202e"' in shown
