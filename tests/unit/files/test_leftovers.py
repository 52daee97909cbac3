"""What a killed process leaves is removed by the next one, and nothing else."""

import os
import stat
import subprocess
import sys
import tempfile

import pytest

from hushcount.files.leftovers import prefix, private_folder, remove_leftovers, take_lock

# Makes a folder and a file, then dies without a chance to remove them.
KILLED = """
import os, signal, tempfile
from hushcount.files.atomic import Outputs
from hushcount.files.leftovers import private_folder
with private_folder() as folder, Outputs() as outputs, outputs.file("out.hc") as stream:
    open(os.path.join(folder, "raw"), "w").close()
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_the_folder_is_private_and_removed():
    with private_folder() as folder:
        assert os.path.basename(folder).startswith(prefix())
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert os.listdir() == []


def test_a_killed_process_is_cleaned_up_after(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    assert done.returncode == -9
    assert len(os.listdir()) == 2
    remove_leftovers(str(tmp_path))
    assert os.listdir() == []


def make(name, mode=0o700):
    os.mkdir(name)
    os.chmod(name, mode)


@pytest.fixture
def dead():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_is_used_or_somebody_elses_stays(tmp_path, dead, monkeypatch):
    make(f"{prefix()}living")
    make(f"hushcount-{dead}-open", 0o755)
    make(f"hushcount-{dead}-locked")
    make(f"other-{dead}-x")
    make("hushcount-x")
    os.symlink("other", f"hushcount-{dead}-link")
    lock = os.open(f"hushcount-{dead}-locked", os.O_RDONLY)
    assert take_lock(lock)
    before = sorted(os.listdir())
    remove_leftovers(str(tmp_path))
    assert sorted(os.listdir()) == before
    os.close(lock)
    make(f"hushcount-{dead}-stale")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_leftovers(str(tmp_path))
    assert sorted(os.listdir()) == sorted([*before, f"hushcount-{dead}-stale"])
    monkeypatch.undo()
    remove_leftovers(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == [name for name in before if not name.endswith("-locked")]


def test_a_folder_that_cannot_be_read_is_no_failure():
    remove_leftovers("missing")
