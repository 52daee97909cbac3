"""Reports on the wire: 18 bytes, and the reasons for which one is refused."""

import json

import pytest
from tests.make_ldp_vectors import FOLDER, manifests

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.report import REASONS, REPORT_BYTES, Report, nonce_bytes, pack, parse, refusal

VECTORS = json.loads((FOLDER / "ldp_reports.json").read_text())


def test_layout():
    manifest = manifests()["tree"]
    report = pack(manifest, b"abcdefgh", 5)
    assert report == b"\x01" + bytes.fromhex(manifest.id)[:8] + b"abcdefgh" + b"\x05"
    assert len(report) == REPORT_BYTES == 18
    assert parse(report, manifest) == Report(b"abcdefgh", (5,))


def test_the_first_group_stands_in_the_lowest_bits():
    manifest = manifests()["several"]
    assert [group.symbol_bits for group in manifest.groups] == [3, 5]
    for joined in range(256):
        assert parse(pack(manifest, bytes(8), joined), manifest).symbols == (joined % 8, joined // 8)


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=lambda bad: bad["name"])
def test_bad_reports(bad):
    manifest, report = manifests()[bad["manifest"]], bytes.fromhex(bad["report"])
    assert refusal(report, manifest) == bad["reason"]
    assert bad["reason"] in REASONS
    with pytest.raises(ReportError) as error:
        parse(report, manifest)
    assert str(error.value) == bad["error"]


def test_good_reports():
    for row in VECTORS["good"]:
        manifest, report = manifests()[row["manifest"]], bytes.fromhex(row["report"])
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
    assert nonce_bytes(nonce) == expected


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
        nonce_bytes(nonce)
    assert str(error.value) == text
