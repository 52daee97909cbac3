"""The sorted leaves of a source, as an offline tree takes them: of rows, or of users once per node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy, LeafBatch, UserLeafBatch, first_below, good_leaves
from hushcount.jobs.checkpoints import Origin
from hushcount.jobs.exact import weight_of
from hushcount.jobs.request import Progress
from hushcount.jobs.run import Ask, Run, check_length
from hushcount.jobs.trees.settings import TreeSettings
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.tree import TreeMechanism
from hushcount.mechanisms.hierarchy.users import NodeRelease
from hushcount.mechanisms.histograms.gaussian import CERTAIN
from hushcount.privacy import EVENT, PrivacyUnit
from hushcount.releases.accuracy import EVENTS, Counted
from hushcount.releases.tree import TreeRelease
from hushcount.shapes import LeafCounts, NodeCounts, Public
from hushcount.sketches.leaves import leaf_batches
from hushcount.sketches.users import UserRows, WaitingRows
from hushcount.sources.duckdb.counted import counted_leaves, counted_users
from hushcount.sources.source import Batch, Source
from hushcount.sources.wrapped import WeighedSource, WrappedSource

if TYPE_CHECKING:
    from hushcount.sketches.levels import HierarchySketch


@dataclass(slots=True)
class SortedLeaves:
    """All leaves of a source with their counts, sorted out of core.

    `read` reads every row and ends when the first sorted leaves are there; `shape` passes them on.
    """

    hierarchy: Hierarchy
    on_bad: str
    max_events: int | None
    unit: PrivacyUnit = EVENT
    total: int = 0
    _sorted: Iterator[LeafBatch] = field(default_factory=lambda: iter(()))

    def update(self, keys: pa.Array) -> None:
        """Refuse: the rows are read by `read`."""
        raise ParameterError("leaves are read from their source, not one batch after the other.")

    def public(self) -> Public:
        """Return the height of the hierarchy."""
        return Public(unit=self.unit, height=self.hierarchy.height, shape=LeafCounts)

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and sort all rows; `progress` is called with the bytes read so far and in all."""

        def tell(batch: Batch) -> None:
            if progress is not None:
                progress(batch.bytes_read, source.size)

        counted = counted_leaves(source, self._leaves, self.hierarchy.leaf_type, tell)
        batches = leaf_batches(self.hierarchy, counted)
        first = list(islice(batches, 1))  # all rows have been read once there is a batch
        self._sorted = chain(first, batches)

    def shape(self) -> LeafCounts:
        """Return the sorted leaves, which can be taken once."""
        return LeafCounts(self.hierarchy, self._sorted.__iter__, self.unit)

    def _leaves(self, keys: pa.Array) -> pa.Array:
        """Return the leaves of keys, or raise for more events than the public bound."""
        if pa.types.is_struct(keys.type):
            return self._weighed(keys)
        leaves = good_leaves(self.hierarchy, keys, self.on_bad)
        self._counted(len(leaves))
        return leaves

    def _weighed(self, pairs: pa.Array) -> pa.Array:
        """Return the leaves of keys beside their weights."""
        keys = pairs.field("key")
        good_leaves(self.hierarchy, keys, self.on_bad)  # raises for what it must not hold
        kept = (leaves := self.hierarchy.leaves(keys)).is_valid()
        self._counted(weight_of(pairs.filter(kept)))
        weights = pairs.field("weight").filter(kept)
        return pa.StructArray.from_arrays([weights, leaves.filter(kept)], ["weight", "leaf"])

    def _counted(self, events: int) -> None:
        """Add events to those of the batches before, up to the public bound."""
        self.total += events
        check_length(self.total, self.max_events)


