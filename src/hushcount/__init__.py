"""Differentially private heavy hitters of a stream, in one pass and bounded memory.

>>> import hushcount as hc
>>> release = hc.top(["tea"] * 500 + ["milk"] * 300 + ["salt"], epsilon=1.0, delta=1e-6)
>>> release.table["key"].to_pylist()
['tea', 'milk']
"""

# Nothing is imported here: `python -m hushcount` runs this before it can listen to Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hushcount import engines, errors, ldp, testing
    from hushcount.audit.check import Audit, audit
    from hushcount.jobs.feed.feed import feed
    from hushcount.jobs.linear.heavy import heavy_hitters
    from hushcount.jobs.linear.tracked import tracked_sketch
    from hushcount.jobs.oracle import oracle
    from hushcount.jobs.release import release
    from hushcount.jobs.sample import sample
    from hushcount.jobs.top import top
    from hushcount.jobs.tree import tree
    from hushcount.jobs.trees.raw import exact_tree
    from hushcount.jobs.trust.ledger import BudgetLedger as Ledger
    from hushcount.jobs.trust.plan import plan
    from hushcount.jobs.trust.verify import verify
    from hushcount.jobs.watch.plan import plan_watch
    from hushcount.jobs.watch.start import watch
    from hushcount.keys.domains import IntegerRange
    from hushcount.mechanisms.sampling.schemes import Pps, Ppswor
    from hushcount.mechanisms.sampling.tabled import SamplingTable
    from hushcount.privacy import Budget, Guarantee
    from hushcount.releases.added import add_releases
    from hushcount.releases.oracle import Oracle
    from hushcount.releases.release import Release
    from hushcount.releases.stored.reading import read_release
    from hushcount.releases.tree import TreeRelease
    from hushcount.sketches.counters import MisraGries, SpaceSaving
    from hushcount.sketches.exact import Exact
    from hushcount.sketches.kinds import load
    from hushcount.sketches.levels import HierarchySketch
    from hushcount.sketches.linear import CountMin, CountSketch, TrackedSketch
    from hushcount.sketches.samples.bottom_k import BottomK
    from hushcount.sketches.samples.weighted import WeightedSample
    from hushcount.sketches.users import UserMisraGries

__version__ = "0.1.0"

# Public names and where they live. They are looked up on first use, so that importing hushcount stays cheap.
_PLACES = {
    "Audit": "hushcount.audit.check:Audit",
    "BottomK": "hushcount.sketches.samples.bottom_k:BottomK",
    "Budget": "hushcount.privacy:Budget",
    "CountMin": "hushcount.sketches.linear:CountMin",
    "CountSketch": "hushcount.sketches.linear:CountSketch",
    "Exact": "hushcount.sketches.exact:Exact",
    "Guarantee": "hushcount.privacy:Guarantee",
    "HierarchySketch": "hushcount.sketches.levels:HierarchySketch",
    "IntegerRange": "hushcount.keys.domains:IntegerRange",
    "Ledger": "hushcount.jobs.trust.ledger:BudgetLedger",
    "MisraGries": "hushcount.sketches.counters:MisraGries",
    "Oracle": "hushcount.releases.oracle:Oracle",
    "Pps": "hushcount.mechanisms.sampling.schemes:Pps",
    "Ppswor": "hushcount.mechanisms.sampling.schemes:Ppswor",
    "Release": "hushcount.releases.release:Release",
    "SamplingTable": "hushcount.mechanisms.sampling.tabled:SamplingTable",
    "SpaceSaving": "hushcount.sketches.counters:SpaceSaving",
    "TrackedSketch": "hushcount.sketches.linear:TrackedSketch",
    "TreeRelease": "hushcount.releases.tree:TreeRelease",
    "UserMisraGries": "hushcount.sketches.users:UserMisraGries",
    "WeightedSample": "hushcount.sketches.samples.weighted:WeightedSample",
    "add_releases": "hushcount.releases.added:add_releases",
    "audit": "hushcount.audit.check:audit",
    "exact_tree": "hushcount.jobs.trees.raw:exact_tree",
    "feed": "hushcount.jobs.feed.feed:feed",
    "heavy_hitters": "hushcount.jobs.linear.heavy:heavy_hitters",
    "keys": "hushcount.jobs.keys:keys",
    "load": "hushcount.sketches.kinds:load",
    "oracle": "hushcount.jobs.oracle:oracle",
    "plan": "hushcount.jobs.trust.plan:plan",
    "plan_watch": "hushcount.jobs.watch.plan:plan_watch",
    "read_release": "hushcount.releases.stored.reading:read_release",
    "release": "hushcount.jobs.release:release",
    "sample": "hushcount.jobs.sample:sample",
    "top": "hushcount.jobs.top:top",
    "tracked_sketch": "hushcount.jobs.linear.tracked:tracked_sketch",
    "tree": "hushcount.jobs.tree:tree",
    "verify": "hushcount.jobs.trust.verify:verify",
    "watch": "hushcount.jobs.watch.start:watch",
}

__all__ = [
    "Audit",
    "BottomK",
    "Budget",
    "CountMin",
    "CountSketch",
    "Exact",
    "Guarantee",
    "HierarchySketch",
    "IntegerRange",
    "Ledger",
    "MisraGries",
    "Oracle",
    "Pps",
    "Ppswor",
    "Release",
    "SamplingTable",
    "SpaceSaving",
    "TrackedSketch",
    "TreeRelease",
    "UserMisraGries",
    "WeightedSample",
    "__version__",
    "add_releases",
    "audit",
    "engines",
    "errors",
    "exact_tree",
    "feed",
    "heavy_hitters",
    "keys",
    "ldp",
    "load",
    "oracle",
    "plan",
    "plan_watch",
    "read_release",
    "release",
    "sample",
    "testing",
    "top",
    "tracked_sketch",
    "tree",
    "verify",
    "watch",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in ("engines", "errors", "ldp", "testing"):
        return import_module(f"hushcount.{name}")
    if name not in (*_PLACES, "_NAMES"):
        raise AttributeError(f"module 'hushcount' has no attribute {name!r}")
    from hushcount.registry import Registry

    names: Registry[object] = Registry("name", _PLACES)
    return names if name == "_NAMES" else names[name]


def __dir__() -> list[str]:
    return sorted(__all__)
