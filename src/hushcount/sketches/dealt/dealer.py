"""Rows dealt to shards by a keyed hash of their keys, in the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Octets
from hushcount.compiled.late import late
from hushcount.keys.arrays import ByteKeys, Keys
from hushcount.sketches.table import Offsets

dealing = late("hushcount.sketches._kernels.dealing")

PIECE = 1 << 17  # rows that a thread deals at a time


@dataclass(frozen=True, slots=True)
class Hand:
    """Rows in the order of their shards: those of shard i are bounds[i] : bounds[i + 1].

    They are 64-bit keys, or where byte strings of `data` begin and end.
    """

    bounds: Counts
    begins: Offsets
    ends: Offsets | None = None
    data: Octets | None = None


class Dealer:
    """Deals pieces of rows to shards, in arrays of its own that it uses again for the next piece."""

    def __init__(self, secret: bytes, shards: int) -> None:
        self._secret = np.frombuffer(secret, np.uint64) | np.array([0, 1], np.uint64)  # the second is odd
        self._shards = shards
        self._dealt = np.empty(0, np.uint8)
        self._out: dict[str, Offsets] = {}

    def shards_of(self, keys: Keys) -> npt.NDArray[np.uint8]:
        """Return the shard of each key, until the next call."""
        if len(self._dealt) < len(keys):
            self._dealt = np.empty(len(keys), np.uint8)
        dealt = self._dealt[: len(keys)]
        if isinstance(keys, ByteKeys):
            dealing.shards_of_bytes(keys.data, keys.offsets, self._secret, self._shards, dealt)
        else:
            dealing.shards_of_words(keys, self._secret, self._shards, dealt)
        return dealt

    def hand(self, keys: Keys) -> Hand:
        """Return keys in the order of their shards, until the next call."""
        dealt = self.shards_of(keys)
        bounds = dealing.bounds_of(dealt, self._shards)
        if isinstance(keys, ByteKeys):
            begins = self._dealt_out("begins", keys.offsets[:-1], dealt, bounds)
            return Hand(bounds, begins, self._dealt_out("ends", keys.offsets[1:], dealt, bounds), keys.data)
        return Hand(bounds, self._dealt_out("words", keys, dealt, bounds))

    def _dealt_out(self, name: str, values: Offsets, dealt: npt.NDArray[np.uint8], bounds: Counts) -> Offsets:
        """Return values in the order of their shards, which nobody writes to, as to those of Arrow."""
        out = self._out.get(name)
        if out is None or len(out) < len(values) or out.dtype != values.dtype:
            out = self._out[name] = np.empty(max(len(values), PIECE), values.dtype)
        dealing.deal(values, dealt, bounds, out)
        kept = out[: len(values)]
        kept.flags.writeable = False
        return kept


def dealt_codes(
    codes: npt.NDArray[np.int32], dealt: npt.NDArray[np.uint8], shards: int
) -> list[npt.NDArray[np.int32]]:
    """Return the codes of each shard, in the order of the rows."""
    bounds = dealing.bounds_of(dealt, shards)
    out = np.empty(len(codes), np.int32)
    dealing.deal(codes, dealt, bounds, out)
    return [out[start:stop] for start, stop in pairwise(bounds.tolist())]


def sliced(keys: Keys, start: int, stop: int) -> Keys:
    """Return consecutive keys."""
    if isinstance(keys, ByteKeys):
        return ByteKeys(keys.data, keys.offsets[start : stop + 1])
    return keys[start:stop]
