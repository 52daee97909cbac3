"""Every file counts once, however many names it has, and its ending names its format."""

import os
from pathlib import Path

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.sources.open import open_source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    Path("d/a.csv").write_text("url\na\n")
    Path("d/b.csv").write_text("url\nb\n")


def keys(path, **options):
    source = open_source(path, **{"column": "url", **options})
    return [key for batch in source.batches() for key in batch.keys.to_pylist()]


def refusal(path, kind=DataError, **options):
    with pytest.raises(kind) as caught:
        keys(path, **options)
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("path", ["d", "d/*.csv", "d/**/*.csv"])
def test_links_to_one_file_count_once(path):
    os.symlink("a.csv", "d/soft.csv")
    os.link("d/a.csv", "d/hard.csv")
    os.mkdir("d/deep")
    os.link("d/b.csv", "d/deep/c.csv")
    assert sorted(keys(path)) == ["a", "b"]


def test_the_first_name_gives_the_order():
    os.link("d/b.csv", "d/0.csv")
    assert keys("d") == ["b", "a"]


@pytest.mark.parametrize("target", [".", "..", "../d"])
def test_a_cycle_of_links_is_refused(target):
    """Two of them would be walked for ever."""
    os.symlink(target, "d/loop")
    os.symlink(target, "d/loop2")
    for path in ("d/**/*.csv", "**/*.csv"):
        assert refusal(path).endswith(
            " is a link to a folder above it, so files would count many times;"
            " remove the link or name the files otherwise."
        )
    assert keys("d") == ["a", "b"]


def test_a_link_to_another_folder_is_followed_by_a_pattern():
    os.mkdir("store")
    Path("store/c.csv").write_text("url\nc\n")
    os.symlink("../store", "d/more")
    assert keys("d/**/*.csv") == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["a.log", "a.txt", "A.LOG"])
def test_logs_and_text_are_lines(name):
    Path(name).write_text("url\na\n")
    assert keys(name, column=None) == ["url", "a"]
    refused = "Lines of text have no columns, so --format lines takes no --column."
    assert refusal(name, ParameterError) == refused
    assert refusal("d/a.csv", ParameterError, format="lines") == refused


def test_notes_beside_the_data_are_left_out():
    Path("d/readme.txt").write_text("about these files\n")
    assert keys("d") == ["a", "b"]


def test_a_name_of_other_bytes_is_refused():
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("url\na\n")
    assert refusal(name) == "'caf\\udce9.csv' is a file name that is not valid UTF-8; rename the file."
