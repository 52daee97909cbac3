"""Keys that stand for several consecutive events each, as a sketch takes them."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Words
from hushcount.errors import DataError, ParameterError
from hushcount.keys.memory import Data, key_arrays
from hushcount.sketches.table import LARGEST_TOTAL

TOO_MANY = f"A sketch counts at most {LARGEST_TOTAL} events; start another."
NO_TIMES = "times must have one whole number from 0 on for each key, and no key may be null."


class CountsSeveral(Protocol):
    """A sketch whose keys may stand for several events."""

    def update(self, keys: Data, *, times: npt.ArrayLike | None = None) -> None:
        """Count a batch of keys in its order, key i for times[i] consecutive events."""
        ...


def check_room(counted: int, events: int) -> None:
    """Raise for more events than a sketch can count."""
    if counted + events > LARGEST_TOTAL:
        raise DataError(TOO_MANY)


def several(keys: Data, times: npt.ArrayLike, counted: int = 0) -> tuple[pa.Array, Words]:
    """Return the keys that stand for an event at least, and for how many, or raise.

    A key of 0 events is as one that is not there. `counted` events were counted before.

    >>> several(["a", "b", "c"], [2, 0, 1])[0].to_pylist()
    ['a', 'c']
    """
    arrays = list(key_arrays(keys)) or [pa.array([], pa.string())]
    whole = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
    numbers = _whole_numbers(times)
    if len(numbers) != len(whole):
        raise ParameterError(NO_TIMES)
    check_room(counted, whole_sum(numbers))
    some = numbers > 0
    return (whole, numbers) if some.all() else (whole.filter(pa.array(some)), numbers[some])


def whole_sum(numbers: Words) -> int:
    """Return the sum of words; their halves are added up, because 64 bits would not hold it."""
    return (int((numbers >> np.uint64(32)).sum()) << 32) + int((numbers & np.uint64(0xFFFFFFFF)).sum())


def _whole_numbers(times: npt.ArrayLike) -> Words:
    """Return numbers of events as words, or raise."""
    try:
        values = np.asarray(times)
    except ValueError:  # rows of unlike lengths
        values = np.zeros((0, 0))
    if values.ndim != 1 or (values.size and (values.dtype.kind not in "iu" or int(values.min()) < 0)):
        raise ParameterError(NO_TIMES)
    return np.ascontiguousarray(values, np.uint64)
