"""A set of 16-byte names as a few sorted runs, each at least twice as long as the next.

Long runs lie in files that have no name any more, so they take no memory that the system could not use
otherwise, and vanish with the process: they are rebuilt from the batches of the store.
"""

from __future__ import annotations

import os
import tempfile
from mmap import mmap

import numpy as np

from hushcount.compiled.arrays import Mask, Words
from hushcount.service._kernels import runs as kernels

_IN_MEMORY = 1 << 16  # names of a run; longer ones lie in files
_BYTES = 16


class Runs:
    """A growing set of names, which are rows of two words.

    Parameters
    ----------
    folder:
        Where long runs may lie; the temporary folder of the system by default.
    """

    __slots__ = ("_folder", "_runs")

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._runs: list[Words] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def fresh(self, names: Words) -> Mask:
        """Return for each name of a sorted list whether it is new; of equal ones the first is."""
        found = np.empty(len(names), np.bool_)
        kernels.first_of_each(names, found)
        for run in self._runs:
            kernels.unmark_known(names, run, found)
        return found

    def add(self, names: Words) -> None:
        """Add a run of new names."""
        if not len(names):
            return
        self._runs.append(names)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            try:
                merged = self._room(len(self._runs[-2]) + len(self._runs[-1]))
            except OSError:  # a full disk: two runs are as good as one, only slower
                return
            kernels.merge(self._runs[-2], self._runs[-1], merged)
            self._runs[-2:] = [merged]

    def _room(self, names: int) -> Words:
        """Return room for a run. In a file it is reserved on the disk first: writing cannot fail later."""
        if names <= _IN_MEMORY:
            return np.empty((names, 2), np.uint64)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            os.posix_fallocate(file.fileno(), 0, names * _BYTES)
            return np.frombuffer(mmap(file.fileno(), names * _BYTES), np.uint64).reshape(-1, 2)


def names_of(octets: bytes) -> Words:
    """Return names that stand one after the other as rows of words, in the same order."""
    return np.frombuffer(octets, ">u8").reshape(-1, 2).astype(np.uint64)


def in_order(names: Words) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the places of names in the order of their bytes."""
    return np.lexsort((names[:, 1], names[:, 0])).astype(np.int64, copy=False)
