"""Public domains as they are asked for: a range, a list, or a file of keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.mechanisms.domain import KnownKeys, as_domain
from hushcount.sketches.keys import held_as
from hushcount.sources import open_source

if TYPE_CHECKING:
    from hushcount.mechanisms.domain import Domain
    from hushcount.sources.keys import KeyColumns

COLUMNAR = (".parquet", ".arrow", ".feather")


def read_domain(value: Any, key_type: str = "auto") -> Domain | None:
    """A domain of A..B, of a list of keys, or of a file with one key a line (or one column).

    >>> read_domain("1..6").size
    6
    """
    if value is None:
        return None
    if isinstance(value, os.PathLike) or (isinstance(value, str) and os.path.isfile(value)):
        return _read_file(os.fspath(value), key_type)
    if isinstance(value, str) and ".." not in value:
        raise ParameterError(f"domain must be A..B or a file of keys, got {value}.")
    return as_domain(value)


def _read_file(path: str, key_type: str) -> Domain:
    form = None if Path(path).suffix.lower() in COLUMNAR else "lines"
    source = open_source(path, format=form, key_type=key_type)
    keys = [source.columns.keys([batch.keys]) for batch in source.batches()]
    if not keys:
        raise ParameterError("domain must hold at least one key, got none.")
    return KnownKeys.of(pa.chunked_array(keys))


def check_keys(domain: Domain, columns: KeyColumns) -> None:
    """Raise unless keys of these columns can be in the domain; their types are public."""
    if len(columns.key_names) > 1:
        raise ParameterError(f"domain is for one key column, got {len(columns.key_names)}.")
    if len(columns.types) == 1:
        domain.places(pa.array([], held_as(columns.types[0])))
