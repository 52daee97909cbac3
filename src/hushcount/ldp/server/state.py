"""The state of an aggregator as the contents of a file: its manifest, its reports and what it refused.

Reports are private by themselves, but nonces may name users, so only the owner may read such a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from hushcount.errors import DataError, ManifestError
from hushcount.files import container
from hushcount.ldp.server.reports import Reports
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import REASONS

WHAT = "aggregator"
_BODY = "body"  # the one array of files of an earlier version: all nonces, then all symbols


def contents(manifest: Manifest, reports: Reports, refused: Mapping[str, int]) -> container.Contents:
    """Return what is written of an aggregator."""
    fields = {"manifest": manifest.to_json(), "reports": len(reports.nonces), "refused": dict(refused)}
    arrays: container.Arrays = {"nonces": reports.nonces, "symbols": reports.symbols}
    return container.Contents(container.LDP_STATE, fields, arrays)


def load(source: str | os.PathLike[str] | bytes) -> tuple[Manifest, Reports, dict[str, int]]:
    """Return the manifest, the reports and the numbers of refused ones, or raise DataError."""
    found, name = container.read(source, WHAT), container.name_of(source, WHAT)
    if found.kind != container.LDP_STATE:
        raise DataError(f"{name} is not a hushcount {WHAT}.")
    try:
        manifest = Manifest.parse(container.fitted(name, lambda: str(found.fields["manifest"])))
    except ManifestError as error:
        raise DataError(f"{name} holds a manifest that is refused: {error}") from None
    return manifest, *container.fitted(name, lambda: (_reports(found), _refused(found)))


def _reports(found: container.Contents) -> Reports:
    """Return the reports, or raise if there are not as many as the header says."""
    count = found.fields["reports"]
    if _BODY in found.arrays:
        body = found.arrays[_BODY].tobytes()
        nonces = np.frombuffer(body, "<u8", count).astype(np.uint64)
        symbols = np.frombuffer(body, np.uint8, offset=8 * count).copy()
    else:
        nonces, symbols = found.arrays["nonces"].view(np.uint64), found.arrays["symbols"].view(np.uint8)
    if type(count) is not int or not len(nonces) == len(symbols) == count:
        raise ValueError("reports")
    return Reports(nonces, symbols)


def _refused(found: container.Contents) -> dict[str, int]:
    """Return how many reports were refused, by reason, or raise if a reason is unknown."""
    refused = {str(reason): count for reason, count in found.fields["refused"].items()}
    if not all(reason in REASONS and type(count) is int and count >= 0 for reason, count in refused.items()):
        raise ValueError("refused")
    return refused
