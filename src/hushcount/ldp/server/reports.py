"""Incoming reports: bytes, files or arrays become nonces and symbols; malformed ones are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Mask, Nonces, Symbols
from hushcount.errors import ParameterError
from hushcount.ldp._kernels import reports as kernels
from hushcount.ldp.wire.batch import unpack_batch
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.versions import CAMPAIGN_BYTES, Wire
from hushcount.secure import fresh_key

# Of a file of reports: one after the other, one per line in hexadecimal, or one batch of a relay.
FORMS = ("packed", "hex", "batch")
_BLOCK = 1 << 20  # reports parsed together
_LONGEST_LINE = 1 << 10  # bytes; a longer line is no report, and is taken in pieces
_BYTES = (bytes, bytearray, memoryview)
_REASONS = ("version", "campaign", "symbol", "length")  # in the order of the kernel
_SMALLEST_TABLE = 1 << 12
_FULLEST = 0.6


class Reports(NamedTuple):
    """Nonces (rows of 64-bit words) and joint symbols, one of each for every report."""

    nonces: Nonces
    symbols: Symbols


Received = bytes | bytearray | memoryview | Iterable[bytes] | tuple[npt.ArrayLike, npt.ArrayLike]


def parsed(received: Received, manifest: Manifest, refused: Counter[str]) -> Iterator[Reports]:
    """Yield the reports of the manifest's campaign in blocks; the others are added to `refused`."""
    if isinstance(received, _BYTES):
        yield from read_packed(BytesIO(received), manifest, refused)
    elif isinstance(received, tuple) and len(received) == 2 and not isinstance(received[0], _BYTES):
        yield _arrays(received, manifest, refused)
    else:
        yield from _listed(cast(Iterable[bytes], received), manifest, refused)


def read_packed(
    stream: BinaryIO, manifest: Manifest, refused: Counter[str], tell: Callable[[int], object] | None = None
) -> Iterator[Reports]:
    """Yield the packed reports of a file, as `parsed` does; `tell` is called with the size of each block."""
    reader = _PackedReader(manifest, refused)
    while block := stream.read(_BLOCK * manifest.wire.report_bytes):
        yield reader.read(block)
        if tell is not None:
            tell(len(block))
    yield reader.read(b"", final=True)


def read_lines(stream: BinaryIO, tell: Callable[[int], object] | None) -> Iterator[bytes]:
    """Yield the bytes of each line of hexadecimal digits; a line of anything else gives no bytes."""
    while line := stream.readline(_LONGEST_LINE):
        if tell is not None:
            tell(len(line))
        try:
            yield bytes.fromhex(line.decode("ascii").strip())
        except ValueError:
            yield b""


def read_batch(
    stream: BinaryIO, manifest: Manifest, refused: Counter[str], tell: Callable[[int], object] | None = None
) -> Iterator[Reports]:
    """Yield the reports of one batch, or raise ReportError if it is torn."""
    return read_packed(BytesIO(unpack_batch(stream.read())), manifest, refused, tell)


class _PackedReader:
    """Reads packed reports block by block; what a block leaves undecided is read with the next one."""

    def __init__(self, manifest: Manifest, refused: Counter[str]) -> None:
        campaign = int.from_bytes(manifest.campaign[:CAMPAIGN_BYTES], "little")
        self.wire = manifest.wire
        size, bound = np.int64(self.wire.report_bytes), np.int64(manifest.symbols)
        self.expected = (np.int64(self.wire.version), np.uint64(campaign), bound, size)
        self.refused = refused
        self.gap = np.zeros(2, np.int64)
        self.rest = b""

    def read(self, block: bytes, final: bool = False) -> Reports:
        """Return the reports of the next block; after the final one nothing is left."""
        whole = self.rest + block
        data = np.frombuffer(whole, np.uint8)
        most = len(data) // self.wire.report_bytes
        out = (np.empty((most, nonce_words(self.wire)), np.uint64), np.empty(most, np.uint16))
        reasons = np.zeros(len(_REASONS), np.int64)
        used, kept = kernels.parse(data, self.expected, out, (reasons, self.gap), final)
        self.refused.update(dict(zip(_REASONS, reasons.tolist(), strict=True)))
        self.rest = whole[used:]
        return Reports(out[0][:kept], out[1][:kept])


