"""Files appear whole and together, with the right mode, and never over what is being read."""

import os
import signal
import stat
from pathlib import Path

import pytest

from hushcount import signals
from hushcount.errors import DataError, ParameterError
from hushcount.files import atomic
from hushcount.files.atomic import (
    PRIVATE,
    Outputs,
    atomic_file,
    check_writable,
    refuse_same,
    replace_verified,
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def write(path, text=b"new", **options):
    with atomic_file(path, **options) as stream:
        stream.write(text)


@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask_and_raw_data_stay_private(umask, mask, expected):
    umask(mask)
    write("release.csv")
    write("sketch.hc", mode=PRIVATE)
    assert (mode("release.csv"), mode("sketch.hc")) == (expected, 0o600)


def test_an_existing_mode_is_kept_but_raw_data_become_private():
    for name in ("release.csv", "sketch.hc"):
        Path(name).write_bytes(b"old")
        os.chmod(name, 0o640)
    write("release.csv")
    write("sketch.hc", mode=PRIVATE)
    assert (mode("release.csv"), mode("sketch.hc")) == (0o640, 0o600)


def test_a_link_stays_and_its_file_is_replaced():
    Path("real.csv").write_bytes(b"old")
    os.symlink("real.csv", "link.csv")
    write("link.csv")
    assert os.path.islink("link.csv")
    assert Path("real.csv").read_bytes() == b"new"


def prepare(outputs, *names):
    for name in names:
        with outputs.file(name) as stream:
            stream.write(name.encode())


def test_files_appear_together():
    with Outputs() as outputs:
        prepare(outputs, "a.csv", "b.svg")
        assert not os.path.exists("a.csv")
        outputs.commit()
    assert (Path("a.csv").read_bytes(), Path("b.svg").read_bytes()) == (b"a.csv", b"b.svg")
    assert sorted(os.listdir()) == ["a.csv", "b.svg"]


def test_nothing_appears_without_a_commit():
    Path("a.csv").write_bytes(b"old")

    def fail():
        with Outputs() as outputs:
            prepare(outputs, "a.csv", "b.svg")
            raise ValueError("later")

    with pytest.raises(ValueError, match="later"):
        fail()
    assert os.listdir() == ["a.csv"]
    assert Path("a.csv").read_bytes() == b"old"


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_signal_leaves_all_or_nothing_and_the_message_is_true(monkeypatch, moment):
    replace = os.replace

    def interrupted(one, other):
        signal.raise_signal(signal.SIGINT)
        replace(one, other)

    def run():
        with Outputs() as outputs:
            prepare(outputs, "a.csv", "b.svg")
            if moment == "before":
                signal.raise_signal(signal.SIGINT)
            monkeypatch.setattr(os, "replace", interrupted)
            outputs.commit()

    with signals.handled():
        signals.leaves("nothing was released.")
        with pytest.raises(KeyboardInterrupt):
            run()
        said = signals.interruption()
    if moment == "before":
        assert (os.listdir(), said) == ([], "Interrupted; nothing was released.")
    else:
        assert sorted(os.listdir()) == ["a.csv", "b.svg"]
        assert said == "Interrupted; a.csv and b.svg had been written."


def test_a_failed_rename_says_what_was_written(monkeypatch):
    replace = os.replace

    def full(one, other):
        if other.endswith("b.svg"):
            raise OSError(28, "No space left on device")
        replace(one, other)

    monkeypatch.setattr(os, "replace", full)
    with Outputs() as outputs:
        prepare(outputs, "a.csv", "b.svg")
        with pytest.raises(DataError) as caught:
            outputs.commit()
    assert str(caught.value) == "Cannot write b.svg: no space left on device. a.csv had been written."
    assert os.listdir() == ["a.csv"]


def test_a_full_disk_keeps_the_old_file(monkeypatch):
    Path("a.csv").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError) as caught:
        write("a.csv")
    assert str(caught.value) == "Cannot write a.csv: no space left on device."
    assert (os.listdir(), Path("a.csv").read_bytes()) == (["a.csv"], b"old")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("x" * 300 + ".csv", "Cannot write {}: file name too long."),
        ("none/a.csv", "Cannot write {}: the folder none does not exist."),
        (".", "Cannot write {}: permission denied, or it is a folder."),
        ("a\0b", "Cannot write {}: the name is not allowed."),
        ("/dev/null", "Cannot write {}: it is not a regular file."),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(path, sentence):
    for attempt in (check_writable, write):
        with pytest.raises(DataError) as caught:
            attempt(path)
        assert str(caught.value) == sentence.format(path)


def test_a_name_of_other_bytes_can_be_written():
    name = os.fsdecode(b"caf\xe9.csv")
    write(name)
    assert os.listdir() == [name]


def test_what_does_not_read_back_replaces_nothing(monkeypatch):
    replace_verified("run.hc", b"good")
    write_bytes = atomic.os.fdopen

    class Bad:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            self.stream.__enter__()
            return self

        def __exit__(self, *error):
            return self.stream.__exit__(*error)

        def write(self, data):
            return self.stream.write(data[:-1] + b"?")

        def __getattr__(self, name):
            return getattr(self.stream, name)

    monkeypatch.setattr(atomic.os, "fdopen", lambda *options: Bad(write_bytes(*options)))
    with pytest.raises(DataError) as caught:
        replace_verified("run.hc", b"other")
    assert str(caught.value) == "Cannot write run.hc: what was written does not read back the same."
    assert (os.listdir(), Path("run.hc").read_bytes(), mode("run.hc")) == (["run.hc"], b"good", 0o600)


def test_an_output_that_is_an_input_is_refused():
    Path("in.csv").write_bytes(b"a")
    os.symlink("in.csv", "soft.csv")
    os.link("in.csv", "hard.csv")
    for path in ("in.csv", "./in.csv", os.path.abspath("in.csv"), "soft.csv", "hard.csv", Path("in.csv")):
        with pytest.raises(ParameterError) as caught:
            refuse_same([None, path], ["in.csv"])
        assert str(caught.value) == f"{path} is read by this run, so it cannot be written; name another file."
    refuse_same(["out.csv", None], ["in.csv", "missing.csv"])


def test_one_file_for_two_outputs_is_refused():
    with pytest.raises(ParameterError) as caught:
        refuse_same(["out.csv", "./out.csv"], [])
    assert str(caught.value) == "./out.csv would be written twice; name another file for one of them."
