"""What a SQL query reads, found and fixed in its parsed form.

Left to itself, DuckDB guesses the quotes, header and types of CSV, the fields and types of JSON and the types
of partition folders from whatever it finds there, so that one row changes how the others are read. Here each
reading function gets the options that end the guessing. Where they do not suffice, the query must state its
columns itself. `FROM 'a.csv'` is read like the file itself: the columns of its header, all of them text.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import identity
from hushcount.files.fingerprint import digest
from hushcount.sources.formats.inputs import RegularFile, Stamp, file_input
from hushcount.sources.formats.paths import without_cycles
from hushcount.sources.formats.registry import FORMATS, ending_format
from hushcount.stores.duckdb import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Node = dict[str, Any]  # a part of a parsed query, of whatever version of DuckDB
_PLACES = ("query_location", "query_location_length")
_WRITTEN_OUT = {"list_value", "struct_pack", "row", "map"}  # values that stand in the query
_FOLDERS = {"hive_types_autocast": "false", "hive_partitioning": "false"}
_CSV = {"auto_detect": "false", **_FOLDERS}
_LINES = {"format": "'newline_delimited'", **_FOLDERS}
_JSON = {"auto_detect": "false", "records": "'true'", **_LINES}
# The functions that read files, each with the options that end its guesses.
_READERS = {
    **dict.fromkeys(("read_csv", "read_csv_auto"), _CSV),
    **dict.fromkeys(("read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"), _JSON),
    **dict.fromkeys(("read_json_objects", "read_json_objects_auto"), _LINES),
    **dict.fromkeys(("read_ndjson_objects", "read_parquet", "parquet_scan"), _FOLDERS),
    "read_text": {},
    "read_blob": {},
}
_FORCED = ("auto_detect", "hive_types_autocast")  # whatever the query says of them
_NO_READERS = {"range", "generate_series", "unnest", "repeat", "json_each", "json_tree"}
# `FROM 'a.csv'` is read in the dialect of a CSV file that is counted without a query.
_DIALECT = "header = true, quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false"
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_JSON_NAME = re.compile(r"\.(json|jsonl|ndjson)(\.gz|\.zst)?", re.IGNORECASE)
MISSING = "The SQL query reads a file that does not exist or cannot be read."
_WAYS_OUT = {
    "csv": "Name the file alone, as in FROM 'a.csv', to read all columns as text, or state them, as in"
    " read_csv('a.csv', header = true, columns = {'url': 'VARCHAR'}).",
    "json": "State them, as in read_json('a.jsonl', columns = {'url': 'VARCHAR'}).",
}


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query as it is run, a digest of it as it was asked, and the files that it names."""

    text: str
    digest: str
    files: tuple[RegularFile, ...]


def checked_query(connection: DuckDBPyConnection, query: str) -> CheckedQuery:
    """Return a query in which nothing is guessed from the rows; raise if it states too little for that."""
    reading = _Reading(connection)
    tree = reading.parsed(query)
    asked = digest(_without_places(tree))
    for text in _texts(tree):
        reading.files(text)
    reading.fix(tree)
    if _repeats(reading.names):
        raise DataError(
            "The SQL query names a file by two links, so its rows would count twice; use one name for it."
        )
    files = tuple(RegularFile(name, name, Stamp.of(name)) for name in reading.names)
    return CheckedQuery(reading.text(tree) if reading.changed else query, asked, files)


