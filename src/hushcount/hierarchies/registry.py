"""The hierarchies by name: from what a person writes to a tree over keys."""

from __future__ import annotations

from collections.abc import Callable

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


def parse_hierarchy(
    hierarchy: Hierarchy | str | Callable[[object], object], height: int | None = None
) -> Hierarchy:
    """Return a hierarchy.

    Parameters
    ----------
    hierarchy : str, callable or Hierarchy
        A name such as "ipv4/8", a function from a key to its parent, or a hierarchy, which stays as it is.
    height : int, optional
        The number of levels, for functions (required) and parent tables; others have a height of their own.

    >>> parse_hierarchy("ipv4/8").height, parse_hierarchy("domain").name
    (4, 'domain/4')
    """
    if isinstance(hierarchy, str):
        prefix, _, file = hierarchy.partition(":")
        if prefix == "parents" and file:
            return parent_table(file, height)
        return _of_height(named_hierarchy(hierarchy), height)
    if isinstance(hierarchy, Hierarchy):
        return _of_height(hierarchy, height)
    if callable(hierarchy) and height is None:
        raise ParameterError("height must be given with a function as the hierarchy, got None.")
    return parent_function(hierarchy, height or 0)


def named_hierarchy(name: str) -> Hierarchy:
    """Return a hierarchy that its name alone describes, without reading any file."""
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
