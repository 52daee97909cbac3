"""Few rows, counted in a dictionary: to load compiled loops takes longer than a few thousand rows do.

While fewer rows were counted than there are counters, nothing is evicted. The state is then every key with
its number of events, in the order of the last one: that of a table fed with the same rows, which takes over
all of it when more rows come.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Octets, Words
from hushcount.keys.arrays import ByteKeys, Keys

MOST_ROWS = 4096

Key = bytes | int
Offsets = npt.NDArray[np.uint32] | Words


class FewKeys:
    """The number of events of each key, least recently counted first; at most `rows` rows."""

    def __init__(self, rows: int) -> None:
        self._counts: dict[Key, int] = {}
        self._left = min(rows, MOST_ROWS)

    def __len__(self) -> int:
        return len(self._counts)

    def takes(self, rows: int) -> bool:
        """Return whether so many rows more can be counted here."""
        return rows <= self._left

    def count(self, keys: Sequence[Key], times: Words) -> None:
        """Count keys in their order, key i for times[i] events, or all of them once if there are no times."""
        counts = self._counts
        numbers = times.tolist() if len(times) else [1] * len(keys)
        for key, events in zip(keys, numbers, strict=True):
            counts[key] = counts.pop(key, 0) + events
        self._left -= len(keys)

    def lookup(self, keys: Sequence[Key]) -> Counts:
        """Return the counts of keys, 0 for those that did not come."""
        return np.array([self._counts.get(key, 0) for key in keys], np.int64)

    def keys(self, of_bytes: bool) -> Keys:
        """Return the keys, in words or as bytes."""
        if not of_bytes:
            return np.fromiter(self._counts, np.uint64, len(self))
        strings = [bytes(key) for key in self._counts]
        offsets = np.zeros(len(strings) + 1, np.uint64)
        np.cumsum([len(each) for each in strings], out=offsets[1:])
        return ByteKeys(np.frombuffer(b"".join(strings), np.uint8), offsets)

    def counts(self) -> Counts:
        """Return the number of events of each key."""
        return np.fromiter(self._counts.values(), np.int64, len(self))


def strings_of(data: Octets, begins: Offsets, ends: Offsets) -> list[Key]:
    """Return the byte strings data[begins[i] : ends[i]]."""
    view = data.data
    return [view[begin:end].tobytes() for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
