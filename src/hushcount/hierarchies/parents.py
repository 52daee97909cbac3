"""Hierarchies that somebody else knows: a table of parents, or a Python function from a key to its parent."""

from __future__ import annotations

import csv
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt
from hushcount.hierarchies.base import LARGEST_HEIGHT, ROOT, check_depth
from hushcount.hierarchies.components import (
    BETWEEN,
    ROW_SEPARATOR,
    ComponentHierarchy,
    as_bytes,
    is_component,
    joined,
)

if TYPE_CHECKING:
    Parents = Mapping[str, str | None]

HEADER = ["child", "parent"]
LARGEST_TABLE = 1 << 27


def parent_table(path: str | Path, height: int | None = None) -> ComponentHierarchy:
    """Return a hierarchy from a CSV file with the columns child and parent.

    A key is any node of the table; keys that are not in it are malformed.

    Parameters
    ----------
    path : path
        The file. A parent that is empty or * is the root, and so is that of a parent without a row of its
        own. All nodes with their ancestors take at most 128 MiB.
    height : int, optional
        The number of levels, at least that of the deepest node, which is the default. Nodes that are higher
        up are padded.
    """
    name = f"parents:{Path(path).name}"
    ways = _ways(_read(Path(path)), name)
    depths = [1 + way.count(BETWEEN) for way in ways.values()]
    deepest = max(depths)
    if height is not None and check_depth("parents", height) < deepest:
        raise ParameterError(f"height must be at least {deepest} for hierarchy {name}, got {height}.")
    height = check_depth("parents", deepest) if height is None else height
    _check_size(sum(map(len, ways.values())) + 2 * sum(height - depth for depth in depths), name)
    names = pa.array([node.encode() for node in ways], pa.binary())
    leaves = pa.array([joined(way.split(BETWEEN), height) for way in ways.values()], pa.binary())
    return ComponentHierarchy(name, height, partial(_looked_up, names, leaves), ROW_SEPARATOR, leaves)


def _looked_up(names: pa.Array, leaves: pa.Array, keys: pa.Array) -> pa.Array:
    """Return the leaves of keys that are nodes of a parent table; null if a key is not in it."""
    return leaves.take(pc.index_in(as_bytes(keys), value_set=names))