def _listed(received: Iterable[bytes], manifest: Manifest, refused: Counter[str]) -> Iterator[Reports]:
    """Yield the reports of a list of single reports in blocks."""
    waiting: list[bytes] = []
    for report in received:
        if not isinstance(report, _BYTES):
            raise ParameterError(f"a report must be bytes, got {type(report).__name__}.")
        if len(report) == manifest.wire.report_bytes:
            waiting.append(bytes(report))
        else:
            refused["length"] += 1
        if len(waiting) == _BLOCK:
            yield from read_packed(BytesIO(b"".join(waiting)), manifest, refused)
            waiting.clear()
    yield from read_packed(BytesIO(b"".join(waiting)), manifest, refused)


def _arrays(
    received: tuple[npt.ArrayLike, npt.ArrayLike], manifest: Manifest, refused: Counter[str]
) -> Reports:
    """Return a checked copy of arrays of nonces and symbols, so that the caller may reuse its own."""
    nonces, symbols = np.asarray(received[0]), np.asarray(received[1])
    if nonces.dtype != np.uint64 or nonces.ndim not in (1, 2) or symbols.shape != nonces.shape[:1]:
        raise ParameterError("nonces must be an array of uint64 and symbols one of the same length.")
    if symbols.dtype.kind not in "iu":
        raise ParameterError(f"symbols must be an array of integers, got {symbols.dtype}.")
    valid = (symbols >= 0) & (symbols < manifest.symbols)
    refused["symbol"] += int(len(valid) - valid.sum())
    return Reports(as_rows(nonces[valid], manifest.wire), symbols[valid].astype(np.uint16))


def nonce_words(wire: Wire) -> int:
    """Return how many 64-bit words a nonce has."""
    return wire.nonce_bytes // 8


def as_rows(nonces: Nonces, wire: Wire) -> Nonces:
    """Return nonces as rows of 64-bit words; plain numbers are the low words, and the others are 0."""
    words = nonce_words(wire)
    if nonces.ndim == 2:
        if nonces.shape[1] != words:
            raise ParameterError(f"nonces must have {words} words of 64 bits each.")
        return np.ascontiguousarray(nonces)
    rows = np.zeros((len(nonces), words), np.uint64)
    rows[:, 0] = nonces
    return rows


class NonceSet:
    """A growing set of nonces of one or two 64-bit words, so that nobody is counted twice."""

    __slots__ = ("_factors", "_stored", "_table", "_zero")

    def __init__(self, words: int = 1) -> None:
        self._factors = np.frombuffer(fresh_key(8 * words), np.uint64) | np.uint64(1)
        self._table = np.zeros((_SMALLEST_TABLE, words), np.uint64)
        self._stored = 0
        self._zero = False  # whether the nonce 0 is in the set: in the table 0 marks an empty slot

    def __len__(self) -> int:
        return self._stored + self._zero

    def add(self, nonces: Nonces) -> Mask:
        """Add rows of nonces in order; return for each whether it was not in the set before."""
        self._make_room(len(nonces))
        fresh = np.empty(len(nonces), np.bool_)
        self._stored += int(kernels.insert(self._table, self._hashing(), nonces, fresh))
        if not self._zero:
            zeros = np.flatnonzero(~nonces.any(axis=1))[:1]
            fresh[zeros] = True
            self._zero = len(zeros) == 1
        return fresh

    def _make_room(self, coming: int) -> None:
        """Double the table until the coming nonces leave enough slots empty for short searches."""
        size, words = self._table.shape
        while self._stored + coming > _FULLEST * size:
            size *= 2
        if size > len(self._table):
            before, self._table = self._table, np.zeros((size, words), np.uint64)
            kernels.grow(before, self._hashing(), self._table)

    def _hashing(self) -> tuple[Nonces, np.uint64]:
        """Return the secret factors, and how far a sum is shifted so that its top bits number a slot."""
        return self._factors, np.uint64(65 - len(self._table).bit_length())
