"""The files of one run: checked by name, written together or not at all."""

import pytest
from tests.releases import release_of

from hushcount.errors import DataError, ParameterError
from hushcount.releases.views.report_files import check_files, write_files

RELEASE = release_of([("tea", 900)])


def test_all_are_written(tmp_path):
    write_files(RELEASE, tmp_path / "a.csv", tmp_path / "a.svg", tmp_path / "a.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.html", "a.svg"]


def test_none_is_written_if_one_cannot_be(tmp_path):
    with pytest.raises(DataError):
        write_files(RELEASE, tmp_path / "a.csv", None, tmp_path / "missing" / "a.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (("a.txt", None, None), "output must end in one of .csv, .tsv, .parquet, .json, got a.txt."),
        ((None, "a.png", None), "plot must end in .svg, got a.png."),
        ((None, None, "a.pdf"), "report must end in .html or .htm, got a.pdf."),
    ],
)
def test_names(files, words):
    with pytest.raises(ParameterError) as raised:
        check_files(*files)
    assert str(raised.value) == words


def test_folders_that_are_not_there():
    with pytest.raises(DataError):
        check_files(None, None, "/nowhere/at/all/a.html")
