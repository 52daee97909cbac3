"""From lists of likely values to whole items, and from candidates to the items that remain after peeling.

`combine` keeps, for each bucket, at most `widest` partial combinations in descending order of their sums, and
extends them list by list. Scores are only added, so the best sums over all lists extend best sums over the
first ones, and nothing is lost by keeping only so many. A combination is named old * count + new: the place
of what it extends, and the place of the value it adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel
from hushcount.ldp._kernels.codes import insert


@kernel
def combine(lists: Any, least: Any, widest: int, chosen: Any, buckets: Any) -> int:
    """Combine one value from each list of a bucket; keep the combinations whose scores sum to `least`.

    `lists` = (starts, values, scores): list l of bucket b is at starts[l, b] .. starts[l, b + 1] - 1. No
    bucket gives more than its `widest` best. Fill `chosen` (a row of values each) and `buckets`; return how
    many there are.
    """
    starts, values, scores = lists
    parts, found = starts.shape[0], 0
    kept, extended = np.zeros((widest, parts), np.int64), np.zeros((widest, parts), np.int64)
    sums, best, names = np.zeros(widest), np.zeros(widest), np.zeros(widest, np.int64)
    for bucket in range(starts.shape[1] - 1):
        size = 1
        sums[0] = 0.0
        for part in range(parts):
            first, longer = starts[part, bucket], 0
            count = starts[part, bucket + 1] - first
            for old in range(size):
                for new in range(count):
                    longer = insert(best, names, longer, sums[old] + scores[first + new], old * count + new)
            size = longer
            for place in range(size):
                for before in range(part):
                    extended[place, before] = kept[names[place] // count, before]
                extended[place, part] = values[first + names[place] % count]
                sums[place] = best[place]
            kept, extended = extended, kept
        for place in range(size):
            if sums[place] >= least:
                for part in range(parts):
                    chosen[found, part] = kept[place, part]
                buckets[found] = bucket
                found += 1
    return found


@kernel
def peel(places: Any, weights: Any, estimates: Any, limits: Any, accepted: Any) -> None:
    """Accept items from the largest estimate down, and subtract each from the estimates of the others.

    `places` = (cells, signs): item i lies in cell cells[i, t] of table t, with sign signs[i, t]. It has two
    estimates: estimates[i, 0] is published and estimates[i, 1] checks it; both must reach `limits`. Table t
    contributes the fractions weights[t] of a count to them. accepted[i] becomes the rank, or stays -1.
    """
    cells, signs = places
    items, tables = cells.shape
    waiting = estimates[:, 0].copy()
    rank = 0
    while items:
        best = 0
        for item in range(1, items):
            if waiting[item] > waiting[best]:
                best = item
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
