import json
from pathlib import Path

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import NotProvedError, ParameterError, ReleaseFileError

FILES = Path(__file__).parents[3] / "vectors" / "files"
LACKING = (
    "This file is of version 1, so it lacks the numbers behind its intervals: they are known at confidence"
    " 0.95 only, there are no sums and estimators, and keys that are neither text nor whole numbers are text."
    " Nothing in it can be verified."
)
NAMES = ["release", "release-columns", "release-empty", "sample", "tree"]


@pytest.mark.parametrize("name", NAMES)
def test_files_of_version_1_are_read_with_what_they_lack(name):
    values = json.loads((FILES / f"{name}-v1.json").read_text())
    release = hc.read_release(FILES / f"{name}-v1.json")
    assert release.table.to_pylist() == values["rows"]
    assert release.accuracy().sentences == tuple(values["accuracy"]["sentences"])
    assert release.guarantee.to_dict() == values["guarantee"]
    assert release.notes == (*values["notes"], LACKING)
    assert hc.read_release(release.to_json().encode()).table == release.table


def test_an_empty_table_of_version_1_has_no_keys():
    release = hc.read_release(FILES / "release-empty-v1.json")
    assert release.keys.schema == pa.schema([("key", pa.null())])
    assert release.table.column_names == ["key", "count", "lower", "upper"]


def test_what_version_1_lacks_is_refused():
    release = hc.read_release(FILES / "sample-v1.json")
    with pytest.raises(NotProvedError):
        release.sum()
    with pytest.raises(ParameterError, match=r"states its error at confidence 0\.95 only, got 0\.9\.$"):
        release.accuracy(0.9)
    assert release.limit(2).table == release.table.slice(0, 2)


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_of_version_1_are_refused(name):
    values = json.loads((FILES / f"{name}-v1.json").read_text())
    for member in values:
        if member in ("hushcount", "counted"):  # the sentence on what is counted is not read
            continue
        damaged = json.dumps(values | {member: [{"a": None}]}).encode()
        with pytest.raises(
            ReleaseFileError, match=r"^The release is damaged: its contents contradict each other\.$"
        ):
            hc.read_release(damaged)
