"""Kernels and their cache on disk: whatever is wrong with a file of it, the run goes on."""

import os
import subprocess
import sys

import pytest

from hushcount.compiled.kernel import NO_CACHE

PROGRAM = """
import sys
sys.path.insert(0, ".")
from loops import total
print(total(5))
"""
LOOPS = """
from hushcount.compiled.kernel import kernel

@kernel
def total(size):
    found = 0
    for index in range(size):
        found += index
    return found
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "loops.py").write_text(LOOPS)
    return folder


def run(folder, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
    return done.stderr


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
@pytest.mark.parametrize("kept", [0, 5, 60])
def test_files_cut_short_are_compiled_again(ending, kept, folder, tmp_path):
    assert run(folder, tmp_path) == ""
    files = [path for path in tmp_path.rglob("*") if path.suffix == ending]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[:kept])
    assert run(folder, tmp_path) == ""
    assert all(path.stat().st_size > kept for path in files), "written anew"
    assert run(folder, tmp_path) == ""


def test_code_that_names_a_module_of_the_past_is_compiled_again(folder, tmp_path):
    run(folder, tmp_path)
    (index,) = tmp_path.rglob("*.nbi")
    version_end = index.read_bytes().index(b".", 10) + 1
    index.write_bytes(index.read_bytes()[:version_end] + b"cno_such_module\nname\n.")
    assert run(folder, tmp_path) == ""


def test_a_cache_that_cannot_be_written_is_said_once(folder, tmp_path):
    program = PROGRAM.replace("from loops", "import numba.core.caching as c\n" + FULL + "from loops")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("10\n", f"{NO_CACHE}\n")


FULL = """
def full(*_):
    raise OSError(28, "No space left on device")
c.IndexDataCacheFile._save_data = full
"""
