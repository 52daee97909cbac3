"""A small tree release made by hand, for the tests of what people see."""

import numpy as np
import pyarrow as pa

from hushcount.privacy import EVENT, Guarantee
from hushcount.releases.tree import TreeRelease
from hushcount.releases.trees.nodes import TreeRows


class Within:
    """Totals within ten of the truth."""

    def bounds(self, rows, confidence):
        return rows.totals - 10, rows.totals + 10

    def sentences(self, confidence):
        return (f"Within ten, at confidence {confidence:g}.",)

    def near(self, rows, confidence):
        return rows.residuals < 60

    def all_nodes(self, confidence):
        return None


NODES = [
    ("*", 0, -1, 120, 1000),
    ("10.0.0.0/8", 1, 0, 80, 480),
    ("10.1.0.0/16", 2, 1, 150, 150),
    ("10.2.0.0/16", 2, 1, 50, 250),
    ("10.2.3.4", 4, 3, 200, 200),
    ("192.0.0.0/8", 1, 0, 400, 400),
]


def tree(nodes=NODES, **fields):
    """A release of these (node, level, parent row, residual, total)."""
    columns = [list(column) for column in zip(*nodes, strict=True)] or [[] for _ in range(5)]
    rows = TreeRows(
        pa.array(columns[0], pa.string()), *(np.array(column, np.int64) for column in columns[1:])
    )
    promise = Guarantee(1.0, 1e-6, EVENT, "tree release", "Theorem.", "docs/proofs/hierarchy/offline.md")
    return TreeRelease(rows, promise, Within(), 50, "ipv4/8", 4, **fields)
