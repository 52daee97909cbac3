"""The hierarchies by name: from a text such as "ipv4/8" to a tree over keys.

A name of the table that ends in / may be followed by a number of levels or bits ("domain" or "domain/3"); one
that ends in : must be followed by text ("columns:country,city").
"""

from __future__ import annotations

from collections.abc import Callable

from hushcount.errors import ParameterError
from hushcount.hierarchies.base import Hierarchy
from hushcount.hierarchies.parents import parent_function
from hushcount.registry import Registry

COLUMNS = "columns:"
PARENTS = "parents:"
FORMS = (
    "ipv4/8, ipv4/4, ipv4/1, ipv6/16, ipv6/8, ipv6/4, ip/8, ip/4, ip/1, domain, domain/N, path, path/N, date,"
    " columns:A,B,... or parents:FILE.csv"
)
HIERARCHIES: Registry[Callable[..., Hierarchy]] = Registry(
    "hierarchy",
    {
        "ipv4/": "hushcount.hierarchies.addresses:Ipv4",
        "ipv6/": "hushcount.hierarchies.addresses:Ipv6",
        "ip/": "hushcount.hierarchies.addresses:Ip",
        "domain/": "hushcount.hierarchies.components:domain",
        "path/": "hushcount.hierarchies.components:path",
        "date": "hushcount.hierarchies.dates:Date",
        COLUMNS: "hushcount.hierarchies.components:columns",
    },
)
# Hierarchies that a file describes. A sketch of one cannot be saved, because the file may change.
OF_FILES: Registry[Callable[[str, int | None], Hierarchy]] = Registry(
    "hierarchy", {PARENTS: "hushcount.hierarchies.parents:parent_table"}
)


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
        kind, file = _split(hierarchy, ":")
        if kind in OF_FILES and file:
            return OF_FILES[kind](file, height)
        return _of_height(named_hierarchy(hierarchy), height)
    if isinstance(hierarchy, Hierarchy):
        return _of_height(hierarchy, height)
    if callable(hierarchy) and height is None:
        raise ParameterError("height must be given with a function as the hierarchy, got None.")
    return parent_function(hierarchy, height or 0)


def named_hierarchy(name: str) -> Hierarchy:
    """Return a hierarchy that its name alone describes, without reading any file."""
    kind, text = _split(name, ":")
    if kind in HIERARCHIES and text:
        return HIERARCHIES[kind](text)
    kind, number = _split(name, "/")
    if kind in HIERARCHIES and _is_number(number):
        return HIERARCHIES[kind](int(number))
    if f"{name}/" in HIERARCHIES:
        return HIERARCHIES[f"{name}/"]()
    if name in HIERARCHIES and name.isalpha():
        return HIERARCHIES[name]()
    raise ParameterError(f"hierarchy must be one of {FORMS}, got {name!r}.")


def _split(name: str, mark: str) -> tuple[str, str]:
    """Return a name up to a mark, with the mark, and what follows it."""
    kind, found, rest = name.partition(mark)
    return kind + found, rest


def _is_number(text: str) -> bool:
    """Return whether a text is a whole number of few digits."""
    return text.isascii() and text.isdigit() and len(text) <= 4


def _of_height(hierarchy: Hierarchy, height: int | None) -> Hierarchy:
    """Return a hierarchy, or raise if it is not of the height that was asked for."""
    if height is not None and height != hierarchy.height:
        raise ParameterError(
            f"height must be {hierarchy.height} for hierarchy {hierarchy.name}, got {height!r}."
        )
    return hierarchy
