"""One way to compile a kernel: cached on disk where a folder can be written, without a cache elsewhere."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
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
        return _stamped(njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # numba found no place for its cache
        _say_once(NO_CACHE)
        return njit(nogil=True, error_model="numpy")(function)


def _stamped(compiled: Any) -> Any:
    """Let cached code lapse when any kernel's source changes, not only its own file: parts are inlined."""
    stored: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(stored, "_source_stamp"):
        stored._source_stamp = _sources()
    return compiled


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for path in sorted(
        [*Path(__file__).parent.glob("*.py"), *Path(__file__).parents[1].glob("**/_kernels/*.py")]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _say_once(sentence: str) -> None:
    if sentence not in _said:
        _said.append(sentence)
        print(sentence, file=sys.stderr)
