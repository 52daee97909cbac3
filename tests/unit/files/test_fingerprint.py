"""The same data have the same fingerprint wherever they lie; other data have another."""

import os
import shutil
from pathlib import Path

import pytest

from hushcount.errors import DataError
from hushcount.files.fingerprint import (
    ASSUMED_APART,
    ASSUMED_DISJOINT,
    SAMPLE,
    WHOLE,
    Fingerprint,
    check_disjoint,
    content_digest,
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_content_not_place_or_time():
    Path("a.csv").write_bytes(b"x" * 1000)
    os.mkdir("d")
    shutil.copy("a.csv", "d/b.csv")
    os.utime("d/b.csv", (1, 1))
    assert content_digest("a.csv") == content_digest("d/b.csv")
    Path("a.csv").write_bytes(b"x" * 999 + b"y")
    assert content_digest("a.csv") != content_digest("d/b.csv")


@pytest.mark.parametrize("place", [0, SAMPLE - 1, 5 * WHOLE - 1, 5 * WHOLE - SAMPLE])
def test_large_files_are_sampled_at_both_ends(place):
    data = bytearray(5 * WHOLE)
    Path("a").write_bytes(data)
    before = content_digest("a")
    data[place] = 1
    Path("a").write_bytes(data)
    assert content_digest("a") != before
    Path("a").write_bytes(bytes(5 * WHOLE + 1))
    assert content_digest("a") != before


def text(files, question, time=0):
    return str(Fingerprint.of([(file, time) for file in files], question))


def test_text_there_and_back():
    one = Fingerprint.of([("aa", 1), ("bb", 2)], ["csv", "item"])
    assert Fingerprint.parse(str(one)) == one
    assert Fingerprint.parse("") is None
    assert Fingerprint.parse("0123456789abcdef") is None  # of an earlier version
    none = Fingerprint.of([], "SELECT 1")
    assert Fingerprint.parse(str(none)) == none
    assert text(["aa"], "q", 1) != text(["aa"], "q", 2)


def test_the_same_data_twice_are_refused():
    for other in (text(["aa", "bb"], "q", 5), text(["bb", "cc"], "q")):
        with pytest.raises(DataError) as caught:
            check_disjoint([("a.hc", text(["aa", "bb"], "q")), ("b.hc", text(["dd"], "q")), ("c.hc", other)])
        assert str(caught.value) == (
            "c.hc and a.hc are sketches of the same data, so their events would count twice;"
            " take only one of them."
        )


def test_one_file_under_two_queries_is_an_assumption():
    france, spain = text(["aa"], "WHERE country = 'FR'"), text(["aa"], "WHERE country = 'ES'")
    assert check_disjoint([("fr.hc", france), ("es.hc", spain)]) == (ASSUMED_DISJOINT,)
    assert check_disjoint([("fr.hc", france), ("x.hc", text(["bb"], "q")), ("y.hc", ""), ("z.hc", "")]) == (
        ASSUMED_APART,
    )
    assert check_disjoint([("a.hc", france)]) == check_disjoint([]) == ()
