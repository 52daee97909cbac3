"""The program as a whole: help, usage errors, and what happens when something breaks."""

import json

import click
import pytest

from hushcount import __version__
from hushcount.cli.main import COMMANDS, explained, main
from hushcount.errors import DataError, ParameterError
from hushcount.releases.made import software

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


def run(capfd, *arguments):
    code = main(list(arguments))
    captured = capfd.readouterr()
    return code, captured.out, captured.err


def test_no_arguments_show_the_help(capfd):
    assert run(capfd) == run(capfd, "--help") == run(capfd, "-h")
    code, out, err = run(capfd)
    assert (code, err) == (0, "")
    assert "hushcount top searches.parquet --column query --epsilon 1 --delta 1e-8" in out


def test_version(capfd):
    assert run(capfd, "--version") == (0, f"hushcount {__version__}\n", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example(capfd, name):
    code, out, err = run(capfd, name, "--help")
    assert (code, err) == (0, "")
    assert f"Example:\n    hushcount {name} " in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nothing",), "No such command 'nothing'."),
        (
            ("top", "a.csv", "--delta", "1e-6"),
            "--epsilon must be given: limit on the privacy loss, such as"
            " 1; smaller is more private and noisier. The README says how to choose it.",
        ),
        (
            ("top", "a.csv", "--epsilon", "1"),
            "--delta must be given: probability with which that limit may fail, such as 1e-8; keep it"
            " far below 1 / number of people. The README says how to choose it.",
        ),
        (("release", *BUDGET), "SKETCH must be given."),
        (("sketch", "a.csv"), "--output must be given: the sketch file to write."),
        (("top", *BUDGET), "Give either FILE (- for standard input) or --sql."),
        (("top", "a.csv", "--sql", "SELECT 1", *BUDGET), "Give either FILE (- for standard input) or --sql."),
        (("top", "a.csv", *BUDGET, "--zzz"), "No such option '--zzz'."),
        (
            ("top", "a.csv", "--epsilon", "one", "--delta", "1e-6"),
            "Invalid value for '--epsilon': 'one' is not a valid float.",
        ),
        (
            ("top", "a.csv", *BUDGET, "--counters", "1.5"),
            "Invalid value for '--counters': '1.5' is not a valid integer.",
        ),
        (
            ("top", "a.csv", *BUDGET, "--type", "float"),
            "Invalid value for '--type': 'float' is not one of 'text', 'int'.",
        ),
    ],
)
def test_usage_is_one_sentence(capfd, arguments, sentence):
    assert run(capfd, *arguments) == (2, "", f"{sentence}\n")


@pytest.mark.parametrize(
    ("error", "sentence", "code"),
    [
        (DataError("A file is empty."), "A file is empty.", 1),
        (ParameterError("a must be\nb."), "a must be b.", 2),
        (KeyboardInterrupt(), "Interrupted.", 130),
        (MemoryError(), "There is not enough memory; use fewer --counters.", 1),
        (
            ZeroDivisionError("secret"),
            "hushcount failed unexpectedly (ZeroDivisionError);"
            " HUSHCOUNT_DEBUG=1 shows more, maybe with raw data.",
            1,
        ),
    ],
)
def test_failures(error, sentence, code):
    assert explained(error) == (sentence, code)


