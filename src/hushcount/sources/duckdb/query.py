"""What a SQL query reads: the files it names, found in its parsed form, which has no spaces or comments."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hushcount.errors import DataError, ParameterError
from hushcount.sources.formats.inputs import RegularFile, Stamp
from hushcount.sources.formats.paths import distinct, without_cycles

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
_PLACES = ("query_location", "query_location_length")
# Lists and structures of values that stand in the query.
_WRITTEN_OUT = {"list_value", "struct_pack", "row", "map"}


def parsed(connection: DuckDBPyConnection, query: str) -> Json:
    """Return the query as DuckDB has parsed it, without the places of its words."""
    row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    return _without_places(json.loads(row[0])) if row is not None else None


def files_of(tree: Json) -> tuple[RegularFile, ...]:
    """Return the files that a parsed query names; raise where one of them would be read twice.

    Any text of the query that is the name of a file, or a pattern that matches some, counts as read.
    """
    names: dict[str, None] = {}
    for text in _texts(tree):
        if glob.has_magic(text):
            names.update(dict.fromkeys(_matches(text)))
        elif os.path.isfile(text):
            names[text] = None
    return tuple(RegularFile(name, name, Stamp.of(name)) for name in names)


def _matches(pattern: str) -> list[str]:
    """Return the files that a pattern matches, each under one name."""
    found = without_cycles(glob.iglob(pattern, recursive=True))
    names = [name for name in found if os.path.isfile(name)]
    if len(distinct(names)) < len(names):
        raise DataError(
            f"{pattern} in the SQL query matches several links to one file, whose rows would count twice;"
            " remove the links or name the files."
        )
    return names


def _without_places(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {name: _without_places(value) for name, value in tree.items() if name not in _PLACES}
    return [_without_places(value) for value in tree] if isinstance(tree, list) else tree


def _texts(tree: Json) -> Iterator[str]:
    """Yield all text in a parsed query; raise if it computes the name of a file."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)
    elif isinstance(tree, dict):
        if tree.get("type") == "TABLE_FUNCTION":
            _check_written_out(tree.get("function"))
        yield from _texts(list(tree.values()))


def _check_written_out(function: Json) -> None:
    """Raise if a function that reads files takes values that the query computes, such as their names."""
    reader, *others = _functions(function)
    if reader.startswith("read_") and not set(others) <= _WRITTEN_OUT:
        raise ParameterError("The SQL query must name its files in full, not compute their names.")


def _functions(tree: Json) -> list[str]:
    """Return the functions that are called in a part of a query, the outermost first."""
    if isinstance(tree, list):
        return [name for value in tree for name in _functions(value)]
    if not isinstance(tree, dict):
        return []
    own = [str(tree["function_name"])] if "function_name" in tree else []
    return own + _functions(list(tree.values()))
