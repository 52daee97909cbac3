"""User-level Misra-Gries (PAMG, Lebeda and Tětek 2023, Algorithm 4).

Keys are dense codes 0, 1, ...; users are runs of codes, one after the other. `counts[code]` is stored without
subtracting anything: a code is tracked while its count exceeds the floor, the number of decrements. Keys
that would be new to a full sketch come and go within one user, so they are never inserted. A decrement
visits every tracked key, but it takes at least counters + 1 from the sum of all counts, so there are at most
n / (counters + 1) of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel


@kernel
def count_users(codes: Any, starts: Any, counts: Any, held: Any, used: Any) -> Any:
    """Count the users codes[starts[i] : starts[i + 1]] from a floor of 0 on.

    `held` lists the `used` codes that are tracked, and has room for as many as the sketch may track. Return
    how many are tracked afterwards, the floor, and how many distinct (user, key) pairs there were.
    """
    floor = np.int64(0)
    pairs = np.int64(0)
    seen = np.full(counts.size, -1, np.int64)
    fresh = np.empty(codes.size, np.int64)
    for user in range(starts.size - 1):
        new = 0
        for row in range(starts[user], starts[user + 1]):
            code = codes[row]
            if seen[code] == user:
                continue
            seen[code] = user
            pairs += 1
            if counts[code] > floor:
                counts[code] += 1
            else:
                fresh[new] = code
                new += 1
        if used + new > held.size:
            floor += 1
            kept = 0
            for index in range(used):
                if counts[held[index]] > floor:
                    held[kept] = held[index]
                    kept += 1
            used = kept
        else:
            for index in range(new):
                counts[fresh[index]] = floor + 1
                held[used + index] = fresh[index]
            used += new
    return used, floor, pairs
