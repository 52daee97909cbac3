"""Prefixes of IPv4 addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies._kernels.addresses import parse_ipv4
from hushcount.hierarchies.base import (
    ROOT,
    by_value,
    integers,
    octets,
    shared_levels,
    takes_bytes,
    with_nulls,
    without_low_bits,
    wrong_type,
)

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Levels

BITS = 32
STEPS = (8, 4, 1)


@dataclass(frozen=True, slots=True)
class Ipv4:
    """Prefixes of IPv4 addresses, `step` bits longer at each level.

    Keys are text of four decimal numbers without leading zeros, whole numbers below 2^32, or four bytes in
    network order (binary of width 4).

    >>> hierarchy = Ipv4(8)
    >>> leaves = hierarchy.leaves(pa.array(["10.1.2.3", "10.01.2.3"]))
    >>> leaves.to_pylist(), hierarchy.labels(leaves[:1], [2]).to_pylist()
    ([167838211, None], ['10.1.0.0/16'])
    """

    step: int = 8

    def __post_init__(self) -> None:
        if type(self.step) is not int or self.step not in STEPS:
            raise ParameterError(f"ipv4 must have steps of 8, 4 or 1 bits, got {self.step!r}.")

    @property
    def name(self) -> str:
        """Public text that says which hierarchy it is."""
        return f"ipv4/{self.step}"

    @property
    def height(self) -> int:
        """How many steps an address is below the root."""
        return BITS // self.step

    @property
    def leaf_type(self) -> pa.DataType:
        """Addresses are numbers."""
        return pa.uint64()

    @property
    def shifts(self) -> npt.NDArray[np.uint64]:
        """How many bits are cleared at each level."""
        return np.arange(BITS, -1, -self.step, dtype=np.int64).astype(np.uint64)

    def leaves(self, keys: pa.Array) -> pa.Array:
        """Addresses as numbers; null where a key is none."""
        return by_value(keys, self._parsed)

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """The level of the longest prefix each sorted address shares with the one before it."""
        return shared_levels(leaves, before, self.shifts)

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """The prefixes of addresses at one level, as their lowest addresses."""
        return without_low_bits(leaves, self.shifts[level])

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Prefixes such as 10.0.0.0/8; a whole address without its length."""
        shifts = self.shifts[np.asarray(levels, np.int64)]
        prefixes = (integers(leaves) >> shifts) << shifts
        return pa.array([_label(*each) for each in zip(prefixes, shifts, strict=True)], pa.string())

    def _parsed(self, keys: pa.Array) -> pa.Array:
        kind = keys.type
        if pa.types.is_integer(kind):
            return _numbers(keys)
        if not takes_bytes(kind):
            raise wrong_type(self.name, "text, whole numbers or four bytes", kind)
        if kind == pa.binary(4):
            return _packed(keys)
        read = octets(keys)
        return with_nulls(parse_ipv4(read.data, read.offsets), keys)


def _numbers(keys: pa.Array) -> pa.Array:
    values = keys.fill_null(0).to_numpy(zero_copy_only=False)
    good = (values >= 0) & (values < 1 << BITS)
    return with_nulls((values.astype(np.uint64), good), keys)


def _packed(keys: pa.Array) -> pa.Array:
    data = octets(keys)
    start, end = int(data.offsets[0]), int(data.offsets[-1])
    values = np.frombuffer(data.data[start:end].tobytes(), ">u4").astype(np.uint64)
    return with_nulls((values, np.ones(len(values), np.bool_)), keys)


def _label(prefix: np.uint64, shift: np.uint64) -> str:
    length = BITS - int(shift)
    if length == 0:
        return ROOT
    address = str(IPv4Address(int(prefix)))
    return address if length == BITS else f"{address}/{length}"
