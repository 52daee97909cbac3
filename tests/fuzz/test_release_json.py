"""Files of releases that are damaged, or made to do harm, are refused in one sentence."""

from __future__ import annotations

import json
import random

import pytest
from tests.made import made

import hushcount as hc
from hushcount.errors import HushcountError, ReleaseFileError
from hushcount.releases.stored.exact import canonical, digest

NAMES = (
    "floor",
    "shards",
    "key-shards",
    "pure",
    "pure-shards",
    "reduced",
    "group",
    "hierarchy-streaming",
    "sample",
    "noisy-cells",
    "local, tree_hist",
    "sum",
)
DAMAGED = "The release is damaged: its contents do not match its digest."
MISFIT = "The release is damaged: its contents contradict each other."
FOREIGN = "The release is not a release of hushcount in JSON."
HOSTILE = (
    None,
    True,
    -1,
    0,
    2**53,
    2**53 + 1,
    0.5,
    "",
    "nan",
    "-1",
    "1e400",
    "9" * 5000,
    "99999999999999999999",
    "fixed_size_binary[9999999]",
    "1/0",
    [],
    [[]],
    [None],
    {},
    {"name": "floor"},
    {"name": "sum", "parties": []},
    {"number": "inf"},
)


def forged(values):
    """Return the file of a changed document, with the digest of what it holds now."""
    return canonical(values | {"digest": digest(values)})


def places(value, path=()):
    """Yield the path of every member and of the first and last value of every list."""
    if isinstance(value, dict):
        for name in value:
            yield (*path, name)
            yield from places(value[name], (*path, name))
    elif isinstance(value, list) and value:
        for place in {0, len(value) - 1}:
            yield (*path, place)
            yield from places(value[place], (*path, place))


def changed(values, path, value):
    copy = json.loads(json.dumps(values))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return copy


def without(values, path):
    copy = json.loads(json.dumps(values))
    place = copy
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return copy


def refusal(data):
    """Return why a file is refused, None if it is read and can be used."""
    try:
        release = hc.read_release(data)
    except ReleaseFileError as error:
        refused = error
    else:
        release.to_json()
        return None
    assert (refused.__cause__, refused.__context__) == (None, None)
    return str(refused)


@pytest.mark.parametrize("name", NAMES)
def test_every_member_is_checked(name):
    values = made(name).to_dict() if name != "noisy-cells" else json.loads(made(name).to_json())
    chosen = random.Random(7)
    paths = [path for path in places(values) if path[0] not in ("digest", "accuracy", "rows")]
    for path in paths:
        assert refusal(forged(without(values, path))) in (MISFIT, FOREIGN, None)
        for value in chosen.sample(HOSTILE, 6):
            data = forged(changed(values, path, value))
            said = refusal(data)
            hc.verify(data)  # finds something or nothing, and never fails
            assert said in (MISFIT, FOREIGN, None) or said.startswith("The release was written by a newer")


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_noticed(name):
    data = made(name).to_json().encode()
    chosen = random.Random(11)
    for _ in range(60):
        place = chosen.randrange(len(data))
        flipped = bytearray(data)
        flipped[place] ^= 1 << chosen.randrange(7)
        assert refusal(bytes(flipped)) is not None
        assert refusal(data[:place]) == FOREIGN


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe{",
        b'{"hushcount": true}',
        b'{"hushcount": 0}',
        b'{"hushcount": "2"}',
        b'{"hushcount": NaN}',
        b'{"hushcount": 2, "hushcount": 2}',
        b"{" + b'"a":{' * 100_000,
        b'{"a":' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_release_is_refused(data):
    assert refusal(data) == FOREIGN


def test_a_newer_version_is_named():
    assert refusal(b'{"hushcount": 3}') == (
        "The release was written by a newer hushcount (version 3, this one reads up to 2)."
    )


def test_files_are_read_up_to_a_length(tmp_path, monkeypatch):
    monkeypatch.setattr("hushcount.releases.stored.reading.LARGEST_FILE", 1000)
    path = tmp_path / "long.json"
    path.write_bytes(b"{" + b" " * 2000)
    with pytest.raises(ReleaseFileError, match=r"long\.json is too long"):
        hc.read_release(path)
    path.write_bytes(b"\0" * 2000)
    with pytest.raises(ReleaseFileError, match=r"is not a release of hushcount in JSON\.$"):
        hc.read_release(path)
    with pytest.raises(HushcountError, match=r"missing\.json does not exist\.$"):
        hc.read_release(tmp_path / "missing.json")
