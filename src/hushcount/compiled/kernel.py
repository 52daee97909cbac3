"""One way to compile a kernel: cached on disk if a folder can be written, else compiled at every start."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.runtime.nrt import rtsys

NO_CACHE = (
    "hushcount cannot write a folder for compiled code, so every start compiles it again for some seconds;"
    " set NUMBA_CACHE_DIR to one that can."
)


def inlined(function: Callable[..., Any]) -> Any:
    """Return a part of a kernel: its code is copied into every kernel that calls it."""
    return njit(inline="always", error_model="numpy")(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop over arrays; it releases the global lock while it runs."""
    try:
        return _cached(njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # numba found no place for its cache
        _say_once(NO_CACHE)
        return njit(nogil=True, error_model="numpy")(function)


def _cached(compiled: Any) -> Any:
    """Make the cache of a kernel notice changes of other files, and survive files that it cannot read.

    numba compares a cached kernel with its own source file only, but parts of other files are inlined. It
    raises whatever pickle raises if a file of the cache was cut short, or names a module that has moved, and
    OSError if the disk is full. A cache must never stop a run: what cannot be read is compiled again.
    """
    store = compiled._cache
    file = store._cache_file
    file._source_stamp = _sources()
    load, save = store.load_overload, store.save_overload

    def load_or_compile(*wanted: Any) -> Any:
        with suppress(Exception):
            if (found := _loaded(store, *wanted)) is not None:
                return found
        try:
            return load(*wanted)
        except Exception:
            with suppress(Exception):
                file.flush()  # forget the index, or saving would fail on it in the same way
            return None

    def save_if_possible(*made: Any) -> None:
        try:
            save(*made)
        except Exception:
            _say_once(NO_CACHE)

    store.load_overload, store.save_overload = load_or_compile, save_if_possible
    return compiled


def _loaded(store: Any, signature: Any, context: Any) -> Any:
    """Return a kernel from the cache, or None.

    numba's own way to a cached kernel first loads all that it needs to compile one, and with it
    scipy.linalg and cffi, for a quarter of a second. Running a kernel needs the counts of references only.
    """
    rtsys.initialize(context)
    return store._load_overload(signature, context)


@cache
def _sources() -> str:
    """Return a digest of the source of all kernels."""
    digest = hashlib.sha256()
    for path in sorted(
        [*Path(__file__).parent.glob("*.py"), *Path(__file__).parents[1].glob("**/_kernels/*.py")]
    ):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _say_once(sentence: str) -> None:
    """Print a sentence for people, unless it was printed before."""
    print(sentence, file=sys.stderr)
