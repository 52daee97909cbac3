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
import hushcount.releases.release  # noqa: F401

if TYPE_CHECKING:
    from hushcount import engines, errors, ldp
    from hushcount.jobs.oracle import oracle
    from hushcount.jobs.sample import sample
    from hushcount.jobs.top import top
    from hushcount.jobs.tree import tree
    from hushcount.keys.domains import IntegerRange
    from hushcount.privacy import Budget, Guarantee
    from hushcount.releases.added import add_releases
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.release import Release
    from hushcount.releases.tree import TreeRelease
    from hushcount.sketches.codec import load
    from hushcount.sketches.exact import Exact
    from hushcount.sketches.levels import HierarchySketch
    from hushcount.sketches.linear import CountMin, CountSketch
    from hushcount.sketches.misra_gries import MisraGries
    from hushcount.sketches.space_saving import SpaceSaving
    from hushcount.sketches.user_misra_gries import UserMisraGries

__version__ = "0.1.0"

# Public name: where it lives. Looked up on first use, so that importing hushcount stays cheap.
_NAMES = {
    "Budget": "hushcount.privacy",
    "CountMin": "hushcount.sketches.linear",
    "CountSketch": "hushcount.sketches.linear",
    "Exact": "hushcount.sketches.exact",
    "Guarantee": "hushcount.privacy",
    "IntegerRange": "hushcount.keys.domains",
    "MisraGries": "hushcount.sketches.misra_gries",
    "Oracle": "hushcount.releases.oracle",
    "HierarchySketch": "hushcount.sketches.levels",
    "Release": "hushcount.releases.release",
    "TreeRelease": "hushcount.releases.tree",
    "SpaceSaving": "hushcount.sketches.space_saving",
    "UserMisraGries": "hushcount.sketches.user_misra_gries",
    "add_releases": "hushcount.releases.added",
    "load": "hushcount.sketches.codec",
    "oracle": "hushcount.jobs.oracle",
    "sample": "hushcount.jobs.sample",
    "top": "hushcount.jobs.top",
    "tree": "hushcount.jobs.tree",
}

__all__ = [
    "Budget",
    "CountMin",
    "CountSketch",
    "Exact",
    "Guarantee",
    "HierarchySketch",
    "IntegerRange",
    "MisraGries",
    "Oracle",
    "Release",
    "SpaceSaving",
    "TreeRelease",
    "UserMisraGries",
    "__version__",
    "add_releases",
    "engines",
    "errors",
    "ldp",
    "load",
    "oracle",
    "release",
    "sample",
    "top",
    "tree",
]


def release(
    sketch: Any,
    *,
    epsilon: float,
    delta: float,
    mechanism: str | None = None,
    max_events: int | None = None,
    domain: Any = None,
) -> Release:
    """Release a sketch, or a list of sketches of disjoint parts, with (epsilon, delta)-DP.

    Every release of a sketch spends again. `mechanism` names one; without it the proved default of the
    sketch's shape is taken. `max_events` is a public bound on the number of events. `domain`, all keys that
    can occur ("A..B" or a list), allows delta = 0.
    """
    from hushcount.mechanisms.registry import release as release_sketch

    return release_sketch(
        sketch, epsilon=epsilon, delta=delta, mechanism=mechanism, max_events=max_events, domain=domain
    )


def __getattr__(name: str) -> Any:
    if name in ("engines", "errors", "ldp"):
        return import_module(f"hushcount.{name}")
    if name not in _NAMES:
        raise AttributeError(f"module 'hushcount' has no attribute {name!r}")
    return getattr(import_module(_NAMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
