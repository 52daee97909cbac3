"""Memory of counter tables: whole pages of zeros, large ones if the system has any."""

from __future__ import annotations

import mmap
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Words


def zeros(words: int) -> Words:
    """Return zeros that begin on a page, so that a bucket is one cache line; on large pages if possible."""
    pages = _private_pages(max(8 * words, 1))
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint64, words)


def _private_pages(size: int) -> mmap.mmap:
    """Return memory of this process alone; by default a fork would write into the table of its parent."""
    if hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, size)


def stacks_of(window: int, counters: int) -> npt.NDArray[np.uint32]:
    """Return a stack for each count of the window, each with room for all counters."""
    words = -(-window * counters // 2)
    return zeros(words).view(np.uint32)[: window * counters].reshape(window, counters)
