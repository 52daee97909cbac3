"""The files of a feed as a reader meets them: `feed.json` is checked, and the periods are without gaps."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hushcount.errors import DataError
from hushcount.files.atomic import PathLike
from hushcount.files.failures import attempt
from hushcount.jobs.watch.feed_files import ABOUT, ENDING, described, file_name, read_about
from hushcount.jobs.watch.state import key_columns
from hushcount.jobs.watch.terms import WatchTerms
from hushcount.stores.duckdb import identifier, literal, reading

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

KINDS = ("entry", "node", "retired", "past")
TERMS = "{} does not describe a feed that this version of hushcount knows."
GAP = "The feed in {} is not whole: it has no file of period {}."
FILES = "A file of the feed in {} cannot be read, or is not one that hushcount wrote."


@dataclass(frozen=True, slots=True)
class FeedFolder:
    """A folder with a feed.

    Parameters
    ----------
    path : path
        The folder.
    terms : WatchTerms
        The public terms of the watch that wrote it.
    closed : int
        How many periods are published.
    """

    path: Path
    terms: WatchTerms
    closed: int

    @classmethod
    def of(cls, folder: PathLike) -> FeedFolder:
        """Return the feed in a folder, or raise if it is none, or lacks a period."""
        about = read_about(folder)
        sentence = DataError(TERMS.format(Path(folder, ABOUT)))
        terms = attempt(lambda _: sentence, _terms, about)
        if described(terms) != about:
            raise sentence
        there = {name for name in os.listdir(folder) if name.endswith(ENDING)}
        calendar = terms.calendar
        for place in range(len(there)):
            if place >= calendar.periods or file_name(terms, place) not in there:
                first = min(place, calendar.periods - 1)
                raise DataError(GAP.format(folder, calendar.name(first)))
        return cls(Path(folder), terms, len(there))

    def opened(self) -> AbstractContextManager[Connection]:
        """Open a database in which `rows` can be read; a file that is damaged raises."""
        return reading(FILES.format(self.path))

    def rows(self, places: Iterable[int]) -> str:
        """Return SQL for the rows of some periods; the columns of a key are named as in a state."""
        named = zip(key_columns(self.terms), self.terms.key_names, strict=True)
        renamed = ", ".join(f"{identifier(name)} AS {column}" for column, name in named)
        files = ", ".join(literal(str(self.path / file_name(self.terms, place))) for place in places)
        return f'(SELECT {renamed}, kind, level, start, "end", value FROM read_parquet([{files}]))'


def _terms(about: dict[str, object]) -> WatchTerms:
    """Return the terms that `feed.json` has; the place of the ledger is not among them."""
    fields = about["terms"]
    if not isinstance(fields, dict):
        raise TypeError
    return WatchTerms.from_fields(fields)