@pytest.fixture
def broken(monkeypatch):
    def break_down(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("hushcount.cli.options.data", break_down)


def test_unexpected_failures_show_no_data(capfd, broken):
    code, out, err = run(capfd, "top", "a.csv", *BUDGET)
    assert (code, out) == (1, "")
    assert err.startswith("hushcount failed unexpectedly (RuntimeError in ")
    assert "secret" not in err
    assert err.count("\n") == 1


def test_developers_see_the_traceback(capfd, broken, monkeypatch):
    monkeypatch.setenv("HUSHCOUNT_DEBUG", "1")
    code, _, err = run(capfd, "top", "a.csv", *BUDGET)
    assert code == 1
    assert "RuntimeError: secret" in err


def test_the_end_of_a_file_inside_a_command_is_not_ctrl_c(capfd, monkeypatch):
    def ended(*_):
        raise EOFError

    monkeypatch.setattr("hushcount.cli.options.data", ended)
    code, out, err = run(capfd, "top", "a.csv", *BUDGET)
    assert (code, out) == (1, "")
    assert err.startswith("hushcount failed unexpectedly (EOFError in ")


def test_ctrl_c_in_a_command_is_one_line(capfd, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hushcount.cli.options.data", interrupted)
    assert run(capfd, "top", "a.csv", *BUDGET) == (130, "", "Interrupted; nothing was released.\n")


def test_a_damaged_cache_of_compiled_code_has_its_own_sentence(capfd, monkeypatch):
    place = {}
    exec(compile("def load(*_):\n    raise EOFError", "/x/numba/core/caching.py", "exec"), place)
    monkeypatch.setattr("hushcount.cli.options.data", place["load"])
    assert run(capfd, "top", "a.csv", *BUDGET) == (
        1,
        "",
        "The compiled code that hushcount keeps on disk is damaged, or the disk is full. Free some space,"
        " or set NUMBA_CACHE_DIR to an empty folder, and run it again.\n",
    )


def test_quiet_prints_the_table_and_warnings_only(capfd, tmp_path):
    (tmp_path / "a.txt").write_text("tea\n" * 900)
    asked = ("top", str(tmp_path / "a.txt"), "--format", "lines", "--epsilon", "1", "--delta", "1e-6")
    code, out, err = run(capfd, *asked, "--quiet")
    assert (code, out.split("\t")[0], err) == (0, "key", "")
    assert run(capfd, *asked, "-q", "--delta", "1e-4")[2].startswith("Warning: --delta = 0.0001 is large")
    assert run(capfd, *asked)[2].startswith("Protects one event")  # the next command speaks again


def test_verbose_prints_public_facts_only(capfd, tmp_path):
    (tmp_path / "a.txt").write_text("tea\n" * 900 + "secret\n")
    asked = ("top", str(tmp_path / "a.txt"), "--format", "lines", *BUDGET, "--counters", "64")
    code, out, err = run(capfd, *asked, "--verbose")
    assert code == 0
    assert f"Details  Made by hushcount {software()} at 20" in err
    assert "Public numbers of the mechanism: threshold 17, candidates 63." in err
    assert "secret" not in out + err
    assert "901" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "message"),
    [
        (("top", "none.csv", *BUDGET), 1, "DataError", "none.csv does not exist."),
        (
            ("top", "a.csv", *BUDGET, "--limit", "0"),
            2,
            "ParameterError",
            "--limit must be at least 1, got 0.",
        ),
        (("top", "a.csv", "--delta", "1e-6"), 2, "UsageError", None),
        (
            ("top", "a.csv", *BUDGET, "--zzz"),
            2,
            "UsageError",
            click.NoSuchOption("--zzz").format_message().rstrip(".") + ".",
        ),
    ],
)
def test_with_json_an_error_is_one_object(capfd, arguments, code, kind, message):
    found, out, err = run(capfd, *arguments, "--json")
    assert (found, out, err.count("\n")) == (code, "", 1)
    error = json.loads(err)["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert message is None or error["message"] == message


def test_with_json_a_warning_is_one_object(capfd, tmp_path):
    (tmp_path / "a.txt").write_text("tea\n" * 900)
    asked = ("top", str(tmp_path / "a.txt"), "--format", "lines", "--epsilon", "1", "--delta", "1e-4")
    err = run(capfd, *asked, "--json", "--quiet")[2]
    assert json.loads(err.splitlines()[0])["warning"]["message"].startswith("--delta = 0.0001 is large")


def test_an_unexpected_failure_is_one_object_too(capfd, monkeypatch):
    monkeypatch.setattr("hushcount.jobs.top.top_job", lambda *_: 1 / 0)
    code, _, err = run(capfd, "top", "a.csv", *BUDGET, "--json")
    assert code == 1
    assert json.loads(err)["error"]["kind"] == "Unexpected"
