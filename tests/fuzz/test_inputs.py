"""Damaged files of every format end no program: they are read, or refused in a sentence."""

import json
import subprocess
import sys

import pytest
from tests.fuzz.inputs import MAKERS

COUNT = 120


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_damaged_files_are_read_or_refused(name):
    command = [sys.executable, "-m", "tests.fuzz.inputs", name, "7", str(COUNT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == COUNT
    assert min(outcomes.values()) > 0
