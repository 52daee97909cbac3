"""Lines of logs, as every command that reads data takes them."""

from pathlib import Path

import pytest

from hushcount.cli.main import main

BUDGET = ("--epsilon", "20", "--delta", "1e-6")
LINE = '192.0.2.{} - - [18/Nov/2026:06:00:00 +0100] "GET /cats HTTP/1.1" 200 23 "-" "x"\n'
COMMANDS = {
    "top": BUDGET,
    "tree": (*BUDGET, "--hierarchy", "ip/8", "--threshold", "500"),
    "sketch": ("-o", "out.hc"),
    "oracle": ("-o", "oracle.hc", *BUDGET),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("access.log").write_text("".join(LINE.format(n % 2) for n in range(3000)))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", [("--format", "combined"), ("--pattern", r"^(?P<host>\S+) ")])
def test_logs_in_every_command(command, how, capfd):
    assert main([command, "access.log", *how, "--column", "host", *COMMANDS[command]]) == 0
    assert "192.0.2.1" in capfd.readouterr().out or command in ("sketch", "oracle")


def test_a_pattern_has_its_own_format(capfd):
    assert (
        main(["top", "access.log", "--format", "csv", "--pattern", "(?P<a>x)", "--column", "a", *BUDGET]) == 2
    )
    assert capfd.readouterr().err == "--pattern takes the place of --format; give one of them.\n"