class _Reading:
    """The parts of a query that read files, and what becomes of them; `names` are the files found so far."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self.names: dict[str, None] = {}
        self.changed = False

    def parsed(self, query: str) -> Node:
        """Return a query as DuckDB has parsed it."""
        tree: Node = json.loads(self._value("SELECT json_serialize_sql(?)", query))
        if tree["error"]:
            raise ParameterError("The SQL query must be a SELECT.")
        return tree

    def text(self, tree: Node) -> str:
        """Return a parsed query as text."""
        return self._value("SELECT json_deserialize_sql(?::JSON)", json.dumps(tree))

    def _value(self, query: str, argument: str) -> str:
        ((value,),) = self._connection.execute(query, [argument]).fetchall()
        return str(value)

    def files(self, text: str) -> list[str]:
        """Return the files that a name or pattern stands for, as DuckDB finds them."""
        found = [text] if os.path.isfile(text) else []
        if glob.has_magic(text):
            links = [
                name for name in without_cycles(glob.iglob(text, recursive=True)) if os.path.isfile(name)
            ]
            rows = self._connection.execute("SELECT file FROM glob(?)", [text]).fetchall()
            found = [str(name) for (name,) in rows if os.path.isfile(name)]
            if _repeats(links) or _repeats(found):
                raise DataError(
                    f"{text} in the SQL query matches several links to one file, whose rows would count"
                    " twice; remove the links or name the files."
                )
        self.names.update(dict.fromkeys(found))
        return found

    def fix(self, tree: object) -> None:
        """Change whatever reads a file, in place, so that nothing is guessed; raise where that cannot be."""
        for part in _parts(tree):
            if isinstance(part, dict) and part.get("type") == "TABLE_FUNCTION":
                self._fix_function(part["function"])
            elif isinstance(part, dict) and part.get("type") == "BASE_TABLE":
                self._fix_table(part)

    def _fix_function(self, function: Node) -> None:
        """Give a reading function the options that end its guesses."""
        name, arguments = function["function_name"].lower(), _arguments(function)
        if name in _NO_READERS:
            return
        if name not in _READERS:
            raise ParameterError(
                f"hushcount cannot check what {name} reads; name the file in the SQL query, or read it by"
                " read_csv, read_json or read_parquet."
            )
        if not _functions(arguments) <= _WRITTEN_OUT:
            raise ParameterError("The SQL query must name its files in full, not compute their names.")
        stated = {option: part for part in arguments if (option := _option(part))}
        self._check(name, stated, [part for part in arguments if not _option(part)])
        for option in set(stated).intersection(_FORCED):
            arguments.remove(stated.pop(option))
        added = [f"{option} = {value}" for option, value in _READERS[name].items() if option not in stated]
        if added:
            arguments.extend(_arguments(self._call(f"f({', '.join(added)})")["function"]))
            self.changed = True

    def _check(self, name: str, stated: Node, paths: list[Node]) -> None:
        """Raise if a reading function does not state enough, reads a file twice, or reads unlike files."""
        kind = "csv" if "csv" in name else "json"
        automatic = any(text.lower() == "auto" for text in _texts(list(stated.values())))
        if "auto_detect" in _READERS[name] and ("columns" not in stated or automatic):
            raise _guessed(name, kind)
        files = [file for text in _texts(paths) for file in self.files(text)]
        if _repeats(files):
            raise DataError(f"{name} in the SQL query would read a file twice; name each file once.")
        if "parquet" in name:
            _check_types(files)
        elif kind == "csv" and "header" in stated:
            _header(files, kind)

    def _fix_table(self, table: Node) -> None:
        """Replace the name of a file by a function that reads it without guesses."""
        place = (table.get(field) for field in ("catalog_name", "schema_name", "table_name"))
        name = ".".join(filter(None, place))
        form, files = ending_format(name), self.files(name)
        if _JSON_NAME.search(name):
            raise _guessed(name, "json")
        if form in _DELIMITERS:
            fields = ", ".join(f"{literal(field)}: 'VARCHAR'" for field in _header(files, form))
            call = f"columns = {{{fields}}}, delim = {literal(_DELIMITERS[form])}, {_DIALECT}"
            call = f"read_csv({_listed(files)}, {call}, {_options(_CSV)})"
        elif form == "parquet" and files:
            _check_types(files)
            call = f"read_parquet({_listed(files)}, {_options(_FOLDERS)})"
        elif form != "parquet" and (files or any(mark in name for mark in "*?[/:")):
            raise ParameterError(f"{name} in the SQL query must be a CSV, TSV or Parquet file.")
        else:
            return
        own = {field: table[field] for field in ("alias", "sample", "column_name_alias") if table.get(field)}
        alias = {"alias": os.path.basename(name).partition(".")[0]}
        table.clear()
        table.update(self._call(call) | alias | own)
        self.changed = True

    def _call(self, call: str) -> Node:
        """Return the parsed form of a table function's call."""
        node: Node = self.parsed(f"FROM {call}")["statements"][0]["node"]["from_table"]
        return node


