"""Keys and counts put back into an empty counter table, as they were before it was written to a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import kernel
from hushcount.sketches._kernels.arrays import (
    CLOCK,
    CLOCK_BITS,
    COUNTERS,
    FLOOR,
    LAST_TIME,
    MISRA_GRIES,
    RULE,
    USED,
)
from hushcount.sketches._kernels.eviction import line_up, open_window
from hushcount.sketches._kernels.table import collect, home_of, keep_bytes, mark_passed, search

_U = np.uint64
_ONE, _FOUR = _U(1), _U(4)


@kernel
def insert(table: Any, key: Any, count: Any, item: Any) -> Any:
    """Put a key with its count into a table that has room and does not hold it."""
    home = home_of(table, key)
    place, _ = search(table, key, home, item)
    mark_passed(table, home, place)
    table.state[USED] += _ONE
    table.state[CLOCK] = (table.state[CLOCK] + _ONE) & LAST_TIME
    table.rows[place] = key
    table.rows[place | _FOUR] = (count << CLOCK_BITS) | table.state[CLOCK]
    if table.refs.size:
        keep_bytes(table, place, _U(0), item)


@kernel
def close_restore(table: Any) -> Any:
    """Open the window at the floor of the rule, if the restored keys take all counters."""
    if table.state[USED] == table.state[COUNTERS]:
        if table.state[RULE] == MISRA_GRIES:
            open_window(table, table.state[FLOOR])
            line_up(table)
        else:
            words, _ = collect(table, _U(0xFFFFFFFFFFFFFFFF))
            open_window(table, words.min() >> CLOCK_BITS)


@kernel
def restore(table: Any, keys: Any, data: Any, offsets: Any, counts: Any) -> Any:
    """Put keys and counts into an empty table, least recently updated first."""
    for index in range(keys.size):
        item = (data, _U(offsets[index]), _U(offsets[index + 1]) - _U(offsets[index]))
        insert(table, keys[index], counts[index], item)
    close_restore(table)
