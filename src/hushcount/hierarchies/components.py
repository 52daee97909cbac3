"""Hierarchies of domain names, paths and rows of several columns.

Their leaves are components, the most general first, with a zero byte between them.

Every leaf has as many components as the hierarchy has levels: PADDING stands for each one that its key lacks,
and no key has it as a component of its own. A node is the first components of its leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.late import late
from hushcount.errors import ParameterError
from hushcount.hierarchies.base import (
    MARKER,
    ROOT,
    Hierarchy,
    check_depth,
    checked_octets,
    octets,
    takes_bytes,
)
from hushcount.keys.arrays import ByteKeys, from_kernel

if TYPE_CHECKING:
    from hushcount.hierarchies.base import Levels

kernels = late("hushcount.hierarchies._kernels.components")
of_levels = late("hushcount.hierarchies._kernels.levels")

DEPTH = 4
ROW_SEPARATOR = " > "
BETWEEN = b"\x00"
PADDING = b"\xff"


@dataclass(frozen=True, slots=True)
class ComponentHierarchy(Hierarchy):
    """A hierarchy of components; `reader` turns keys into leaves, null if a key is malformed.

    A label has `separator` between the components, and a marker for each missing one. What could be mistaken
    for something else has a backslash before it. `known` are all leaves there can be, if they are listed.
    """

    name: str = field()  # without field(), the property of Hierarchy would be its default
    height: int = field()
    reader: Callable[[pa.Array], pa.Array]
    separator: str
    known: pa.Array | None = field(default=None, compare=False)

    def known_leaves(self) -> pa.Array | None:
        """Return all leaves there can be, if they are listed."""
        return self.known

    @property
    def leaf_type(self) -> pa.DataType:
        """Leaves are bytes."""
        return pa.binary()

    def nodes(self, leaves: pa.Array, level: int) -> pa.Array:
        """Return the first components of leaves."""
        read = octets(leaves)
        data, ends = of_levels.cut_components(read.data, read.offsets, level)
        return from_kernel(ByteKeys(data, ends.view(np.uint64)), pa.binary())

    def _read(self, keys: pa.Array) -> pa.Array:
        """Return the components of keys."""
        return self.reader(keys)

    def _shared(self, leaves: pa.Array, before: pa.Scalar | None) -> Levels:
        """Count the components that leaves have in common with the ones before them."""
        read = octets(leaves)
        first = np.array(bytearray(b"" if before is None else before.as_py()), np.uint8)
        levels: Levels = of_levels.shared_components(read.data, read.offsets, first)
        return levels

    def _label(self, leaf: int | bytes, level: int) -> str:
        """Return components with the separator between them."""
        assert isinstance(leaf, bytes)
        first, *others = leaf.split(BETWEEN)[:level]
        shown = [_shown(part, self.separator, (MARKER,)) for part in others]
        return self.separator.join([_shown(first, self.separator, (MARKER, ROOT)), *shown])


def _shown(part: bytes, separator: str, reserved: tuple[str, ...]) -> str:
    """Return a component as text from which it could be read back, whatever it is."""
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
        """Return the leaves of keys; null if one is malformed."""
        read = checked_octets(keys, self.name, "text")
        data, ends, good = kernels.components(self.form, read.data, read.offsets, self.depth)
        if keys.null_count:
            good &= keys.is_valid().to_numpy(zero_copy_only=False)
        valid = None if good.all() else pa.array(good).buffers()[1]
        buffers = [valid, pa.py_buffer(ends), pa.py_buffer(data[: ends[-1]])]
        return pa.Array.from_buffers(pa.large_binary(), len(good), buffers).cast(pa.binary())


def as_bytes(keys: pa.Array) -> pa.Array:
    """Return keys of any type as the bytes of their text; bytes as they are.

    >>> as_bytes(pa.array([10, None])).to_pylist()
    [b'10', None]
    """
    return keys.cast(pa.binary()) if takes_bytes(keys.type) else keys.cast(pa.string()).cast(pa.binary())


def is_component(part: bytes) -> bool:
    """Return whether bytes can be a component."""
    return BETWEEN not in part and part != PADDING


def joined(parts: Sequence[bytes], height: int) -> bytes:
    """Return one leaf of components from the top down, padded to the height."""
    return BETWEEN.join([*parts, *[PADDING] * (height - len(parts))])


def domain(depth: int = DEPTH) -> ComponentHierarchy:
    """Return the hierarchy of domain names from the right: com, com.example, com.example.www.

    ASCII letters are in lower case and one dot at the end is dropped; names with more parts are cut to the
    `depth` rightmost. Malformed are empty parts, blanks, control characters, marks of a URL (/:@?#[] and the
    backslash), and a last part of digits alone, as an IPv4 address has.

    >>> hierarchy = domain(3)
    >>> leaves = hierarchy.leaves(pa.array(["WWW.Example.com", "example.com"]))
    >>> hierarchy.labels(leaves, [3, 3]).to_pylist()
    ['com.example.www', 'com.example.·']
    """
    return _of_text("domain", kernels.DOMAIN, depth, ".")


def path(depth: int = DEPTH) -> ComponentHierarchy:
    """Return the hierarchy of paths from the left: the host (of a URL), then one component after the other.

    Of a URL the scheme, the user before an @, the query and the fragment are dropped, and the host is in
    lower case; a query is dropped of all paths. The slash at the start of a path is part of its first
    component; empty components are dropped and . and .. stay as they are. Deeper paths are cut to `depth`
    components. Malformed are empty paths and those with a zero byte or the byte 0xff, which UTF-8 never has.

    >>> hierarchy = path(3)
    >>> leaves = hierarchy.leaves(pa.array(["https://Example.com/a/b/c?q=1", "/usr/lib"]))
    >>> hierarchy.labels(leaves, [3, 3]).to_pylist()
    ['example.com/a/b', '/usr/lib/·']
    """
    return _of_text("path", kernels.PATH, depth, "/")


def _of_text(what: str, form: int, depth: int, separator: str) -> ComponentHierarchy:
    """Return the hierarchy of texts in one of the forms that the kernel knows."""
    name = f"{what}/{check_depth(what, depth)}"
    return ComponentHierarchy(name, depth, TextReader(name, form, depth), separator)


def columns(names: str | Sequence[str]) -> ComponentHierarchy:
    """Return the hierarchy of several columns, the most general first: of one value, of two, and so on.

    Names are a list, or one text with commas between them.

    Keys are those of a source of these columns in this order; a null is padded. Values that are not text are
    shown as whole numbers, a date as its days since 1970; those of one column alone as their text. Malformed
    are values with a zero byte, or of the byte 0xff alone.

    >>> from hushcount.keys.arrays import encode_rows
    >>> hierarchy = columns(["country", "region"])
    >>> leaves = hierarchy.leaves(encode_rows([pa.array(["de"]), pa.array(["Hesse"])]))
    >>> hierarchy.labels(leaves, [2]).to_pylist()
    ['de > Hesse']
    """
    names = names.split(",") if isinstance(names, str) else names
    if not names or not all(names) or len(set(names)) < len(names):
        raise ParameterError(f"columns must be a list of different names, got {','.join(names)!r}.")
    name = "columns:" + ",".join(names)
    reader = TextReader(name, kernels.ROW, len(names)) if len(names) > 1 else _one_column
    return ComponentHierarchy(name, len(names), reader, ROW_SEPARATOR)


def _one_column(keys: pa.Array) -> pa.Array:
    """Return the values of one column as components, null if one could be mistaken for several or padding."""
    values = as_bytes(keys)
    several = pc.greater_equal(pc.find_substring(values, BETWEEN), 0)
    bad = pc.or_(several, pc.equal(values, pa.scalar(PADDING, pa.binary())))
    return pc.if_else(bad, pa.scalar(None, pa.binary()), values)
