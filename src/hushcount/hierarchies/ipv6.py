"""Prefixes of IPv6 addresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies._kernels.addresses import parse_ipv6
from hushcount.hierarchies._kernels.levels import shared_bits
from hushcount.hierarchies.base import ROOT, by_value, octets, takes_bytes, wrong_type

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Levels

BITS = 128
WIDTH = 16
STEPS = (16, 8, 4)
LEAF = pa.binary(WIDTH)
Rows = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Ipv6:
    """Prefixes of IPv6 addresses, `step` bits longer at each level.

    Keys are text in any of the usual forms (a double colon, a dotted IPv4 address at the end, either case;
    no zone), or 16 bytes in network order (binary of width 16).

    >>> hierarchy = Ipv6(16)
    >>> leaves = hierarchy.leaves(pa.array(["2001:DB8::1"]))
    >>> hierarchy.labels(leaves.take([0, 0]), [2, 8]).to_pylist()
    ['2001:db8::/32', '2001:db8::1']
    """

    step: int = 16

    def __post_init__(self) -> None:
        if type(self.step) is not int or self.step not in STEPS:
            raise ParameterError(f"ipv6 must have steps of 16, 8 or 4 bits, got {self.step!r}.")

    @property
    def name(self) -> str:
        """Public text that says which hierarchy it is."""
        return f"ipv6/{self.step}"

    @property
    def height(self) -> int:
        """How many steps an address is below the root."""
        return BITS // self.step

    @property
    def leaf_type(self) -> pa.DataType:
        """Addresses are 16 bytes."""
        return LEAF

    def leaves(self, keys: pa.Array) -> pa.Array:
        """Addresses as bytes; null where a key is none."""
        return by_value(keys, self._parsed)

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """The level of the longest prefix each sorted address shares with the one before it."""
        first = bytes(WIDTH) if before is None else before.as_py()
        levels: Levels = shared_bits(_rows(leaves), np.frombuffer(first, np.uint8), self.step)
        if before is None:
            levels[:1] = -1
        return levels

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """The prefixes of addresses at one level, as their lowest addresses."""
        bits = np.arange(BITS) < level * self.step
        return _array(_rows(leaves) & np.packbits(bits), None)

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Prefixes such as 2001:db8::/32; a whole address without its length."""
        lengths = [int(level) * self.step for level in levels]
        return pa.array(
            [_label(*each) for each in zip(leaves.to_pylist(), lengths, strict=True)], pa.string()
        )

    def _parsed(self, keys: pa.Array) -> pa.Array:
        if keys.type == LEAF:
            return keys
        if not takes_bytes(keys.type):
            raise wrong_type(self.name, "text or 16 bytes", keys.type)
        read = octets(keys)
        leaves, good = parse_ipv6(read.data, read.offsets)
        return _array(leaves, good & keys.is_valid().to_numpy(zero_copy_only=False))


def _rows(leaves: pa.Array) -> Rows:
    """The bytes of an array, 16 a row."""
    if not len(leaves):
        return np.empty((0, WIDTH), np.uint8)
    start = leaves.offset * WIDTH
    data = np.frombuffer(leaves.buffers()[1], np.uint8, len(leaves) * WIDTH, start)
    return data.reshape(-1, WIDTH)


def _array(rows: Rows, good: npt.NDArray[np.bool_] | None) -> pa.Array:
    valid = None if good is None else pa.array(good).buffers()[1]
    return pa.Array.from_buffers(LEAF, len(rows), [valid, pa.py_buffer(np.ascontiguousarray(rows))])


def _label(leaf: bytes, length: int) -> str:
    if length == 0:
        return ROOT
    kept = int.from_bytes(leaf) >> (BITS - length) << (BITS - length)
    address = str(IPv6Address(kept))
    return address if length == BITS else f"{address}/{length}"