def _read(path: Path) -> Parents:
    """Return the parent of every child, None for the root."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _parents(csv.reader(file, strict=True), path.name)
    except HushcountError:
        raise
    except OSError:
        failure = ParameterError(f"Parent table {path.name} cannot be read.")
    except (UnicodeError, csv.Error):
        failure = ParameterError(f"Parent table {path.name} is not CSV in UTF-8.")
    raise failure


def _parents(rows: Iterator[list[str]], name: str) -> Parents:
    """Return the parent of every child in the rows of a table, or raise if a row is malformed."""
    if [field.strip() for field in next(rows, [])] != HEADER:
        raise ParameterError(f"Parent table {name} must begin with the line child,parent.")
    found: dict[str, str | None] = {}
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != 2 or row[0] in ("", ROOT) or not all(is_component(field.encode()) for field in row):
            raise ParameterError(f"Parent table {name} must have a child and a parent in row {line}.")
        child, parent = row[0], None if row[1] in ("", ROOT) else row[1]
        if child in found and found[child] != parent:
            raise ParameterError(f"Parent table {name} names a second parent for a child in row {line}.")
        found[child] = parent
    if not found:
        raise ParameterError(f"Parent table {name} must have a row.")
    return found


def _ways(parents: Parents, name: str) -> dict[str, bytes]:
    """Return every node after all its ancestors, or raise if there is a cycle or they are too large."""
    found: dict[str, bytes] = {}
    octets = 0
    for node in chain(parents, filter(None, parents.values())):
        fresh = list(islice(_upwards(parents, node, found), LARGEST_HEIGHT + 1))
        if len(set(fresh)) < len(fresh):
            raise ParameterError(f"Hierarchy {name} must have no cycle.")
        for below in reversed(fresh):
            above = [found[parent]] if (parent := parents.get(below)) in found else []
            found[below] = BETWEEN.join([*above, below.encode()])
            if found[below].count(BETWEEN) >= LARGEST_HEIGHT or len(fresh) > LARGEST_HEIGHT:
                raise ParameterError(f"Hierarchy {name} must not be higher than {LARGEST_HEIGHT}.")
            octets += len(found[below])
            _check_size(octets, name)
    return found


def _upwards(parents: Parents, node: str | None, known: Container[str]) -> Iterator[str]:
    """Yield a node and its ancestors up to the first that is known, for ever if there is a cycle."""
    while node is not None and node not in known:
        yield node
        node = parents.get(node)


def _check_size(octets: int, name: str) -> None:
    """Raise if all nodes with their ancestors take too much memory."""
    if octets > LARGEST_TABLE:
        raise ParameterError(
            f"Hierarchy {name} is too large: its nodes with all their ancestors take more than"
            f" {LARGEST_TABLE} bytes. Use fewer levels or shorter names."
        )


def parent_function(parent: Callable[[object], object], height: int) -> ComponentHierarchy:
    """Return a hierarchy from a Python function.

    Parameters
    ----------
    parent : callable
        Returns the parent of a key or node, None for a node just below the root. It must depend on its
        argument alone. It is called once for every distinct key of a batch and for each of its ancestors.
        Keys for which it raises ValueError or LookupError are malformed.
    height : int
        The number of levels. Keys with fewer ancestors are padded; those with more are malformed.

    >>> hierarchy = parent_function(lambda code: code[:-1] or None, height=3)
    >>> leaves = hierarchy.leaves(pa.array(["I21", "J4", "K99.9"]))
    >>> hierarchy.labels(leaves.drop_null(), [3, 3]).to_pylist()
    ['I > I2 > I21', 'J > J4 > ·']
    """
    if not callable(parent):
        raise ParameterError(f"hierarchy must be a name or a function, got {type(parent).__name__}.")
    check_depth("hierarchy", height)
    return ComponentHierarchy("function", height, FunctionReader(parent, height), ROW_SEPARATOR)


@dataclass(frozen=True, slots=True)
class FunctionReader:
    """Asks a function for the ancestors of every distinct key."""

    parent: Callable[[object], object]
    height: int

    def __call__(self, keys: pa.Array) -> pa.Array:
        """Return the leaves of keys; null if a key is malformed."""
        distinct = keys.dictionary_encode()
        values = attempt(_not_python, _python_values, distinct.dictionary)
        leaves = [self._leaf(key) for key in values]
        return pa.array(leaves, pa.binary()).take(distinct.indices)

    def _leaf(self, key: object) -> bytes | None:
        """Return the leaf of a key, or None if it is malformed."""
        parts: list[bytes] = []
        node = key
        while node is not None:
            parts.append(_component(node))
            if len(parts) > self.height or not is_component(parts[-1]):
                return None
            try:
                node = self._above(node)
            except (ValueError, LookupError):
                return None
        return joined(parts[::-1], self.height)

    def _above(self, node: object) -> object:
        """Return the parent; what the function raises may quote the key, so only its type is passed on."""
        try:
            return self.parent(node)
        except (ValueError, LookupError):
            raise
        except Exception as error:
            failure = DataError(f"The function of the hierarchy failed with {type(error).__name__}.")
        raise failure


def _python_values(keys: pa.Array) -> list[object]:
    """Return keys as Python values."""
    if pa.types.is_timestamp(keys.type) and keys.type.unit == "ns":  # Python has no nanoseconds
        keys = keys.cast(pa.timestamp("us", keys.type.tz), safe=False)
    return list(keys.to_pylist())


def _not_python(error: Exception) -> HushcountError:
    """Say that keys cannot be Python values."""
    return DataError("The data have keys beyond what Python can hold; cast them to text first.")


def _component(node: object) -> bytes:
    """Return a node that a function returned as a component, or raise."""
    if isinstance(node, bytes):
        return node
    if isinstance(node, str | int | date):
        return str(node).encode("utf-8", "surrogatepass")
    kind = type(node).__name__
    raise DataError(
        f"The function of the hierarchy must return text, bytes, a whole number or None, got {kind}."
    )
