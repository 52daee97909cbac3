"""Prefixes of IPv4 and IPv6 addresses."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies._kernels.addresses import packed_either, parse_either, parse_ipv4, parse_ipv6
from hushcount.hierarchies._kernels.levels import shared_bits
from hushcount.hierarchies.base import Hierarchy, IntegerHierarchy, checked_octets, integer_leaves

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Mask, Octets, Words
    from hushcount.hierarchies.base import Levels

WIDTH = 16  # bytes of an IPv6 address
LEAF = pa.binary(WIDTH)
VERSIONED = pa.binary(WIDTH + 1)
ALONE = "An address is written alone: cut off a port (host:port), brackets and a zone first."


@dataclass(frozen=True, slots=True)
class Addresses(Hierarchy):
    """Prefixes of addresses of `bits` bits, `step` bits longer at each level."""

    step: int
    form: ClassVar[str]
    bits: ClassVar[int]
    steps: ClassVar[tuple[int, ...]]

    def __post_init__(self) -> None:
        if type(self.step) is not int or self.step not in self.steps:
            *first, last = map(str, self.steps)
            allowed = f"{', '.join(first)} or {last}"
            raise ParameterError(f"{self.form} must have steps of {allowed} bits, got {self.step!r}.")

    @property
    def name(self) -> str:
        """The form and the step, such as ipv4/8."""
        return f"{self.form}/{self.step}"

    @property
    def height(self) -> int:
        """How many steps an address is below the root."""
        return self.bits // self.step

    @property
    def well_formed(self) -> str:
        """What keys must be like."""
        return ALONE

    def possible(self, level: int) -> int:
        """Return how many prefixes of this length there are."""
        return 1 << level * self.step

    def _label(self, leaf: int | bytes, level: int) -> str:
        """Return a prefix such as 10.0.0.0/8; a whole address without its length."""
        number = leaf if isinstance(leaf, int) else int.from_bytes(leaf)
        length = level * self.step
        below = self.bits - length
        address = ip_address((number >> below << below).to_bytes(self.bits // 8))
        return str(address) if length == self.bits else f"{address}/{length}"


@dataclass(frozen=True, slots=True)
class Ipv4(Addresses, IntegerHierarchy):
    """Prefixes of IPv4 addresses, `step` bits longer at each level.

    Keys are text of four decimal numbers without leading zeros, whole numbers below 2^32, or four bytes in
    network order (binary of width 4).

    >>> hierarchy = Ipv4(8)
    >>> leaves = hierarchy.leaves(pa.array(["10.1.2.3", "10.01.2.3"]))
    >>> leaves.to_pylist(), hierarchy.labels(leaves[:1], [2]).to_pylist()
    ([167838211, None], ['10.1.0.0/16'])
    """

    step: int = 8
    form = "ipv4"
    bits = 32
    steps = (8, 4, 1)

    @property
    def shifts(self) -> Words:
        """How many bits are cleared at each level."""
        return np.arange(self.bits, -1, -self.step, dtype=np.int64).astype(np.uint64)

    def _read(self, keys: pa.Array) -> pa.Array:
        """Return addresses as numbers; null if a key is none."""
        if pa.types.is_integer(keys.type):
            numbers = keys.fill_null(0).to_numpy(zero_copy_only=False)
            good = (numbers >= 0) & (numbers < 1 << self.bits)
            return integer_leaves(numbers, good, keys)
        read = checked_octets(keys, self.name, "text, whole numbers or four bytes")
        if keys.type == pa.binary(4):
            data = read.data[int(read.offsets[0]) : int(read.offsets[-1])]
            packed = np.frombuffer(data.tobytes(), ">u4").astype(np.int64)
            return integer_leaves(packed, packed >= 0, keys)
        parsed = parse_ipv4(read.data, read.offsets)
        return integer_leaves(parsed, parsed >= 0, keys)


@dataclass(frozen=True, slots=True)
class Ipv6(Addresses):
    """Prefixes of IPv6 addresses, `step` bits longer at each level.

    Keys are text in any of the usual forms (a double colon, a dotted IPv4 address at the end, either case;
    no zone), or 16 bytes in network order (binary of width 16).

    >>> hierarchy = Ipv6(16)
    >>> leaves = hierarchy.leaves(pa.array(["2001:DB8::1"]))
    >>> hierarchy.labels(leaves.take([0, 0]), [2, 8]).to_pylist()
    ['2001:db8::/32', '2001:db8::1']
    """

    step: int = 16
    form = "ipv6"
    bits = 128
    steps = (16, 8, 4)

    @property
    def leaf_type(self) -> pa.DataType:
        """Addresses are 16 bytes."""
        return LEAF

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return the prefixes of addresses at one level, as their lowest addresses."""
        kept = np.packbits(np.arange(self.bits) < level * self.step)
        return _array(_rows(leaves, WIDTH) & kept, None)

    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        """Compare the bits of addresses with the ones before them."""
        levels: Levels = shared_bits(_rows(leaves, WIDTH), _row(before, WIDTH), self.step)
        return levels

    def _read(self, keys: pa.Array) -> pa.Array:
        """Return addresses as bytes; null if a key is none."""
        if keys.type == LEAF:
            return keys
        read = checked_octets(keys, self.name, "text or 16 bytes")
        leaves, good = parse_ipv6(read.data, read.offsets)
        return _array(leaves, good & keys.is_valid().to_numpy(zero_copy_only=False))


