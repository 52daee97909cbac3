"""Opening the sealed reports of a batch. What does not open, or is no report of the campaign, is dropped."""

from __future__ import annotations

from collections.abc import Mapping

from hushcount.errors import ReportError
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import refusal
from hushcount.ldp.wire.sealing import KEY_ID_BYTES, unpack_sealed, unseal
from hushcount.service.store.seals import SealKey


def opened(body: bytes, manifest: Manifest, keys: Mapping[bytes, SealKey]) -> tuple[list[bytes], int]:
    """Return the reports of a batch and how many were dropped, or raise ReportError if it is torn."""
    sealed = unpack_sealed(body)
    found = [_report(each, manifest, keys) for each in sealed]
    reports = [each for each in found if each is not None]
    return reports, len(sealed) - len(reports)


def _report(sealed: bytes, manifest: Manifest, keys: Mapping[bytes, SealKey]) -> bytes | None:
    """Return the report in a sealed one, or None."""
    key = keys.get(sealed[:KEY_ID_BYTES])
    if key is None:
        return None
    try:
        report = unseal(sealed[KEY_ID_BYTES:], key.private, manifest.campaign)
    except ReportError:
        return None
    return report if refusal(report, manifest) is None else None