@dataclass(slots=True)
class UsersOfNodes(SortedLeaves):
    """The leaves of all users with the nodes that are new to the user, sorted out of core.

    Each user has at most `max_keys` keys. Without users every row is a user of its own.
    """

    max_keys: int = 1
    _users: Iterator[UserLeafBatch] = field(default_factory=lambda: iter(()))

    def public(self) -> Public:
        """Return the height of the hierarchy, and how many numbers one user can change."""
        return self.shape().public()

    def read(self, source: Source, progress: Progress | None) -> None:
        """Read and sort all rows; `progress` is called with the bytes read so far and in all."""
        paths = _Paths(source, self, progress)
        several = isinstance(source, WeighedSource)
        batches = _user_batches(self.hierarchy, counted_users(paths, self.hierarchy.leaf_type, several))
        first = list(islice(batches, 1))  # all rows have been read once there is a batch
        self._users = chain(first, batches)

    def shape(self) -> NodeCounts:  # type: ignore[override]
        """Return the sorted leaves of users, which can be taken once."""
        moved = self.hierarchy.most_nodes(self.max_keys)
        return NodeCounts(self.hierarchy, self._users.__iter__, moved, self.unit)

    def paths(self, rows: UserRows) -> pa.Array:
        """Return the leaves of whole users, each with the deepest level whose node the user has already."""
        begins = np.zeros(len(rows.keys), np.bool_)
        begins[rows.starts[:-1]] = True
        leaves = rows.keys.cast(self.hierarchy.leaf_type)
        found, known = first_below(self.hierarchy, leaves, begins)
        return pa.StructArray.from_arrays([found, pa.array(known)], ["leaf", "known"])

    def leaves_of(self, keys: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        """Return the leaves of well-formed keys of a batch, and their users, None if rows have none.

        In place of users there may be numbers of events.
        """
        if not pa.types.is_struct(keys.type):
            return self._leaves(keys), None
        if keys.type.field(0).name == "weight":
            pairs = self._weighed(keys)
            return pairs.field("leaf"), pairs.field("weight")
        self._leaves(keys.field("key"))  # counts, and raises for what it must not hold
        leaves = self.hierarchy.leaves(keys.field("key"))
        good = leaves.is_valid()
        return leaves.filter(good), keys.field("user").filter(good)


@dataclass(frozen=True, slots=True)
class _Paths(WrappedSource):
    """A source whose keys are leaves of whole users, with the deepest level that the user has already."""

    source: Source
    sketch: UsersOfNodes
    progress: Progress | None

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the leaves of users once all their rows are there."""
        waiting = WaitingRows()
        for batch in self.source.batches(skip_rows):
            if self.progress is not None:
                self.progress(batch.bytes_read, self.source.size)
            leaves, users = self.sketch.leaves_of(batch.keys)
            if users is None:
                yield self._batch(UserRows(leaves, np.arange(len(leaves) + 1)), batch)
            elif isinstance(self.source, WeighedSource):
                single = self._batch(UserRows(leaves, np.arange(len(leaves) + 1)), batch)
                paths = [*single.keys.flatten(), users]
                yield replace(single, keys=pa.StructArray.from_arrays(paths, ["leaf", "known", "times"]))
            elif len(leaves):
                waiting.append(waiting.checked(leaves, users, None))
                whole = waiting.whole_users()
                if whole is not None:
                    yield self._batch(whole, batch)
        last = waiting.all_users()
        if last is not None:
            yield self._batch(last, Batch(last.keys, 0, 0))

    def _batch(self, rows: UserRows, read: Batch) -> Batch:
        return Batch(self.sketch.paths(rows), read.rows, read.bytes_read)


def _user_batches(hierarchy: Hierarchy, rows: Iterator[pa.RecordBatch]) -> Iterator[UserLeafBatch]:
    """Yield the sorted leaves of users, with the levels they share with the leaf before."""
    before: pa.Scalar | None = None
    for batch in rows:
        leaves, known, users = batch.columns
        if len(leaves):
            shared = hierarchy.shared(leaves, before)
            yield UserLeafBatch(leaves, users.to_numpy(), shared, known.to_numpy())
            before = leaves[-1]


@dataclass(frozen=True)
class AnyTreeAsk(Ask["TreeRelease"]):
    """A tree, by any method; `notes` follow those of the source."""

    command = "tree"
    settings: TreeSettings
    sketch: HierarchySketch | SortedLeaves
    notes: tuple[str, ...] = ()

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return the notes, and what a count is a number of."""
        bound = self.request.bound
        if bound is None:
            weight = self.request.weight
            return self.notes, Counted(weight, f"total is a sum of {weight}.") if weight else EVENTS
        if bound.largest == 1:
            return self.notes, Counted("users", "total is the number of users whose one kept key is below.")
        kept = f"rows kept, not of users; at most {bound.largest} rows of each user"
        return self.notes, Counted("rows", f"total is the number of {kept}.")

    def publish(self, whole: TreeRelease, origin: Origin) -> TreeRelease:
        """Return the tree with its notes."""
        notes, counted = self.described()
        said = notes if counted == EVENTS else (*notes, counted.sentence)
        guarantee = self.request.assuming(whole.guarantee)
        if guarantee is not whole.guarantee:
            whole = replace(whole, guarantee=guarantee)
        return self.settings.published(whole, origin, said)

    def finish(self, published: TreeRelease) -> TreeRelease:
        """Return the tree as asked, written where asked."""
        return self.settings.finished(published)

    def law(self) -> dict[str, object]:
        """Return the hierarchy."""
        return {"hierarchy": self.sketch.hierarchy.name}


@dataclass(frozen=True)
class OfflineTreeAsk(AnyTreeAsk):
    """A tree of the exact counts of all leaves, which are sorted out of core."""

    sketch: SortedLeaves
    route: ClassVar[str] = "group"
    way: ClassVar[str] = "rows of users, noise for all rows of a user together"

    def prepare(self) -> tuple[SortedLeaves, TreeMechanism[Any]]:
        """Return the leaves and their mechanism, or raise if the threshold is too small."""
        return self.sketch, self.mechanism(self.settings.least_residual())

    def public(self) -> Public:
        """Return the public numbers of the leaves, with the bound on the number of events."""
        return self.sketch.public().within(self.settings.max_events)

    def mechanism(self, threshold: int | None) -> TreeMechanism[Any]:
        """Return the mechanism at a threshold, or at the smallest one."""
        return HierarchyRelease(self.settings.budget, self.public(), threshold)

    def said(self, reliable: int) -> str:
        """Say how it counts, and from which count on it publishes a node reliably."""
        noun = self.described()[1].noun
        return f"{self.way}: publishes a node of {reliable} {noun} with probability {CERTAIN:g}."

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Read and sort all rows; what the noise needs then comes back in order, and cannot fail any more."""
        self.sketch.read(reading.source, progress)


@dataclass(frozen=True)
class NodesAsk(OfflineTreeAsk):
    """A tree, or a table by level, of the users of every node."""

    sketch: UsersOfNodes
    route: ClassVar[str] = "nodes"
    way: ClassVar[str] = "users of every node, each once per node, Gaussian noise for all nodes of a user"

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return the notes, and what a count is a number of."""
        bound = self.request.bound
        if bound is None:
            return self.notes, EVENTS
        what = f"users below a node, each once; at most {bound.largest} keys of each user are kept"
        return self.notes, Counted("users", f"total is the number of {what}.")

    def mechanism(self, threshold: int | None) -> TreeMechanism[Any]:
        """Return the mechanism at a threshold, or at the smallest one."""
        settings = self.settings
        return NodeRelease(settings.budget, self.public(), threshold, settings.by_level)
