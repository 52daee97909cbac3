"""Trees with delta = 0, of hierarchies of which everybody knows all nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy, LeafBatch, UserLeafBatch
from hushcount.hierarchies.known import KnownNodes, known_nodes
from hushcount.hierarchies.registry import COLUMNS, PARENTS
from hushcount.jobs.leaves import OfflineTreeAsk, SortedLeaves, UsersOfNodes
from hushcount.jobs.request import Request
from hushcount.mechanisms.hierarchy.known import KnownNodeRelease
from hushcount.releases.accuracy import Counted
from hushcount.shapes.known import KnownNodeCounts

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.jobs.trees.settings import TreeSettings
    from hushcount.keys.domains import Domain
    from hushcount.shapes import LeafCounts, NodeCounts, Public, Shape, Sketch

LARGEST_DOMAIN = 1 << 24  # keys of a range, which is listed here


@dataclass(frozen=True)
class KnownAsk(OfflineTreeAsk):
    """A tree, or a table by level, of the counts of all known nodes."""

    known: KnownNodes = field(kw_only=True)
    route: ClassVar[str] = "known"
    way: ClassVar[str] = "the counts of all known nodes, with delta = 0"

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return the notes, and what a count is a number of: users are counted once per node."""
        bound = self.request.bound
        if bound is None:
            return super().described()
        what = f"users below a node, each once; at most {bound.largest} keys of each user are kept"
        return self.notes, Counted("users", f"total is the number of {what}.")

    def public(self) -> Public:
        """Return the public numbers of the counts, with the bound on the number of events."""
        return self._counts(self.sketch.shape()).public().within(self.settings.max_events)

    def mechanism(self, threshold: int | None) -> KnownNodeRelease:
        """Return the mechanism at a threshold, or at the smallest one."""
        return KnownNodeRelease(self.settings.budget, self.public(), threshold, self.settings.by_level)

    def law(self) -> dict[str, object]:
        """Return the hierarchy, and which nodes it has."""
        return {**super().law(), "nodes": self.known.digest}

    def summary(self, shape: Shape, sketch: Sketch) -> Shape:
        """Return the counts as those of known nodes."""
        return self._counts(cast("LeafCounts | NodeCounts", shape))

    def _counts(self, shape: LeafCounts | NodeCounts) -> KnownNodeCounts:
        """Return leaves as the counts of known nodes; of events each is the first one below all its nodes."""
        moved = self.known.most_nodes(self.sketch.unit.rows)
        return KnownNodeCounts(shape.hierarchy, self.known, lambda: _by_user(shape), moved, shape.unit)


def _by_user(shape: LeafCounts | NodeCounts) -> Iterator[UserLeafBatch]:
    """Yield the batches of users, or those of events as if each were a user of its own."""
    batch: LeafBatch
    for batch in shape.batches():
        if isinstance(batch, UserLeafBatch):
            yield batch
        else:
            known = np.full(len(batch.counts), -1, np.int16)
            yield UserLeafBatch(batch.leaves, batch.counts, batch.shared, known)


def known_ask(request: Request, settings: TreeSettings, hierarchy: Hierarchy) -> KnownAsk:
    """Return the tree with delta = 0 that is asked for, or raise if the nodes are not known to everybody."""
    named = (settings.domain,) if isinstance(settings.domain, str | os.PathLike) else ()
    settings = settings.with_domain(request.key_type)
    domain = cast("Domain | None", settings.domain)
    known = known_nodes(hierarchy, None if domain is None else _listed(domain, hierarchy))
    beside = (*request.beside, *named)
    request = replace(request, domain=domain, with_users=request.bound is not None, beside=beside)
    counted = hierarchy, settings.on_bad, settings.max_events, request.unit
    sketch = SortedLeaves(*counted)
    if request.bound is not None:
        sketch = UsersOfNodes(*counted, max_keys=request.unit.rows)
    return KnownAsk(request, settings, sketch, known=known)


def _listed(domain: Domain, hierarchy: Hierarchy) -> pa.Array:
    """Return all keys of a domain, or raise if a hierarchy cannot take them."""
    if hierarchy.name.startswith(COLUMNS) and hierarchy.height > 1:
        raise ParameterError(
            f"domain lists keys of one column, and hierarchy {hierarchy.name} has several; take a table of"
            f" parents ({PARENTS}FILE.csv)."
        )
    if domain.size > LARGEST_DOMAIN:
        raise ParameterError(
            f"domain must have at most {LARGEST_DOMAIN:,} keys for a hierarchy, got {domain.size:,}."
        )
    return domain.keys(np.arange(domain.size, dtype=np.uint64))
