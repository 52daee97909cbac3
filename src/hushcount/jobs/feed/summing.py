"""Sums of the rows of a feed: which nodes make up some time, and what each key has in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.errors import DataError
from hushcount.jobs.feed.bounds import FeedBounds, Summed
from hushcount.jobs.feed.folder import FILES, KINDS, FeedFolder
from hushcount.jobs.watch.calendar import EPOCH, Calendar
from hushcount.jobs.watch.state import key_columns
from hushcount.mechanisms.continual.gate import Node
from hushcount.mechanisms.hierarchy.totals import sum_within
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.releases.feeds.table import Change, FeedTable

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

CELLS = 24  # of the small picture of a row


def chain(calendar: Calendar, first: int, stop: int) -> list[Node]:
    """Return the fewest nodes that make up some periods, the last period excluded.

    They are the nodes that lie within these periods and in no longer node that does. A key that was known
    from a later period on has the same ones but for those that ended before.

    >>> calendar = Calendar.of("1h", "2026-12-01", "2026-12-03", ["1h", "1d"])
    >>> [(node.level, node.start) for node in chain(calendar, 0, 26)]
    [(1, 0), (0, 24), (0, 25)]
    """
    found, at = [], first
    while at < stop:
        level, end = max(
            (level, min(at + length, calendar.periods))
            for level, length in enumerate(calendar.lengths)
            if at % length == 0 and (at + length <= stop or stop == calendar.periods)
        )
        found.append(Node(level, at, end))
        at = end
    return found


@dataclass(frozen=True, slots=True)
class FeedSums:
    """The rows of some periods, added up in a database."""

    connection: Connection
    folder: FeedFolder
    first: int
    stop: int

    @property
    def _calendar(self) -> Calendar:
        return self.folder.terms.calendar

    @property
    def _keys(self) -> str:
        return ", ".join(key_columns(self.folder.terms))

    def top(self, limit: int | None, confidence: float, statement: str) -> FeedTable:
        """Return the table of these periods."""
        terms = self.folder.terms
        calendar = terms.calendar
        self._register("chain", chain(calendar, self.first, self.stop))
        summed = self._summed()
        counts = [summed[name].to_numpy() for name in Summed.__slots__]
        last = calendar.lengths[-1]
        ends = self.stop // last - self.first // last if terms.retire_below is not None else 0
        bounds = FeedBounds(terms.watching, (1 - confidence) / 2, ends)
        found = Summed(*counts)
        estimates = bounds.estimates(found)
        order = np.argsort(-estimates, kind="stable")[:limit]
        shown = Summed(*(each[order] for each in counts))
        keys = summed.select(key_columns(terms)).take(pa.array(order))
        table = keys.rename_columns(list(terms.key_names))
        for name, column in (
            ("count", estimates[order]),
            ("lower", bounds.lower(shown)),
            ("upper", bounds.upper(shown)),
        ):
            table = table.append_column(name, pa.array(column, pa.int64()))
        return FeedTable(
            table,
            calendar.time(self.first),
            calendar.time(self.stop),
            confidence,
            statement,
            self.shapes(keys),
        )

    def _register(self, name: str, nodes: Sequence[Node]) -> None:
        """Make a table of nodes, by level and end as the files have them."""
        calendar = self.folder.terms.calendar
        table = pa.table(
            {
                "level": pa.array([calendar.levels[node.level] for node in nodes], pa.string()),
                "end": pa.array([calendar.instant(node.stop) for node in nodes], pa.timestamp("us", "UTC")),
                "since": pa.array(
                    [calendar.instant(node.start) for node in nodes], pa.timestamp("us", "UTC")
                ),
                "begin": pa.array([node.start for node in nodes], pa.int64()),
            }
        )
        self.connection.register(name, table)

    def _summed(self) -> pa.Table:
        """Return the sums of all keys, in the order of the keys."""
        # Most files have nodes alone: by the statistics of their kinds they are passed over. Nodes are read
        # from the files of the periods with which those of the chain end.
        columns = f'{self._keys}, kind, feed.level, start, feed."end", value'
        every = self.folder.rows(range(self.first, self.stop))
        ending = self.folder.rows(node.stop - 1 for node in chain(self._calendar, self.first, self.stop))
        self.connection.execute(
            f"CREATE TEMP TABLE read AS SELECT {columns} FROM {every} AS feed"
            f" WHERE kind IS DISTINCT FROM 'node' UNION ALL SELECT {columns} FROM {ending} AS feed"
            ' JOIN chain ON feed.level = chain.level AND feed."end" = chain."end" WHERE kind = \'node\''
        )
        self._check()
        begins = _instant(self._calendar.time(self.first))
        self._look_back(begins, columns)
        new, node = f"kind = 'entry' AND start >= {begins}", "kind = 'node'"
        old, gone = f"kind = 'entry' AND start < {begins}", "kind = 'retired'"
        summed = ("nodes", "draws", "entries", "whole", "retired")
        return self.connection.sql(
            f"SELECT {self._keys}, {', '.join(f'coalesce({name}, 0) AS {name}' for name in summed)},"
            " CASE WHEN before > 0 THEN 0 ELSE coalesce(reached, 0) END AS reached,"
            " coalesce(cut, 0) + coalesce(later, 0) AS cut, coalesce(past, 0) AS past,"
            " coalesce(past_draws, 0) AS past_draws, coalesce(before + later, 0) AS backed FROM"
            f" (SELECT {self._keys}, {_total(node)} AS nodes, {_number(node)} AS draws,"
            f" {_total(new)} AS entries, {_total(old)} AS reached, {_number(new)} AS whole,"
            f" {_number(old)} AS cut, {_number(gone)} AS retired FROM read GROUP BY {self._keys})"
            f" FULL JOIN backed USING ({self._keys}) ORDER BY {self._keys}"
        ).to_arrow_table()

    def _look_back(self, begins: str, columns: str) -> None:
        """Add up past nodes, where they reach back to the beginning of the time or of a life within it.

        They are those of a life that began before the time and entered in it, and of the life that was
        unknown when the time ended and entered later.
        """
        reach, calendar = self.folder.terms.reach, self._calendar
        span = f"to_microseconds({reach * calendar.period})"
        ends = _instant(calendar.time(self.stop))
        after = range(self.stop, min(self.stop + reach, self.folder.closed))
        source = self.folder.rows(after) if after else "(SELECT * FROM read LIMIT 0)"
        self.connection.execute(
            f"CREATE TEMP TABLE after AS SELECT {columns} FROM {source} AS feed"
            " WHERE kind IN ('entry', 'past')"
        )
        entered = f"SELECT {self._keys}, \"end\" AS entered, 'read' AS part FROM read WHERE kind = 'entry'"
        lives = (
            f'{entered} AND start < {begins} AND "end" <= {begins} + {span} UNION ALL'
            f" {entered.replace('read', 'after')} AND start < {ends}"
            f' AND "end" <= greatest({begins}, start) + {span}'
        )
        nodes = (
            f"SELECT {self._keys}, {{0}}.\"end\" AS ended, value, '{{0}}' AS part FROM {{0}} JOIN chain ON"
            ' {0}.level = chain.level AND {0}.start >= chain.since AND {0}."end" <= chain."end"'
            " WHERE kind = 'past'"
        )
        self.connection.execute(
            f"CREATE TEMP TABLE backed AS SELECT {self._keys}, coalesce(sum(value), 0)::BIGINT AS past,"
            " count(value) AS past_draws, max((part = 'read')::BIGINT) AS before,"
            f" max((part = 'after')::BIGINT) AS later FROM ({lives}) AS life"
            f" LEFT JOIN ({nodes.format('read')} UNION ALL {nodes.format('after')}) AS found"
            f" USING ({self._keys}, part) WHERE ended IS NULL OR ended <= entered GROUP BY {self._keys}"
        )

    def _check(self) -> None:
        """Raise if rows are not such as a watch writes."""
        kinds = ", ".join(f"'{kind}'" for kind in KINDS)
        missing = " OR ".join(
            f"{name} IS NULL" for name in (*self._keys.split(", "), "kind", "start", "value")
        )
        odd = f"{missing} OR kind NOT IN ({kinds}) OR (kind = 'entry' AND value < ?)"
        query = f"SELECT count(*) FROM read WHERE {odd}"
        if self.connection.execute(query, [self.folder.terms.watching.gate.tau]).fetchall()[0][0]:
            raise DataError(FILES.format(self.folder.path))

    @property
    def _parts(self) -> list[list[Node]]:
        """Return nodes of one level in parts of equally many, the newest ones last."""
        calendar, span = self.folder.terms.calendar, self.stop - self.first
        fine = [place for place, length in enumerate(calendar.lengths) if length * CELLS <= span]
        level = max(fine, default=0)
        length = calendar.lengths[level]
        starts = range(self.first + -self.first % length, self.stop, length)
        nodes = [Node(level, start, min(start + length, calendar.periods)) for start in starts]
        whole = [node for node in nodes if node.stop <= self.stop]
        each = -(-len(whole) // CELLS) or 1
        return [whole[at : at + each] for at in range(len(whole) % each, len(whole), each)]

    def shapes(self, keys: pa.Table) -> list[list[int | None]]:
        """Return for each of some keys the counts of equal parts of the time, from nodes of one level."""
        parts = self._parts
        found: list[list[int | None]] = [[None] * len(parts) for _ in range(len(keys))]
        if not parts or not len(keys):
            return found
        cells = {node.start: cell for cell, nodes in enumerate(parts) for node in nodes}
        self._register("parts", [node for nodes in parts for node in nodes])
        rows = self.folder.rows(node.stop - 1 for nodes in parts for node in nodes)
        self.connection.register("shown", keys.append_column("rank", pa.array(range(len(keys)), pa.int64())))
        counts = self.connection.execute(
            f"SELECT rank, begin, sum(value)::BIGINT, bool_or(value IS NULL)"
            f" FROM {rows} AS feed JOIN shown USING ({self._keys})"
            ' JOIN parts ON feed.level = parts.level AND feed."end" = parts."end"'
            " WHERE kind = 'node' GROUP BY ALL"
        ).fetchall()
        for rank, begin, count, missing in counts:
            if missing:
                raise DataError(FILES.format(self.folder.path))
            row, cell = found[int(str(rank))], cells[int(str(begin))]
            row[cell] = (row[cell] or 0) + int(str(count))
        return found

    def width(self, confidence: float) -> int:
        """Return how far one of those counts may be off."""
        first = next(iter(self._parts), [])
        noise = DiscreteLaplace(self.folder.terms.watching.levels.epsilons[first[0].level if first else 0])
        return sum_within(noise, max(len(first), 1), 1 - confidence)

    def changes(self, limit: int) -> tuple[list[Change], int]:
        """Return the newest entries and retirements, and how many entries there are; call it after `top`."""
        rows = self.connection.execute(
            f'SELECT epoch_us("end"), kind, value, {self._keys} FROM read'
            f" WHERE kind IN ('entry', 'retired')"
            f' ORDER BY "end" DESC, {self._keys}, kind LIMIT {limit}'
        ).fetchall()
        entered = self.connection.execute("SELECT count(*) FROM read WHERE kind = 'entry'").fetchall()
        found = [
            Change(
                EPOCH + timedelta(microseconds=int(str(end))),
                ", ".join(map(str, key)),
                str(kind),
                int(str(value)),
            )
            for end, kind, value, *key in rows
        ]
        return found, int(str(entered[0][0]))


def _total(condition: str) -> str:
    """Return SQL that adds up the values of some rows."""
    return f"coalesce(sum(value) FILTER ({condition}), 0)::BIGINT"


def _number(condition: str) -> str:
    """Return SQL that counts some rows."""
    return f"count(*) FILTER ({condition})"


def _instant(time: datetime) -> str:
    """Return a time in SQL."""
    return f"TIMESTAMPTZ '{time.isoformat()}'"
