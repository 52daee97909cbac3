"""What a tree is asked for, checked before any row is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import Outputs, PathLike, check_writable
from hushcount.keys.plain import check_on_bad
from hushcount.privacy import (
    Budget,
    check_confidence,
    check_count,
    check_max_events,
    check_strength,
    weaknesses,
)
from hushcount.releases.views.icicle import check_plot, prepare_icicle
from hushcount.releases.writers import check_output

if TYPE_CHECKING:
    from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
    from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
    from hushcount.releases.tree import TreeRelease
    from hushcount.shapes import Public

METHODS = ("offline", "streaming")
ON_BAD_NOTES = {
    "drop": "Malformed keys are dropped.",
    "fail": "A malformed key stops the run, and that it did not is outside the guarantee.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSettings:
    """Budget, threshold and method of a tree, and what is done with it once it is private."""

    epsilon: float
    delta: float
    threshold: int | None = None
    share: float | None = None
    max_events: int | None = None
    method: str = "offline"
    counters: int | None = None
    on_bad: str = "drop"
    confidence: float = 0.95
    output: PathLike | None = None
    plot: PathLike | None = None
    allow_large_delta: bool = False

    def __post_init__(self) -> None:
        check_strength(self.budget, self.allow_large_delta)
        check_max_events(self.max_events, self.budget.delta)
        check_confidence(self.confidence)
        check_on_bad(self.on_bad)
        if self.method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {self.method}.")
        if self.counters is not None and self.method == "offline":
            raise ParameterError("counters goes with method streaming; offline counts all keys.")
        self.least_residual()
        for path, check in ((self.output, check_output), (self.plot, check_plot)):
            if path is not None:
                check(path)
                check_writable(path)

    @property
    def budget(self) -> Budget:
        """What the release spends."""
        return Budget(self.epsilon, self.delta)

    def least_residual(self) -> int:
        """The threshold: given, or a share of the public bound on the number of events."""
        if (self.threshold is None) == (self.share is None):
            raise ParameterError(
                f"Give either threshold or share, got threshold = {self.threshold} and share = {self.share}."
            )
        if self.threshold is not None:
            return check_count("threshold", self.threshold)
        return _of_share(self.share, self.max_events)

    def mechanism(self, public: Public) -> HierarchyRelease | LevelFloorRelease:
        """Return the mechanism of this method, or raise if the threshold is too small."""
        if self.method == "offline":
            from hushcount.mechanisms.hierarchy.offline import HierarchyRelease

            return HierarchyRelease(self.budget, public, self.least_residual())
        from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease

        return LevelFloorRelease(self.budget, public, self.least_residual())

    def finished(self, whole: TreeRelease, notes: tuple[str, ...]) -> TreeRelease:
        """The tree with its notes and intervals as asked, written where asked."""
        tree = whole.with_notes(ON_BAD_NOTES[self.on_bad], *notes, *weaknesses(self.budget)).at_confidence(
            self.confidence
        )
        with Outputs() as outputs:
            if self.output is not None:
                tree.prepare(self.output, outputs)
            if self.plot is not None:
                prepare_icicle(tree, self.plot, outputs)
            outputs.commit()
        return tree


def _of_share(share: Any, max_events: int | None) -> int:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ParameterError(f"share must be a number above 0 and at most 1, got {share}.")
    if max_events is None:
        raise ParameterError("share needs max_events, the public bound it is a share of, got None.")
    return math.ceil(share * max_events)
