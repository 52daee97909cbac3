"""What every sketch of counters does alike: keys in, bytes out, an identity."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.keys.arrays import from_kernel
from hushcount.sketches import codec
from hushcount.sketches.base import Counting
from hushcount.sketches.saved import SavedSketch
from hushcount.sketches.table import Entries


class CounterSketch(SavedSketch):
    """Counts keys one by one in their order; what it keeps of them is the subclass's matter."""

    def __init__(self) -> None:
        self._keys = Counting(self._table)

    @property
    def id(self) -> str:
        """A random name of this sketch, kept when it is saved."""
        return self._keys.id

    @property
    def total(self) -> int:
        """How many keys have been counted."""
        self._keys.flush()
        return self._keys.total

    @property
    def key_type(self) -> pa.DataType | None:
        """The Arrow type of the keys, once there are any."""
        self._keys.flush()
        return self._keys.key_type

    def update(self, keys: Any) -> None:
        """Count a batch of keys in its order: any array, frame column or iterable."""
        self._keys.update(keys)

    def add(self, key: Any) -> None:
        """Count one key."""
        self._keys.add(key)

    def estimate(self, keys: Any) -> npt.NDArray[np.int64]:
        """Counts of keys, 0 for those not tracked."""
        return self._keys.lookup(keys)

    @abstractmethod
    def parts(self) -> tuple[str, dict[str, Any], codec.Arrays]:
        """What is written of the sketch."""

    @abstractmethod
    def _table(self, of_bytes: bool) -> Any:
        """An empty table for keys of this kind."""

    def _key_array(self, entries: Entries) -> pa.Array:
        kind = self._keys.key_type or pa.string()
        return from_kernel(entries.keys, kind) if len(entries) else pa.array([], kind)
