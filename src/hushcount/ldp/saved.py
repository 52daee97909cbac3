"""An aggregator as bytes: a versioned header, its reports, a checksum; whatever does not fit is refused.

Layout: magic (8 bytes), version (u32), length of the header (u32), the header as JSON (manifest, number of
reports, refused reports by reason), nonces (u64), symbols (u8), SHA-256 of all before; little-endian.
The reports are private by themselves, but nonces may name users, so only the owner may read the file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hushcount.errors import DataError, ManifestError
from hushcount.files.atomic import PRIVATE, atomic_file
from hushcount.ldp.server.reports import Reports
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import REASONS

MAGIC = b"HUSHLDP\0"
VERSION = 1
_FRONT = 16
_CHECKSUM = 32


def to_bytes(manifest: Manifest, reports: Reports, refused: Mapping[str, int]) -> bytes:
    """The bytes of an aggregator."""
    header = {"manifest": manifest.to_json(), "reports": len(reports.nonces), "refused": dict(refused)}
    text = json.dumps(header, sort_keys=True).encode()
    front = MAGIC + VERSION.to_bytes(4, "little") + len(text).to_bytes(4, "little")
    body = front + text + reports.nonces.astype("<u8").tobytes() + reports.symbols.tobytes()
    return body + hashlib.sha256(body).digest()


def save(path: str | os.PathLike[str], data: bytes) -> None:
    """Write the bytes atomically, readable by their owner only."""
    with atomic_file(path, PRIVATE) as stream:
        stream.write(data)


def load(source: str | os.PathLike[str] | bytes) -> tuple[Manifest, Reports, dict[str, int]]:
    """The manifest, the reports and the refused ones of a saved aggregator."""
    name, data = ("The aggregator", source) if isinstance(source, bytes) else (str(source), _read(source))
    _check(name, data)
    stop = _FRONT + int.from_bytes(data[12:_FRONT], "little")
    try:
        header = json.loads(data[_FRONT:stop])
        manifest = Manifest.parse(header["manifest"])
        reports = _reports(data[stop:-_CHECKSUM], header["reports"])
        return manifest, reports, _refused(header)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise DataError(f"{name} is damaged: its parts do not fit together.") from None
    except ManifestError as error:
        raise DataError(f"{name} holds a manifest that is refused: {error}") from None


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist.") from None
    except OSError as error:
        raise DataError(f"Cannot read {path}: {(error.strerror or 'input/output error').lower()}.") from None


def _check(name: str, data: bytes) -> None:
    if data[: len(MAGIC)] != MAGIC:
        raise DataError(f"{name} is not a saved aggregator.")
    version = int.from_bytes(data[8:12], "little")
    if version != VERSION:
        raise DataError(f"{name} has format {version}, and this hushcount reads format {VERSION}.")
    if len(data) < _FRONT + _CHECKSUM or hashlib.sha256(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
        raise DataError(f"{name} is damaged: its checksum does not fit.")


def _reports(body: bytes, count: Any) -> Reports:
    if type(count) is not int or count < 0 or len(body) != 9 * count:
        raise ValueError("reports")
    nonces = np.frombuffer(body, "<u8", count).astype(np.uint64)
    return Reports(nonces, np.frombuffer(body, np.uint8, count, 8 * count).copy())


def _refused(header: Mapping[str, Any]) -> dict[str, int]:
    refused = {str(reason): count for reason, count in header["refused"].items()}
    if not all(reason in REASONS and type(count) is int and count >= 0 for reason, count in refused.items()):
        raise ValueError("refused")
    return refused
