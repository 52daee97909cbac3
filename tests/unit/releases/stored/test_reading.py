import json

import pytest
from tests.made import made

import hushcount as hc
from hushcount.errors import DataError, ReleaseFileError


def test_a_file_is_read_in_any_layout(tmp_path):
    release = made("floor")
    release.write(tmp_path / "t.json")
    assert (tmp_path / "t.json").read_text() == release.to_json() + "\n"
    (tmp_path / "wide.json").write_text(json.dumps(json.loads(release.to_json()), indent=2))
    for name in ("t.json", "wide.json"):
        assert hc.read_release(tmp_path / name).table == release.table


def test_a_changed_file_is_noticed(tmp_path):
    text = made("floor").to_json().replace("one event, not one person", "everybody")
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ReleaseFileError) as refused:
        hc.read_release(tmp_path / "t.json")
    assert str(refused.value) == f"{tmp_path}/t.json is damaged: its contents do not match its digest."


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(DataError, match=r"Cannot read .*: is a directory\.$"):
        hc.read_release(tmp_path)
