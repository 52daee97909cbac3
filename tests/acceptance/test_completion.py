"""Shell completion, by click itself: commands and options are completed."""

import os
import subprocess
import sys

import pytest


def completed(words, position):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(position), "_HUSHCOUNT_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "hushcount"]
    done = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "position", "found"),
    [("hushcount expl", 1, ["plain,explain"]), ("hushcount top --eps", 2, ["plain,--epsilon"])],
)
def test_completion(words, position, found):
    assert completed(words, position) == found


def test_the_script_for_a_shell():
    asked = {**os.environ, "_HUSHCOUNT_COMPLETE": "bash_source"}
    command = [sys.executable, "-m", "hushcount"]
    done = subprocess.run(command, env=asked, capture_output=True, text=True, check=True)
    assert "_HUSHCOUNT_COMPLETE=bash_complete" in done.stdout
    assert done.stdout.rstrip().endswith("_hushcount_completion_setup;")
