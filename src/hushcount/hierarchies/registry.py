"""From what a person writes to a hierarchy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy
from hushcount.hierarchies.dates import Date
from hushcount.hierarchies.ipv4 import Ipv4
from hushcount.hierarchies.ipv6 import Ipv6
from hushcount.hierarchies.names import columns, domain, path
from hushcount.hierarchies.parents import parent_function, parent_table

FORMS = (
    "ipv4/8, ipv4/4, ipv4/1, ipv6/16, ipv6/8, ipv6/4, domain, domain/N, path, path/N, date,"
    " columns:A,B,... or parents:FILE.csv"
)
_WITH_NUMBER: dict[str, Callable[..., Hierarchy]] = {
    "ipv4": Ipv4,
    "ipv6": Ipv6,
    "domain": domain,
    "path": path,
}


def parse_hierarchy(hierarchy: Any, height: int | None = None) -> Hierarchy:
    """A hierarchy from its name, from a function key -> parent with a height, or as it is.

    `height` is for functions and parent tables; with any other hierarchy it must be the height it has.

    >>> parse_hierarchy("ipv4/8").height, parse_hierarchy("domain").name
    (4, 'domain/4')
    """
    if isinstance(hierarchy, str):
        prefix, _, file = hierarchy.partition(":")
        if prefix == "parents" and file:
            return parent_table(file, height)
        return _of_height(named_hierarchy(hierarchy), height)
    if hasattr(hierarchy, "leaves") and hasattr(hierarchy, "labels"):
        return _of_height(hierarchy, height)
    if callable(hierarchy) and height is None:
        raise ParameterError("height must be given with a function as the hierarchy, got None.")
    return parent_function(hierarchy, height or 0)


def named_hierarchy(name: str) -> Hierarchy:
    """One of the hierarchies that a name alone describes, without reading any file."""
    if name == "date":
        return Date()
    prefix, _, names = name.partition(":")
    if prefix == "columns" and names:
        return columns(names.split(","))
    form, slash, number = name.partition("/")
    if form not in _WITH_NUMBER or (slash and not _is_number(number)):
        raise ParameterError(f"hierarchy must be one of {FORMS}, got {name!r}.")
    return _WITH_NUMBER[form](int(number)) if slash else _WITH_NUMBER[form]()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4


def _of_height(hierarchy: Hierarchy, height: int | None) -> Hierarchy:
    if height is not None and height != hierarchy.height:
        raise ParameterError(
            f"height must be {hierarchy.height} for hierarchy {hierarchy.name}, got {height!r}."
        )
    return hierarchy
