"""Engines that turn rows on many machines into sketches of shards; `spark` is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "spark":
        return import_module("hushcount.engines.spark")
    raise AttributeError(f"module 'hushcount.engines' has no attribute {name!r}")
