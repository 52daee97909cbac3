"""What a tree is asked for, checked before a single row is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.jobs.choices import METHODS
from hushcount.jobs.settings import Settings
from hushcount.keys.plain import check_on_bad
from hushcount.mechanisms.thresholds import LARGEST_THRESHOLD
from hushcount.privacy import Budget, check_count, unwarned, weaknesses
from hushcount.releases.views.report_files import NO_FILES, write_files
from hushcount.sources.open import read_domain

if TYPE_CHECKING:
    from hushcount.jobs.checkpoints import Origin
    from hushcount.keys.domains import Domain
    from hushcount.keys.memory import Data
    from hushcount.releases.tree import TreeRelease

ON_BAD_NOTES = {
    "drop": "Malformed keys are dropped.",
    "fail": "A malformed key stops the run, and that it did not is outside the guarantee.",
}


@dataclass(frozen=True, kw_only=True)
class TreeSettings(Settings):
    """Budget, threshold and method of a tree, and what is done with it once it is private."""

    threshold: int | None = None
    share: float | None = None
    method: str = METHODS[0]
    counters: int | None = None
    on_bad: str = "drop"
    by_level: bool = False
    domain: Domain | Data = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_on_bad(self.on_bad)
        if self.method not in METHODS:
            raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {self.method}.")
        if self.counters is not None and self.offline:
            raise ParameterError('counters needs method="streaming"; offline counts all keys.')
        self.least_residual()
        self._check_known()

    def spent(self) -> Budget:
        """Return what the tree spends; delta = 0 is for hierarchies of which all nodes are known."""
        zero = not isinstance(self.delta, bool) and self.delta == 0
        return unwarned(self.loss, 0.0) if zero else super().spent()

    def _check_known(self) -> None:
        """Raise unless a domain and delta = 0 stand together, in a tree that counts all keys."""
        if not self.offline:
            self.check_delta()
        if self.domain is not None and self.budget.delta > 0:
            raise ParameterError(f"delta must be 0 with a public domain, got {self.delta}.")

    def check_delta(self) -> None:
        """Raise for delta = 0, of which the release of a sketch of each level has no proof."""
        if self.budget.delta == 0:
            raise ParameterError(
                'delta = 0 needs method="offline", which counts all keys; a sketch of each level needs a'
                " delta above 0."
            )

    def with_domain(self, key_type: str) -> TreeSettings:
        """Return the same with the domain read, if it was the name of a file."""
        if self.domain is None:
            return self
        same = copy(self)
        object.__setattr__(same, "domain", read_domain(self.domain, key_type))
        return same

    @property
    def offline(self) -> bool:
        """Whether all keys are counted, out of core."""
        return self.method == METHODS[0]

    def least_residual(self) -> int:
        """Return the threshold: given, or a share of the public bound on the number of events."""
        if (self.threshold is None) == (self.share is None):
            raise ParameterError(
                "Give either threshold, a count, or share, a fraction of max_events, but not both."
            )
        if self.threshold is not None:
            return check_count("threshold", self.threshold, most=LARGEST_THRESHOLD)
        share = self.share
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise ParameterError(f"share must be a number above 0 and at most 1, got {share}.")
        if self.max_events is None:
            raise ParameterError("share needs max_events, the public bound it is a share of, got None.")
        return math.ceil(share * self.max_events)

    def published(
        self, whole: TreeRelease, origin: Origin | None = None, more: Iterable[str] = ()
    ) -> TreeRelease:
        """Return the tree with its notes."""
        notes = () if origin is None else origin.notes
        return whole.with_notes(ON_BAD_NOTES[self.on_bad], *notes, *more, *weaknesses(self.budget))

    def finished(self, published: TreeRelease) -> TreeRelease:
        """Return the tree with the intervals asked for, written where asked."""
        options = self.stated()
        tree = published.at_confidence(self.confidence).made_with(options, self.source_name)
        if self.outputs != NO_FILES:
            write_files(tree, *self.outputs)
        return tree
