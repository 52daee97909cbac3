"""Leaves that are components, the most general first, with a zero byte between them.

Every leaf has as many components as the hierarchy has levels: PADDING stands for each that its key lacks,
and no key has it as a component of its own. A node is the first components of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.hierarchies._kernels.components import components
from hushcount.hierarchies._kernels.levels import cut_components, shared_components
from hushcount.hierarchies.base import MARKER, ROOT, by_value, octets, takes_bytes, wrong_type
from hushcount.keys.arrays import ByteKeys, from_kernel

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Mask
    from hushcount.hierarchies.base import Levels

BETWEEN = b"\x00"
PADDING = b"\xff"


@dataclass(frozen=True, slots=True)
class ComponentHierarchy:
    """A hierarchy of components; `reader` turns keys into leaves, null where a key is malformed.

    In a label the components stand with `separator` between them, and a marker for each missing one. What
    could be mistaken for something else has a backslash before it.
    """

    name: str
    height: int
    reader: Callable[[pa.Array], pa.Array]
    separator: str

    @property
    def leaf_type(self) -> pa.DataType:
        """Leaves are bytes."""
        return pa.binary()

    def leaves(self, keys: pa.Array) -> pa.Array:
        """The components of keys; null where a key is malformed."""
        return by_value(keys, self.reader)

    def shared(self, leaves: pa.Array, before: pa.Scalar | None = None) -> Levels:
        """How many components each sorted leaf has in common with the one before it."""
        read = octets(leaves)
        first = np.array(bytearray(b"" if before is None else before.as_py()), np.uint8)
        levels: Levels = shared_components(read.data, read.offsets, first)
        if before is None:
            levels[:1] = -1
        return levels

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """The first components of leaves."""
        read = octets(leaves)
        data, ends = cut_components(read.data, read.offsets, level)
        return from_kernel(ByteKeys(data, ends.view(np.uint64)), pa.binary())

    def labels(self, leaves: pa.Array, levels: Sequence[int] | Levels) -> pa.Array:
        """Components with the separator between them; the root is a star."""
        pairs = zip(leaves.to_pylist(), levels, strict=True)
        return pa.array([self._label(leaf, int(level)) for leaf, level in pairs], pa.string())

    def _label(self, leaf: bytes, level: int) -> str:
        if level == 0:
            return ROOT
        first, *others = leaf.split(BETWEEN)[:level]
        shown = [_shown(part, self.separator, (MARKER,)) for part in others]
        return self.separator.join([_shown(first, self.separator, (MARKER, ROOT)), *shown])


def _shown(part: bytes, separator: str, reserved: tuple[str, ...]) -> str:
    """A component as text from which it could be read back, whatever it is."""
    if part == PADDING:
        return MARKER
    text = part.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    if text in reserved:
        return "\\" + text
    return text.replace(">", "\\>") if ">" in separator else text


@dataclass(frozen=True, slots=True)
class TextReader:
    """Reads the components of text or bytes in one of the forms that the kernel knows."""

    name: str
    form: int
    depth: int

    def __call__(self, keys: pa.Array) -> pa.Array:
        """The leaves of keys; null where one is malformed."""
        if not takes_bytes(keys.type):
            raise wrong_type(self.name, "text", keys.type)
        read = octets(keys)
        data, ends, good = components(self.form, read.data, read.offsets, self.depth)
        if keys.null_count:
            good &= keys.is_valid().to_numpy(zero_copy_only=False)
        return _array(data, ends, good)


def _array(data: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], good: Mask) -> pa.Array:
    valid = None if good.all() else pa.array(good).buffers()[1]
    buffers = [valid, pa.py_buffer(ends), pa.py_buffer(data[: ends[-1]])]
    return pa.Array.from_buffers(pa.large_binary(), len(good), buffers).cast(pa.binary())


def as_bytes(keys: pa.Array) -> pa.Array:
    """Keys of any type as the bytes of their text; bytes as they are.

    >>> as_bytes(pa.array([10, None])).to_pylist()
    [b'10', None]
    """
    return keys.cast(pa.binary()) if takes_bytes(keys.type) else keys.cast(pa.string()).cast(pa.binary())


def without_reserved(components_of_one: pa.Array) -> pa.Array:
    """Single components, null where one holds the byte between components or is the padding."""
    bad = pc.or_(
        pc.greater_equal(pc.find_substring(components_of_one, BETWEEN), 0),
        pc.equal(components_of_one, pa.scalar(PADDING, pa.binary())),
    )
    return pc.if_else(bad, pa.scalar(None, pa.binary()), components_of_one)


def is_component(part: bytes) -> bool:
    """Whether bytes can be a component."""
    return BETWEEN not in part and part != PADDING


def joined(parts: Sequence[bytes], height: int) -> bytes:
    """One leaf of components from the top down, padded to the height."""
    return BETWEEN.join([*parts, *[PADDING] * (height - len(parts))])
