"""From lists of likely values to whole items, and from items to those that stand after peeling."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled import kernel


@kernel
def combine(lists: Any, least: Any, widest: int, chosen: Any, buckets: Any) -> int:
    """The combinations of one value from each list of a bucket whose scores sum to at least `least`.

    `lists` = (starts, values, scores): list l of bucket b is from `starts[l, b]` to `starts[l, b + 1]`.
    No bucket gives more than its `widest` best; the best sums of some lists extend to the best of all.
    Fills `chosen` (a row of values each) and `buckets`; returns how many.
    """
    starts, values, scores = lists
    parts, found = starts.shape[0], 0
    kept = np.zeros((widest, parts), np.int64)
    sums = np.zeros(widest)
    for bucket in range(starts.shape[1] - 1):
        empty = False
        for part in range(parts):
            empty = empty or starts[part, bucket] == starts[part, bucket + 1]
        if empty:
            continue
        size = 1
        kept[0, :] = 0
        sums[0] = 0.0
        for part in range(parts):
            first = starts[part, bucket]
            count = starts[part, bucket + 1] - first
            totals = np.empty(size * count)
            for old in range(size):
                for new in range(count):
                    totals[old * count + new] = sums[old] + scores[first + new]
            order = np.argsort(-totals)[:widest] if totals.size > widest else np.arange(totals.size)
            extended = np.empty((order.size, parts), np.int64)
            for place in range(order.size):
                extended[place] = kept[order[place] // count]
                extended[place, part] = values[first + order[place] % count]
            size = order.size
            kept[:size] = extended
            sums[:size] = totals[order]
        for place in range(size):
            if sums[place] >= least:
                chosen[found] = kept[place]
                buckets[found] = bucket
                found += 1
    return found


@kernel
def peel(places: Any, weights: Any, estimates: Any, limits: Any, accepted: Any) -> None:
    """Accept items from the largest estimate down; each is taken out of the estimates of the others.

    `places` = (cells, signs): item i lies in cell `cells[i, t]` of table t, with sign `signs[i, t]`. It has
    two estimates, `estimates[i, 0]` to publish and `estimates[i, 1]` to check it by, and is accepted while
    both reach `limits`; table t brings the parts `weights[t]` of a count to them. `accepted[i]` gets the
    rank, or stays -1.
    """
    cells, signs = places
    items, tables = cells.shape
    waiting = estimates[:, 0].copy()
    rank = 0
    while items:
        best = np.argmax(waiting)
        if waiting[best] < limits[0]:
            break
        waiting[best] = -np.inf
        if estimates[best, 1] < limits[1]:
            continue
        accepted[best] = rank
        rank += 1
        for item in range(items):
            if accepted[item] >= 0:
                continue
            published = checked = 0.0
            for table in range(tables):
                if cells[item, table] == cells[best, table]:
                    product = signs[item, table] * signs[best, table]
                    published += weights[table, 0] * product
                    checked += weights[table, 1] * product
            estimates[item, 0] -= estimates[best, 0] * published
            estimates[item, 1] -= estimates[best, 0] * checked
            if waiting[item] > -np.inf:
                waiting[item] = estimates[item, 0]