@dataclass(frozen=True, slots=True)
class Ip(Addresses):
    """Prefixes of IPv4 and of IPv6 addresses below one root.

    A level is `step` bits of an IPv4 address, and four times as many of an IPv6 address, so that both have
    the same height: ip/8 has 10.0.0.0/8 and 2001:db8::/32 at level 1, 10.1.0.0/16 and 2001:db8:0:1::/64 at
    level 2, and whole addresses at level 4. An IPv6 address that stands for one of IPv4 (::ffff:10.0.0.1) is
    counted as that one.

    Keys are text of either kind, or 4 or 16 bytes in network order (binary of that width). Whole numbers are
    refused, because they do not tell which kind they are.

    >>> hierarchy = Ip(8)
    >>> leaves = hierarchy.leaves(pa.array(["10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3"]))
    >>> hierarchy.labels(leaves, [2, 2, 4]).to_pylist()
    ['10.1.0.0/16', '2001:db8::/64', '10.1.2.3']
    """

    step: int = 8
    form = "ip"
    bits = 32
    steps = (8, 4, 1)

    @property
    def leaf_type(self) -> pa.DataType:
        """The version, 4 or 6, and 16 bytes."""
        return VERSIONED

    def possible(self, level: int) -> int:
        """Return how many prefixes of both lengths there are at most."""
        return (1 << level * self.step) + (1 << 4 * level * self.step) if level else 1

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return the prefixes of addresses at one level, as their lowest addresses; the root is zeros."""
        kept = np.packbits(np.arange(8 * WIDTH + 8) < (8 + 4 * level * self.step if level else 0))
        return _array(_rows(leaves, WIDTH + 1) & kept, None)

    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        """Compare the versions, and then the bits, of addresses with the ones before them."""
        common: Levels = shared_bits(_rows(leaves, WIDTH + 1), _row(before, WIDTH + 1), 1)
        return np.maximum((common - 8) // (4 * self.step), 0).astype(np.int16)

    def _read(self, keys: pa.Array) -> pa.Array:
        """Return versions and addresses as bytes; null if a key is none."""
        valid = keys.is_valid().to_numpy(zero_copy_only=False)
        if keys.type in (pa.binary(4), LEAF):
            return _array(packed_either(_rows(keys, keys.type.byte_width)), valid)
        read = checked_octets(keys, self.name, "text, or 4 or 16 bytes")
        leaves, good = parse_either(read.data, read.offsets)
        return _array(leaves, good & valid)

    def _label(self, leaf: int | bytes, level: int) -> str:
        """Return a prefix such as 10.0.0.0/8 or 2001:db8::/32; a whole address without its length."""
        assert isinstance(leaf, bytes)
        address: IPv4Address | IPv6Address = IPv6Address(leaf[1:])
        if leaf[0] == 4:
            # Every fourth bit is one of the address.
            address = IPv4Address(int(f"{int(address):0128b}"[::4], 2))
        length = level * address.max_prefixlen // self.height
        below = address.max_prefixlen - length
        lowest = type(address)(int(address) >> below << below)
        return str(lowest) if not below else f"{lowest}/{length}"


def _row(before: pa.Scalar | None, width: int) -> Octets:
    """Return the bytes of a leaf, zeros if there is none."""
    return np.frombuffer(bytes(width) if before is None else before.as_py(), np.uint8)


def _rows(leaves: pa.Array, width: int) -> Octets:
    """Return the bytes of an array, so many in each row."""
    if not len(leaves):
        return np.empty((0, width), np.uint8)
    start = leaves.offset * width
    data = np.frombuffer(leaves.buffers()[1], np.uint8, len(leaves) * width, start)
    return data.reshape(-1, width)


def _array(rows: Octets, good: Mask | None) -> pa.Array:
    """Return rows of bytes as an array, null if a row is not good."""
    valid = None if good is None else pa.array(good).buffers()[1]
    buffers = [valid, pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(pa.binary(rows.shape[1]), len(rows), buffers)