def _repeats(names: Collection[str]) -> bool:
    """Return whether two of the names are of one file."""
    return len({identity(name) for name in names}) < len(names)


def _guessed(name: str, kind: str) -> ParameterError:
    return ParameterError(
        f"{name} in the SQL query would guess its columns from the rows, so that one row could change how the"
        f" others are read. {_WAYS_OUT[kind]}"
    )


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(map(literal, files))}]"


def _options(options: dict[str, str]) -> str:
    return ", ".join(f"{option} = {value}" for option, value in options.items())


def _header(files: Sequence[str], form: str) -> list[str]:
    """Return the columns of text files, under different names; raise if their headers differ."""
    filled = [name for name in files if os.path.getsize(name)]
    if not filled:
        raise DataError(MISSING if not files else f"{files[0]} is empty.")
    reader = FORMATS[form]()
    names: list[str] = []
    for file in filled:
        schema = reader.schema(file_input(file))
        found = schema.names if schema is not None else []
        if names and found != names:
            raise DataError(f"{file} has another header than {filled[0]}; read each file by itself.")
        names = found
    return _different(names)


def _different(names: Sequence[str]) -> list[str]:
    """Return column names that SQL can tell apart, as DuckDB itself would name them."""
    taken: dict[str, str] = {}
    for place, name in enumerate(names):
        free = name or f"column{place}"
        while free.lower() in taken:
            free += "_1"
        taken[free.lower()] = free
    return list(taken.values())


def _check_types(files: Sequence[str]) -> None:
    """Raise if a column has another type in one Parquet file than in another: DuckDB would convert it."""
    reader, known = FORMATS["parquet"](), dict[str, object]()
    for file in files if len(files) > 1 else ():
        for field in reader.schema(file_input(file)) or ():
            if known.setdefault(field.name, field.type) != field.type:
                raise DataError(f"{file} has another column type than the files before it.")


def _arguments(function: Node) -> list[Node]:
    """Return the arguments of a function, which DuckDB 1 calls its children."""
    found: list[Node] = function["arguments" if "arguments" in function else "children"]
    return found


def _option(argument: Node) -> str:
    """Return the name of the option that an argument states, empty for a value alone."""
    value = argument.get("expression", argument)
    if value["type"] == "COMPARE_EQUAL":
        return str(value["left"]["column_names"][-1]).lower()
    return str(argument.get("name") or value["alias"]).lower()


def _parts(tree: object) -> Iterator[object]:
    """Yield a part of a query, and then whatever is inside it, as it is by then."""
    yield tree
    inside = list(tree.values()) if isinstance(tree, dict) else tree
    for part in inside if isinstance(inside, list) else ():
        yield from _parts(part)


def _functions(tree: object) -> set[str]:
    """Return the names of the functions that are called in a part of a query."""
    return {
        part["function_name"] for part in _parts(tree) if isinstance(part, dict) and "function_name" in part
    }


def _texts(tree: object) -> list[str]:
    """Return all text in a part of a query."""
    return [part for part in _parts(tree) if isinstance(part, str)]


def _without_places(tree: object) -> object:
    if isinstance(tree, dict):
        return {name: _without_places(value) for name, value in tree.items() if name not in _PLACES}
    return [_without_places(value) for value in tree] if isinstance(tree, list) else tree
