"""Numbers of users, or of events, at every node of a hierarchy whose nodes everybody knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.shapes import Public

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Hierarchy, UserLeafBatch
    from hushcount.hierarchies.known import KnownNodes


@dataclass(frozen=True, slots=True)
class KnownNodeCounts:
    """Counts of all known nodes, of which most may be 0; one unit changes at most `moved`, by its weight.

    Users count once per node, events as much as they weigh. All leaves are known.
    """

    hierarchy: Hierarchy
    known: KnownNodes
    batches: Callable[[], Iterator[UserLeafBatch]]
    moved: int
    unit: PrivacyUnit = EVENT
    words: ClassVar[str] = "the counts of all nodes of a known hierarchy"

    @property
    def candidates(self) -> int:
        """How many nodes there are."""
        return self.known.size

    def public(self) -> Public:
        """Return the number of nodes, the height of the hierarchy and the sensitivity."""
        height, nodes = self.hierarchy.height, self.known.size
        return Public(nodes, unit=self.unit, moved=self.moved, height=height, shape=KnownNodeCounts)
