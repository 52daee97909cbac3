"""A table of a feed: how often each published key occurred within some time, as sums of published numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.releases.writers import with_texts

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
NONE_MEANS = "A key that is not listed may have occurred: it was never published, or had retired."
BELONGS = (
    "A key that was first published within this time may have occurred before it; its interval covers that."
)


class Change(NamedTuple):
    """An entry or a retirement: when, of which key, and the published number."""

    when: datetime
    key: str
    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class FeedTable:
    """Counts of published keys from one time to another.

    Attributes
    ----------
    table : Arrow table
        The columns of a key, then count, lower and upper, most frequent first.
    start, end : datetime
        The time that is counted.
    confidence : float
        The probability with which the interval of a key that was chosen before seeing the feed holds its
        count.
    statement : str
        What the whole feed guarantees.
    shapes : list of list
        For each row the counts of the newest equal parts of the time, for a small picture; None where a part
        has no published node.
    """

    table: pa.Table
    start: datetime
    end: datetime
    confidence: float
    statement: str
    shapes: list[list[int | None]] = field(repr=False)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, object]]:
        return iter(self.table.to_pylist())

    def limit(self, rows: int) -> FeedTable:
        """Return the first rows."""
        check_count("limit", rows)
        cut = self.table.slice(0, rows)
        return FeedTable(
            cut, self.start, self.end, self.confidence, self.statement, self.shapes[: cut.num_rows]
        )

    @property
    def key_names(self) -> tuple[str, ...]:
        """The columns of a key."""
        return tuple(self.table.column_names[:-3])

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the table means, in words."""
        return (
            f"From {self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M} (UTC). An interval holds with"
            f" probability {self.confidence:g} for a key that was chosen before seeing the feed.",
            BELONGS,
            NONE_MEANS,
        )

    def to_json(self) -> str:
        """Return the table as one JSON object."""
        return json.dumps(
            {
                "hushcount": FORMAT,
                "kind": "feed-table",
                "start": self.start.isoformat(),
                "end": self.end.isoformat(),
                "confidence": self.confidence,
                "statement": self.statement,
                "rows": with_texts(self.table).to_pylist(),
            },
            ensure_ascii=False,
        )

    def __str__(self) -> str:
        from hushcount.releases.views.feeds import text_of

        return text_of(self)


@dataclass(frozen=True, slots=True)
class FeedHistory:
    """What a report of a feed shows.

    Attributes
    ----------
    table : FeedTable
        The most frequent keys so far.
    width : int
        How far the count of one part of a key's line may be off, at the confidence of the table.
    changes : list of Change
        The newest entries and retirements.
    entered : int
        How many entries are published in all.
    """

    table: FeedTable
    width: int
    changes: list[Change]
    entered: int


def check_times(given: int) -> None:
    """Raise if more than one time is asked for."""
    if given > 1:
        raise ParameterError("Give one of so_far, last and period.")
