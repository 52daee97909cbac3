"""Reports on the wire: 18 or 27 bytes, and the reasons for which one is refused."""

import json

import pytest
from tests.make_ldp_vectors import FOLDER, manifests

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.report import REASONS, Report, nonce_bytes, pack, parse, refusal
from hushcount.ldp.wire.versions import ISSUED

FILES = {1: "ldp_reports.json", 2: "ldp_2_reports.json"}
VECTORS = {version: json.loads((FOLDER / name).read_text()) for version, name in FILES.items()}
BAD = [(version, bad) for version, rows in VECTORS.items() for bad in rows["bad"]]


def test_layout():
    manifest = manifests()["tree"]
    report = pack(manifest, b"abcdefgh", 5)
    assert report == b"\x01" + bytes.fromhex(manifest.id)[:8] + b"abcdefgh" + b"\x05"
    assert len(report) == manifest.wire.report_bytes == 18
    assert parse(report, manifest) == Report(b"abcdefgh", (5,))


def test_layout_of_version_2():
    manifest = manifests(2)["nine"]
    nonce = b"abcdefghijklmnop"
    report = pack(manifest, nonce, 511)
    assert report == b"\x02" + bytes.fromhex(manifest.id)[:8] + nonce + b"\xff\x01"
    assert len(report) == manifest.wire.report_bytes == 27
    assert parse(report, manifest) == Report(nonce, (511,))


def test_the_first_group_stands_in_the_lowest_bits():
    manifest = manifests()["several"]
    assert [group.symbol_bits for group in manifest.groups] == [3, 5]
    for joined in range(256):
        assert parse(pack(manifest, bytes(8), joined), manifest).symbols == (joined % 8, joined // 8)


@pytest.mark.parametrize(("version", "bad"), BAD, ids=[f"{bad['name']}, {version}" for version, bad in BAD])
def test_bad_reports(version, bad):
    manifest, report = manifests(version)[bad["manifest"]], bytes.fromhex(bad["report"])
    assert refusal(report, manifest) == bad["reason"]
    assert bad["reason"] in REASONS
    with pytest.raises(ReportError) as error:
        parse(report, manifest)
    assert str(error.value) == bad["error"]


@pytest.mark.parametrize("version", VECTORS)
def test_good_reports(version):
    for row in VECTORS[version]["good"]:
        manifest, report = manifests(version)[row["manifest"]], bytes.fromhex(row["report"])
        if manifest.reports > 1:
            continue
        assert refusal(report, manifest) is None
        assert parse(report, manifest) == Report(bytes.fromhex(row["nonce"]), tuple(row["symbols"]))


@pytest.mark.parametrize(
    ("nonce", "expected"),
    [
        (0, bytes(8)),
        (1, b"\x01" + bytes(7)),
        (2**64 - 1, b"\xff" * 8),
        (b"abcdefgh",) * 2,
        (bytearray(8), bytes(8)),
    ],
)
def test_nonces(nonce, expected):
    assert nonce_bytes(nonce, ISSUED) == expected


@pytest.mark.parametrize(
    ("nonce", "text"),
    [
        (b"abc", "nonce must have 8 bytes, got 3."),
        (-1, "nonce must be at least 0, got -1."),
        (2**64, "nonce must be at most 18446744073709551615, got 18446744073709551616."),
        (True, "nonce must be a whole number, got True."),
        ("abcdefgh", "nonce must be a whole number, got 'abcdefgh'."),
        (None, "nonce must be a whole number, got None."),
    ],
)
def test_bad_nonces(nonce, text):
    with pytest.raises(ParameterError) as error:
        nonce_bytes(nonce, ISSUED)
    assert str(error.value) == text
