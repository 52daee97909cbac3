"""Engines that count on many machines. `hushcount.engines.spark` is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Return the module of an engine; `spark` has the function `top`."""
    if name == "spark":
        return import_module("hushcount.jobs.spark.release")
    raise AttributeError(f"module 'hushcount.engines' has no attribute {name!r}")
