"""A report as it is sent, 18 bytes: version, start of the campaign's id, nonce, symbols. Pure Python."""

from __future__ import annotations

from typing import NamedTuple

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import NONCE_BYTES
from hushcount.privacy import check_count

REPORT_VERSION = 1
CAMPAIGN_BYTES = 8
REPORT_BYTES = 1 + CAMPAIGN_BYTES + NONCE_BYTES + 1
# Why a report is refused, in the order of the checks; the last two are the aggregator's.
REASONS = ("length", "version", "campaign", "symbol", "expired", "duplicate")


class Report(NamedTuple):
    """What a report says: its nonce, and one symbol for each group of the manifest."""

    nonce: bytes
    symbols: tuple[int, ...]


def nonce_bytes(nonce: bytes | int) -> bytes:
    """Return a nonce as eight bytes; a number is written little-endian.

    >>> nonce_bytes(258)
    b'\\x02\\x01\\x00\\x00\\x00\\x00\\x00\\x00'
    """
    if isinstance(nonce, bytes | bytearray):
        if len(nonce) != NONCE_BYTES:
            raise ParameterError(f"nonce must have {NONCE_BYTES} bytes, got {len(nonce)}.")
        return bytes(nonce)
    return check_count("nonce", nonce, least=0, most=(1 << 64) - 1).to_bytes(NONCE_BYTES, "little")


def pack(manifest: Manifest, nonce: bytes, symbols: int) -> bytes:
    """Return the bytes of a report; the symbols of the groups are joined, the first in the lowest bits."""
    return b"\x01" + manifest.campaign[:CAMPAIGN_BYTES] + nonce + bytes((symbols,))


def refusal(report: bytes, manifest: Manifest) -> str | None:
    """Return why a report cannot belong to a campaign (one of REASONS), or None if it can."""
    if len(report) != REPORT_BYTES:
        return "length"
    if report[0] != REPORT_VERSION:
        return "version"
    if report[1:9] != manifest.campaign[:CAMPAIGN_BYTES]:
        return "campaign"
    return "symbol" if report[17] >= manifest.symbols else None


def parse(report: bytes, manifest: Manifest) -> Report:
    """Return what one report of a campaign says, or raise ReportError."""
    reason = refusal(report, manifest)
    if reason is not None:
        raise ReportError(_text(reason, report, manifest))
    symbols, joined = [], report[17]
    for group in manifest.groups:
        symbols.append(joined & (group.symbols - 1))
        joined >>= group.symbol_bits
    return Report(report[9:17], tuple(symbols))


def _text(reason: str, report: bytes, manifest: Manifest) -> str:
    """Say why a report is refused."""
    if reason == "length":
        return f"a report must have {REPORT_BYTES} bytes, got {len(report)}."
    if reason == "version":
        return f"the version of a report must be {REPORT_VERSION}, got {report[0]}."
    if reason == "campaign":
        return f"a report must be of the campaign {manifest.id[:16]}, got one of {report[1:9].hex()}."
    return f"the symbols of a report must be below {manifest.symbols}, got {report[17]}."
