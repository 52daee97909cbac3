"""A tree read level by level: all nodes that a published node is, or lies below, with their totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushcount.keys.labels import NodeLabel, ancestors
from hushcount.releases.trees.nodes import Tops

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.releases.tree import TreeRelease

Found = tuple[list[int], int]  # the topmost published rows below a node, and how many rows are below it


def table_by_level(release: TreeRelease) -> pa.Table:
    """Return published nodes and all their ancestors, level by level and by total (descending)."""
    import pyarrow as pa

    published = release.table
    names = ["level", "node", "total", "lower", "upper", "near_threshold"]
    rows = [{name: row.get(name) for name in names} | {"published": True} for row in published.to_pylist()]
    near = [row["near_threshold"] for row in rows]
    for label, (tops, below) in _unpublished(release).items():
        level = NodeLabel.of(label, release.hierarchy, release.height).level
        found = Tops(release.rows.levels[tops], release.rows.totals[tops], below)
        total, lower, upper = release.error.unpublished(level, found, release.confidence)
        marked = any(near[top] for top in tops)
        bounds = {"lower": lower, "upper": upper, "near_threshold": marked, "published": False}
        rows.append({"level": level, "node": label, "total": total, **bounds})
    rows.sort(key=lambda row: (row["level"], -row["total"], row["node"]))
    kinds = {"node": pa.string(), "near_threshold": pa.bool_(), "published": pa.bool_()}
    schema = pa.schema([(name, kinds.get(name, pa.int64())) for name in (*names, "published")])
    table = pa.Table.from_pylist(rows, schema)
    return table if "near_threshold" in published.column_names else table.drop_columns(["near_threshold"])


def _unpublished(release: TreeRelease) -> dict[str, Found]:
    """Return the nodes above published ones that were not published themselves.

    A published node is topmost below those of them that lie below its nearest published ancestor.
    """
    rows = release.rows
    labels, levels = rows.nodes.to_pylist(), rows.levels.tolist()
    published = set(labels)
    found: dict[str, Found] = {}
    for row, (label, parent) in enumerate(zip(labels, rows.parents.tolist(), strict=True)):
        nearest = -1 if parent < 0 else levels[parent]
        for level, above in enumerate(ancestors(label, release.hierarchy)):
            if above not in published:
                tops, below = found.get(above, ([], 0))
                found[above] = ([*tops, row] if level > nearest else tops, below + 1)
    return found
