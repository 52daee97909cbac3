"""Differentially private heavy hitters of a stream, in one pass and bounded memory.

>>> import hushcount as hc
>>> release = hc.top(["tea"] * 500 + ["milk"] * 300 + ["salt"], epsilon=1.0, delta=1e-6)
>>> release.table["key"].to_pylist()
['tea', 'milk']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Loaded now, because loading it later would put the module in the place of the function below.
import hushcount.release  # noqa: F401

if TYPE_CHECKING:
    from hushcount import errors
    from hushcount.jobs.oracle import oracle
    from hushcount.jobs.sample import sample
    from hushcount.jobs.top import top
    from hushcount.mechanisms.oracle import Oracle
    from hushcount.privacy import Budget, Guarantee
    from hushcount.release import Release
    from hushcount.sketches.codec import load
    from hushcount.sketches.exact import Exact
    from hushcount.sketches.linear import CountMin, CountSketch
    from hushcount.sketches.misra_gries import MisraGries
    from hushcount.sketches.space_saving import SpaceSaving

__version__ = "0.1.0"

# Public name: where it lives. Looked up on first use, so that importing hushcount stays cheap.
_NAMES = {
    "Budget": "hushcount.privacy",
    "CountMin": "hushcount.sketches.linear",
    "CountSketch": "hushcount.sketches.linear",
    "Exact": "hushcount.sketches.exact",
    "Guarantee": "hushcount.privacy",
    "MisraGries": "hushcount.sketches.misra_gries",
    "Oracle": "hushcount.mechanisms.oracle",
    "Release": "hushcount.release",
    "SpaceSaving": "hushcount.sketches.space_saving",
    "load": "hushcount.sketches.codec",
    "oracle": "hushcount.jobs.oracle",
    "sample": "hushcount.jobs.sample",
    "top": "hushcount.jobs.top",
}

__all__ = [
    "Budget",
    "CountMin",
    "CountSketch",
    "Exact",
    "Guarantee",
    "MisraGries",
    "Oracle",
    "Release",
    "SpaceSaving",
    "__version__",
    "errors",
    "load",
    "oracle",
    "release",
    "sample",
    "top",
]


def release(
    sketch: Any,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | None = None,
    max_events: int | None = None,
) -> Release:
    """Release a sketch with (epsilon, delta)-differential privacy; every release of it spends again.

    `mechanism` names one; without it the proved default of the sketch's shape is taken.
    `max_events` is a public bound on the number of events.
    """
    from hushcount.mechanisms import release as release_sketch

    return release_sketch(sketch, epsilon=epsilon, delta=delta, mechanism=mechanism, max_events=max_events)


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("hushcount.errors")
    if name not in _NAMES:
        raise AttributeError(f"module 'hushcount' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
