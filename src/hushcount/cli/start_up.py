"""What keeps the start of the program short."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

SELDOM = 50_000  # objects that are made before unused cycles are looked for


class _Refusal(MetaPathFinder):
    """Refuses to import pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raise ImportError for pandas, as if it were not installed."""
        if name == "pandas":
            raise ImportError(name)


def collect_seldom() -> None:
    """Look for unused cycles of objects less often: while libraries are loaded, there are hardly any."""
    gc.set_threshold(SELDOM)


def skip_pandas() -> None:
    """Keep pyarrow from importing pandas, which takes a fifth of a second.

    pyarrow looks for pandas once, when it converts the first value, so as to recognise frames among its
    arguments. A program that reads files has none. Code that asks pyarrow for frames still gets them. Only
    for programs of our own: in a library, frames of the caller would no longer be recognised.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow

    refusal = _Refusal()
    sys.meta_path.insert(0, refusal)
    try:
        pyarrow.scalar(None)
    finally:
        sys.meta_path.remove(refusal)
