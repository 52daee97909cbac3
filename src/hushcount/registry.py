"""One type for every table of names: what a name stands for, loaded when it is asked for.

A table names its entries by text ("module:object"), so that listing them imports nothing, and so that a low
room can name something of a higher one without importing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from hushcount.errors import ParameterError

Entry = TypeVar("Entry")


class Registry(Generic[Entry]):
    """A table of names for things of one kind.

    Parameters
    ----------
    kind : str
        What the names stand for, as the word that errors use ("mechanism", "format").
    places : mapping of str to str
        Where each name is found, as "module:object".

    Examples
    --------
    >>> distributions = Registry("distribution", {"laplace": "hushcount.noise.laplace:DiscreteLaplace"})
    >>> list(distributions), distributions["laplace"].__name__
    (['laplace'], 'DiscreteLaplace')
    """

    def __init__(self, kind: str, places: Mapping[str, str]) -> None:
        self.kind = kind
        self._places = dict(places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Entry:
        """Import and return the entry of a name, or raise a `ParameterError` that lists all names."""
        module, _, attribute = self._places[self.check(name)].partition(":")
        return cast(Entry, getattr(import_module(module), attribute))

    def check(self, name: str) -> str:
        """Return the name if the table has it, or raise a `ParameterError` that lists all names."""
        if name not in self._places:
            raise ParameterError(f"{self.kind} must be one of {', '.join(self)}, got {name}.")
        return name

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Import every entry and yield it with its name, in the order of the table."""
        return ((name, self[name]) for name in self)
