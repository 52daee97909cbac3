"""Domain names, paths, and rows of several columns."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.hierarchies._kernels.components import DOMAIN, PATH, ROW
from hushcount.hierarchies.base import check_depth
from hushcount.hierarchies.components import ComponentHierarchy, TextReader, as_bytes, without_reserved

DEPTH = 4
ROW_SEPARATOR = " > "


def domain(depth: int = DEPTH) -> ComponentHierarchy:
    """Domain names from the right: com, com.example, com.example.www.

    ASCII letters are in lower case and one dot at the end is dropped; names with more parts are cut to the
    `depth` rightmost. Malformed are empty parts, blanks, control characters, marks of a URL (/:@?#[] and the
    backslash), and a last part of digits alone, as an IPv4 address has.

    >>> hierarchy = domain(3)
    >>> leaves = hierarchy.leaves(pa.array(["WWW.Example.com", "example.com"]))
    >>> hierarchy.labels(leaves, [3, 3]).to_pylist()
    ['com.example.www', 'com.example.·']
    """
    check_depth("domain", depth)
    name = f"domain/{depth}"
    return ComponentHierarchy(name, depth, TextReader(name, DOMAIN, depth), ".")


def path(depth: int = DEPTH) -> ComponentHierarchy:
    """Paths of files and URLs from the left: the host (of a URL), then one component after the other.

    Of a URL the scheme, the user before an @, the query and the fragment are dropped, and the host is in
    lower case; a query is dropped of all paths. The slash at the start of a path is part of its first
    component; empty components are dropped and . and .. stay as they are. Deeper paths are cut to `depth`
    components. Malformed are empty paths and those with a zero byte or the byte 0xff, which UTF-8 never has.

    >>> hierarchy = path(3)
    >>> leaves = hierarchy.leaves(pa.array(["https://Example.com/a/b/c?q=1", "/usr/lib"]))
    >>> hierarchy.labels(leaves, [3, 3]).to_pylist()
    ['example.com/a/b', '/usr/lib/·']
    """
    check_depth("path", depth)
    name = f"path/{depth}"
    return ComponentHierarchy(name, depth, TextReader(name, PATH, depth), "/")


def columns(names: Sequence[str]) -> ComponentHierarchy:
    """Return the hierarchy of several columns, the most general first: of one value, of two, and so on.

    Keys are those of a source of these columns in this order; a null is padded. Values that are not text are
    shown as whole numbers, a date as its days since 1970; those of one column alone as their text. Malformed
    are values with a zero byte, or of the byte 0xff alone.

    >>> from hushcount.keys.composite import encode
    >>> hierarchy = columns(["country", "region"])
    >>> leaves = hierarchy.leaves(encode([pa.array(["de"]), pa.array(["Hesse"])]))
    >>> hierarchy.labels(leaves, [2]).to_pylist()
    ['de > Hesse']
    """
    if not names or not all(names) or len(set(names)) < len(names):
        raise ParameterError(f"columns must be a list of different names, got {','.join(names)!r}.")
    name = "columns:" + ",".join(names)
    reader = TextReader(name, ROW, len(names)) if len(names) > 1 else _one_column
    return ComponentHierarchy(name, len(names), reader, ROW_SEPARATOR)


def _one_column(keys: pa.Array) -> pa.Array:
    return without_reserved(as_bytes(keys))
