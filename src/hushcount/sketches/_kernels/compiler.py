"""One way to compile a kernel: cached on disk where a folder can be written, without a cache elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numba import njit

NO_CACHE = (
    "hushcount: no folder for compiled code can be written, so it compiles anew each time;"
    " set NUMBA_CACHE_DIR to one that can."
)
_said: list[str] = []


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a kernel: its code is copied into every kernel that calls it."""
    return njit(inline="always", error_model="numpy")(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over arrays; it releases the global lock while it runs."""
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba found no place for its cache
        _say_once(NO_CACHE)
        return njit(nogil=True, error_model="numpy")(function)


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.append(sentence)
        print(sentence, file=sys.stderr)
