"""The files that a query names are known, count once, and give its fingerprint."""

import os
from pathlib import Path

import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.files.fingerprint import Fingerprint
from hushcount.sources.open import open_source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("d")
    Path("d/a.csv").write_text("url,country\na,FR\n")
    Path("d/b.csv").write_text("url,country\nb,ES\n")


def opened(query):
    return open_source(None, sql=query, column="url")


def refusal(query, kind=DataError):
    with pytest.raises(kind) as caught:
        opened(query)
    assert caught.value.__cause__ is caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT url FROM 'd/a.csv'", ["d/a.csv"]),
        ('FROM "d/a.csv"', ["d/a.csv"]),
        ("SELECT url FROM read_csv('d/*.csv', header = true)", ["d/a.csv", "d/b.csv"]),
        ("SELECT url FROM read_csv(['d/b.csv', $$d/a.csv$$])", ["d/b.csv", "d/a.csv"]),
        ("WITH x AS (FROM 'd/b.csv') SELECT url FROM x WHERE url IN (SELECT url FROM 'd/a.csv')", None),
        ("SELECT 'd/a.csv ' AS url", []),
    ],
)
def test_the_files_of_a_query(query, names):
    assert sorted(opened(query).inputs) == sorted(["d/a.csv", "d/b.csv"] if names is None else names)


def test_a_pattern_that_matches_links_to_one_file_is_refused():
    os.symlink("a.csv", "d/soft.csv")
    for pattern in ("d/*.csv", "d/**/*.csv"):
        assert refusal(f"SELECT url FROM '{pattern}'") == (
            f"{pattern} in the SQL query matches several links to one file, whose rows would count twice;"
            " remove the links or name the files."
        )
    assert opened("SELECT url FROM 'd/soft.csv'").inputs == ("d/soft.csv",)
    os.unlink("d/soft.csv")
    os.link("d/a.csv", "d/hard.csv")
    assert "several links to one file" in refusal("SELECT url FROM read_csv('d/*.csv')")


def test_a_cycle_of_links_is_refused():
    os.symlink(".", "d/loop")
    assert refusal("SELECT url FROM 'd/**/*.csv'") == (
        "d/loop is a link to a folder above it, so files would count many times;"
        " remove the link or name the files otherwise."
    )


def test_a_computed_name_is_refused():
    sentence = "The SQL query must name its files in full, not compute their names."
    assert refusal("SELECT url FROM read_csv('d/' || '*.csv')", ParameterError) == sentence
    assert opened("SELECT 'x' || range AS url FROM range(2 + 3)").inputs == ()


def marks(query):
    return Fingerprint.parse(opened(query).fingerprint)


def test_the_fingerprint_is_of_files_and_question():
    france = marks("SELECT url FROM 'd/*.csv' WHERE country = 'FR'")
    assert france == marks("select  url from 'd/*.csv'\n where country='FR' -- only these")
    spain = marks("SELECT url FROM 'd/*.csv' WHERE country = 'ES'")
    assert not france.repeats(spain)
    assert france.shares_files(spain)
    Path("d/b.csv").write_text("url,country\nb,FR\n")
    assert marks("SELECT url FROM 'd/*.csv' WHERE country = 'FR'") != france
