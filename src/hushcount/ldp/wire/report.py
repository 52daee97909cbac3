"""A report as it is sent: version, start of the campaign's id, nonce, symbols. Pure Python.

It has 18 bytes in version 1 and 27 in version 2 of the wire.
"""

from __future__ import annotations

from typing import NamedTuple

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.versions import CAMPAIGN_BYTES, HEADER_BYTES, Wire
from hushcount.privacy import check_count

# Why a report is refused, in the order of the checks; the last two are the aggregator's.
REASONS = ("length", "version", "campaign", "symbol", "expired", "duplicate")


class Report(NamedTuple):
    """What a report says: its nonce, and one symbol for each group of the manifest."""

    nonce: bytes
    symbols: tuple[int, ...]


def nonce_bytes(nonce: bytes | int, wire: Wire) -> bytes:
    """Return a nonce as the bytes of a version of the wire; a number is written little-endian.

    >>> from hushcount.ldp.wire.versions import ISSUED
    >>> nonce_bytes(258, ISSUED)
    b'\\x02\\x01\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    size = wire.nonce_bytes
    if isinstance(nonce, bytes | bytearray):
        if len(nonce) != size:
            raise ParameterError(f"nonce must have {size} bytes, got {len(nonce)}.")
        return bytes(nonce)
    return check_count("nonce", nonce, least=0, most=(1 << 8 * size) - 1).to_bytes(size, "little")


def header(manifest: Manifest) -> bytes:
    """Return the version and the start of the id, with which every report of a campaign begins."""
    return bytes((manifest.version,)) + manifest.campaign[:CAMPAIGN_BYTES]


def pack(manifest: Manifest, nonce: bytes, symbols: int) -> bytes:
    """Return the bytes of a report; the symbols of the groups are joined, the first in the lowest bits."""
    return header(manifest) + nonce + symbols.to_bytes(manifest.wire.symbol_bytes, "little")


def refusal(report: bytes, manifest: Manifest) -> str | None:
    """Return why a report cannot belong to a campaign (one of REASONS), or None if it can."""
    if len(report) != manifest.wire.report_bytes:
        return "length"
    if report[0] != manifest.version:
        return "version"
    if report[:HEADER_BYTES] != header(manifest):
        return "campaign"
    return "symbol" if _joined(report, manifest) >= manifest.symbols else None


def parse(report: bytes, manifest: Manifest) -> Report:
    """Return what one report of a campaign says, or raise ReportError."""
    reason = refusal(report, manifest)
    if reason is not None:
        raise ReportError(_text(reason, report, manifest))
    symbols, joined = [], _joined(report, manifest)
    for group in manifest.groups:
        symbols.append(joined & (group.symbols - 1))
        joined >>= group.symbol_bits
    nonce = report[HEADER_BYTES : HEADER_BYTES + manifest.wire.nonce_bytes]
    return Report(nonce, tuple(symbols))


def _joined(report: bytes, manifest: Manifest) -> int:
    """Return the symbols of all groups as one number."""
    return int.from_bytes(report[-manifest.wire.symbol_bytes :], "little")


def _text(reason: str, report: bytes, manifest: Manifest) -> str:
    """Say why a report is refused."""
    if reason == "length":
        return f"a report must have {manifest.wire.report_bytes} bytes, got {len(report)}."
    if reason == "version":
        return f"the version of a report must be {manifest.version}, got {report[0]}."
    if reason == "campaign":
        return f"a report must be of the campaign {manifest.id[:16]}, got one of {report[1:9].hex()}."
    return f"the symbols of a report must be below {manifest.symbols}, got {_joined(report, manifest)}."
