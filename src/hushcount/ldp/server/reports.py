"""Reports as they come in: bytes, many bytes, or arrays; parsed, and counted by reason where refused.

The nonces that have reported, so that nobody is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from hushcount.errors import ParameterError
from hushcount.ldp._kernels import nonces as nonce_kernels
from hushcount.ldp._kernels import parse as kernels
from hushcount.ldp.arrays import Flags, Nonces, Symbols
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.report import CAMPAIGN_BYTES, REPORT_BYTES, REPORT_VERSION
from hushcount.secure import fresh_key

_BLOCK = 1 << 20  # reports parsed together
_BYTES = (bytes, bytearray, memoryview)
_REASONS = ("version", "campaign", "symbol")


class Reports(NamedTuple):
    """Nonces and symbols, one of each for every report."""

    nonces: Nonces
    symbols: Symbols


Received = bytes | bytearray | memoryview | Iterable[bytes] | tuple[npt.ArrayLike, npt.ArrayLike]


def parsed(received: Received, manifest: Manifest, refused: Counter[str]) -> Iterator[Reports]:
    """The reports that fit the manifest, in blocks; the others are added to `refused`."""
    if isinstance(received, _BYTES):
        yield from _packed(memoryview(received).cast("B"), manifest, refused)
    elif isinstance(received, tuple) and len(received) == 2 and not isinstance(received[0], _BYTES):
        yield _arrays(received, manifest, refused)
    else:
        yield from _listed(cast(Iterable[bytes], received), manifest, refused)


def _packed(data: memoryview, manifest: Manifest, refused: Counter[str]) -> Iterator[Reports]:
    refused["length"] += len(data) % REPORT_BYTES > 0
    campaign = int.from_bytes(manifest.campaign[:CAMPAIGN_BYTES], "little")
    expected = (np.int64(REPORT_VERSION), np.uint64(campaign), np.int64(manifest.symbols))
    for start in range(0, len(data), _BLOCK * REPORT_BYTES):
        block = np.frombuffer(data[start : start + _BLOCK * REPORT_BYTES], np.uint8)
        nonces = np.empty(len(block) // REPORT_BYTES, np.uint64)
        symbols = np.empty(len(nonces), np.uint8)
        reasons = np.zeros(len(_REASONS), np.int64)
        kept = int(kernels.parse(block, expected, nonces, symbols, reasons))
        refused.update(dict(zip(_REASONS, reasons.tolist(), strict=True)))
        yield Reports(nonces[:kept], symbols[:kept])


def _listed(received: Iterable[bytes], manifest: Manifest, refused: Counter[str]) -> Iterator[Reports]:
    fitting: list[bytes] = []
    for report in received:
        if not isinstance(report, _BYTES):
            raise ParameterError(f"a report must be bytes, got {type(report).__name__}.")
        if len(report) == REPORT_BYTES:
            fitting.append(bytes(report))
        else:
            refused["length"] += 1
        if len(fitting) == _BLOCK:
            yield from _packed(memoryview(b"".join(fitting)), manifest, refused)
            fitting.clear()
    yield from _packed(memoryview(b"".join(fitting)), manifest, refused)


def _arrays(
    received: tuple[npt.ArrayLike, npt.ArrayLike], manifest: Manifest, refused: Counter[str]
) -> Reports:
    nonces, symbols = np.asarray(received[0]), np.asarray(received[1])
    if nonces.dtype != np.uint64 or nonces.ndim != 1 or symbols.shape != nonces.shape:
        raise ParameterError("nonces must be an array of uint64 and symbols one of the same length.")
    if symbols.dtype.kind not in "iu":
        raise ParameterError(f"symbols must be an array of integers, got {symbols.dtype}.")
    fits = (symbols >= 0) & (symbols < manifest.symbols)
    refused["symbol"] += int(len(fits) - fits.sum())
    return Reports(nonces[fits], symbols[fits].astype(np.uint8))  # copies: the caller may use its own again


_SMALLEST = 1 << 12
_FULLEST = 0.6


class NonceSet:
    """A growing set of 64-bit nonces."""

    __slots__ = ("_factor", "_held", "_table", "_zero")

    def __init__(self) -> None:
        self._factor = np.uint64(int.from_bytes(fresh_key(8), "little") | 1)
        self._table = np.zeros(_SMALLEST, np.uint64)
        self._held = 0
        self._zero = False

    def __len__(self) -> int:
        return self._held + self._zero

    def add(self, nonces: Nonces) -> Flags:
        """Add nonces in order; true where a nonce was not there before."""
        self._make_room(len(nonces))
        fresh = np.empty(len(nonces), np.bool_)
        self._held += int(nonce_kernels.insert(self._table, self._factor, nonces, fresh))
        if not self._zero:
            zeros = np.flatnonzero(nonces == 0)[:1]
            fresh[zeros] = True
            self._zero = len(zeros) == 1
        return fresh

    def _make_room(self, coming: int) -> None:
        size = len(self._table)
        while self._held + coming > _FULLEST * size:
            size *= 2
        if size > len(self._table):
            larger = np.zeros(size, np.uint64)
            nonce_kernels.grow(self._table, self._factor, larger)
            self._table = larger
