"""Hierarchies that somebody else knows: a table of parents, or a Python function from a key to its parent."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hushcount.errors import DataError, HushcountError, ParameterError
from hushcount.files.failures import attempt
from hushcount.hierarchies.base import LARGEST_HEIGHT, ROOT, check_depth
from hushcount.hierarchies.components import ComponentHierarchy, as_bytes, is_component, joined
from hushcount.hierarchies.names import ROW_SEPARATOR

if TYPE_CHECKING:
    Parents = Mapping[str, str | None]

HEADER = ["child", "parent"]


def parent_table(path: str | Path, height: int | None = None) -> ComponentHierarchy:
    """A hierarchy from a CSV file with the columns child and parent.

    A parent that is empty or * is the root, and so is that of a parent without a line of its own. The height
    is that of the deepest node, or what is asked for, if no node is deeper. A key is any node of the table;
    one that is not at the bottom is padded. Malformed are keys that are not in the table.
    """
    name = f"parents:{Path(path).name}"
    chains = dict(_chains(_read(Path(path)), name))
    deepest = max(map(len, chains.values()))
    if height is not None and check_depth("parents", height) < deepest:
        raise ParameterError(f"height must be at least {deepest} for hierarchy {name}, got {height}.")
    height = check_depth("parents", deepest) if height is None else height
    leaves = [joined([part.encode() for part in chain], height) for chain in chains.values()]
    names = pa.array([node.encode() for node in chains], pa.binary())
    return ComponentHierarchy(name, height, TableReader(names, pa.array(leaves, pa.binary())), ROW_SEPARATOR)


@dataclass(frozen=True, slots=True, eq=False)
class TableReader:
    """Looks up the leaf of every node of a parent table."""

    names: pa.Array
    leaves: pa.Array

    def __call__(self, keys: pa.Array) -> pa.Array:
        """The leaves of keys; null where a key is not in the table."""
        return self.leaves.take(pc.index_in(as_bytes(keys), value_set=self.names))


def _read(path: Path) -> Parents:
    """Child to parent, None for the root."""
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
            raise ParameterError(f"Parent table {name} must have one parent a child, not so in row {line}.")
        found[child] = parent
    if not found:
        raise ParameterError(f"Parent table {name} must have a row.")
    return found


def _chains(parents: Parents, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every node with its way down from the root, itself included."""
    for node in dict.fromkeys([*parents, *(parent for parent in parents.values() if parent is not None)]):
        chain = [node]
        while (parent := parents.get(chain[-1])) is not None:
            if parent in chain:
                raise ParameterError(f"Hierarchy {name} must have no cycle.")
            chain.append(parent)
            if len(chain) > LARGEST_HEIGHT:
                raise ParameterError(f"Hierarchy {name} must not be higher than {LARGEST_HEIGHT}.")
        yield node, tuple(reversed(chain))


def parent_function(parent: Callable[[Any], Any], height: int) -> ComponentHierarchy:
    """A hierarchy from a Python function: the parent of a key or node, None for a node below the root.

    It must depend on its argument alone. It is called once for every distinct key of a batch and for each of
    its ancestors. A key with fewer than `height` - 1 ancestors is padded. Malformed are keys with more, and
    those for which the function raises ValueError or LookupError.

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

    parent: Callable[[Any], Any]
    height: int

    def __call__(self, keys: pa.Array) -> pa.Array:
        """The leaves of keys; null where a key is malformed."""
        distinct = keys.dictionary_encode()
        values = attempt(_not_python, _python_values, distinct.dictionary)
        leaves = [self._leaf(key) for key in values]
        return pa.array(leaves, pa.binary()).take(distinct.indices)

    def _leaf(self, key: Any) -> bytes | None:
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

    def _above(self, node: Any) -> Any:
        """The parent; what the function raises may quote the key, so only its kind goes further."""
        try:
            return self.parent(node)
        except (ValueError, LookupError):
            raise
        except Exception as error:
            failure = DataError(f"The function of the hierarchy failed with {type(error).__name__}.")
        raise failure


def _python_values(keys: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(keys.type) and keys.type.unit == "ns":  # Python has no nanoseconds
        keys = keys.cast(pa.timestamp("us", keys.type.tz), safe=False)
    return list(keys.to_pylist())


def _not_python(error: Exception) -> HushcountError:
    return DataError("The data have keys beyond what Python can hold; cast them to text first.")


def _component(node: Any) -> bytes:
    if isinstance(node, bytes):
        return node
    if isinstance(node, str | int | date):
        return str(node).encode("utf-8", "surrogatepass")
    kind = type(node).__name__
    raise DataError(
        f"The function of the hierarchy must return text, bytes, a whole number or None, got {kind}."
    )
