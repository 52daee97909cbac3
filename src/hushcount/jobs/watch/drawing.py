"""Closing one period inside a transaction of the state: events are counted, noise is drawn, rows are made.

Who is tested, and which nodes end, depends on the calendar and on published numbers alone; DuckDB keeps the
counts, and `hushcount.mechanisms.continual` draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Counts
from hushcount.jobs.watch.terms import WatchTerms
from hushcount.mechanisms.continual.gate import Node
from hushcount.noise.bits import Bits

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

ENTRY, NODE, RETIRED, PAST = "entry", "node", "retired", "past"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The draw of one period.

    Parameters
    ----------
    connection : Connection
        The state, inside a transaction.
    terms : WatchTerms
        The thresholds and the calendar.
    place : int
        The period.
    bits : Bits
        Where the noise comes from.
    """

    connection: Connection
    terms: WatchTerms
    place: int
    bits: Bits

    def draw(self) -> None:
        """Count the pending events, publish nodes that end and keys that pass, and retire keys."""
        self._count()
        self._secrets()
        for node in self.terms.watching.levels.ending(self.place):
            self._end(node)
        retired = self._retired()
        self._test()
        self._retire(retired)
        self._run("DELETE FROM pending")
        users = self.terms.users
        if users is not None and (self.place + 1) % users.periods == 0:  # their cell has ended
            self._run("DELETE FROM seen")

    @property
    def _names(self) -> list[str]:
        return [f"k{place}" for place in range(len(self.terms.key_names))]

    @property
    def _keys(self) -> str:
        return ", ".join(self._names)

    def _same(self, one: str, other: str) -> str:
        """Return the condition that two tables have the same key."""
        return " AND ".join(f"{one}.{name} = {other}.{name}" for name in self._names)

    def _run(self, statement: str, *values: object) -> Connection:
        return self.connection.execute(statement, list(values))

    def _arrays(self, query: str, *values: object) -> list[Counts]:
        """Run a query of whole numbers and return its columns."""
        found = self._run(query, *values).fetchnumpy()
        return [np.asarray(column, dtype=np.int64) for column in found.values()]

    def _with(self, statement: str, ids: Counts, drawn: Counts) -> None:
        """Run a statement with a table `drawn` of row ids and values."""
        self.connection.register("drawn", pa.table({"id": ids, "value": drawn}))
        self._run(statement)
        self.connection.unregister("drawn")

    def _count(self) -> None:
        """Add the events of the period to known keys at each level, and to the others."""
        levels = range(len(self.terms.calendar.lengths))
        added = ", ".join(f"c{level} = c{level} + fresh.n" for level in levels)
        self._run(
            f"CREATE OR REPLACE TEMP TABLE fresh AS SELECT {self._keys}, sum(n)::BIGINT AS n FROM pending"
            " GROUP BY ALL"
        )
        self._run(f"UPDATE known SET {added} FROM fresh WHERE {self._same('known', 'fresh')}")
        self._run(f"DELETE FROM fresh USING known WHERE {self._same('known', 'fresh')}")
        self._run(f"UPDATE waiting SET r = r + fresh.n FROM fresh WHERE {self._same('waiting', 'fresh')}")
        if self.terms.reach:
            self._run(f"INSERT INTO past SELECT {self._keys}, {self.place}, n FROM fresh")
            self._run("DELETE FROM past WHERE period < ?", self._nodes_back(-1)[0].start)
        self._run(
            f"INSERT INTO waiting SELECT {self._keys}, n, NULL, 0 FROM fresh ANTI JOIN waiting"
            f" USING ({self._keys})"
        )
        self._run("DROP TABLE fresh")

    def _secrets(self) -> None:
        """Draw the secret of each key that is tested for the first time."""
        gate = self.terms.watching.gate
        (ids,) = self._arrays("SELECT rowid FROM waiting WHERE z IS NULL AND r >= ?", gate.least)
        self._with(
            "UPDATE waiting SET z = drawn.value FROM drawn WHERE waiting.rowid = drawn.id",
            *(ids, gate.secrets(len(ids), self.bits)),
        )

    def _end(self, node: Node) -> None:
        """Publish a node of all known keys, zeros too, and let the next one begin."""
        ids, counts = self._arrays(f"SELECT rowid, c{node.level} FROM known")
        start = f"greatest(since, {node.start})"
        self._with(
            f"INSERT INTO answer SELECT {self.place}, {self._keys}, '{NODE}', {node.level}, {start},"
            f" {node.stop}, value, since > {node.start} FROM known JOIN drawn ON known.rowid = drawn.id",
            *(ids, self.terms.watching.levels.noisy(node.level, counts, self.bits)),
        )
        self._run(f"UPDATE known SET c{node.level} = 0")

    def _retired(self) -> Counts:
        """Return the row ids of known keys that retire, by whole nodes of the last level that end now."""
        last = len(self.terms.calendar.lengths) - 1
        if (self.place + 1) % self.terms.calendar.lengths[last]:
            return np.zeros(0, np.int64)  # the end of the watch has cut the node
        (ids,) = self._arrays(
            f"SELECT known.rowid FROM known JOIN answer ON {self._same('known', 'answer')} WHERE period = ?"
            f" AND kind = '{NODE}' AND level = ? AND NOT partial AND value < ?",
            *(self.place, last, self.terms.retire_below or -(1 << 62)),
        )
        return ids

    def _retire(self, ids: Counts) -> None:
        """Make known keys unknown from the next period on: without events, and with a new secret."""
        after = self.place + 1
        chosen = "FROM known JOIN drawn ON known.rowid = drawn.id"
        for statement in (
            f"INSERT INTO answer SELECT {self.place}, {self._keys}, '{RETIRED}', NULL, since, {after}, 0,"
            f" false {chosen}",
            f"INSERT INTO waiting SELECT {self._keys}, 0, NULL, {after} {chosen}",
            "DELETE FROM known USING drawn WHERE known.rowid = drawn.id",
        ):
            self._with(statement, ids, ids)

    def _test(self) -> None:
        """Test every waiting key with enough events, whether it had any in this period or not."""
        gate, after = self.terms.watching.gate, self.place + 1
        less, sizes = self._arrays(
            "SELECT r - z AS less, count(*) FROM waiting WHERE r >= ? GROUP BY less ORDER BY less DESC",
            gate.least,
        )
        passing = gate.passing(less, sizes, self.bits)
        ids, kept = self._members(less, passing)
        values = gate.values(kept, self.bits)
        self._backfill(ids)
        zeros = ", ".join("0" for _ in self.terms.calendar.lengths)
        chosen = "FROM waiting JOIN drawn ON waiting.rowid = drawn.id"
        for statement in (
            f"INSERT INTO answer SELECT {self.place}, {self._keys}, '{ENTRY}', NULL, since, {after}, value,"
            f" false {chosen}",
            f"INSERT INTO known SELECT {self._keys}, {after}, {zeros} {chosen}",
            "DELETE FROM waiting USING drawn WHERE waiting.rowid = drawn.id",
        ):
            self._with(statement, ids, values)

    def _nodes_back(self, level: int) -> list[Node]:
        """Return the nodes of a level that a backfill of this period publishes, the last cut at its end."""
        length, first = self.terms.calendar.lengths[level], max(0, self.place + 1 - self.terms.reach)
        starts = range(first - first % length, self.place + 1, length)
        return [Node(level, start, min(start + length, self.place + 1)) for start in starts]

    def _backfill(self, ids: Counts) -> None:
        """Publish the past nodes of keys that enter, zeros too, as far as their life and the option go."""
        past = self.terms.watching.past
        if past is None:
            return
        self._with(
            f"CREATE OR REPLACE TEMP TABLE entered AS SELECT {self._keys}, since FROM waiting"
            " JOIN drawn ON waiting.rowid = drawn.id",
            *(ids, ids),
        )
        for level, length in enumerate(self.terms.calendar.lengths):
            self.connection.register("node", _table_of(self._nodes_back(level)))
            keys = ", ".join(f"entered.{name}" for name in self._names)
            self._run(
                f"CREATE OR REPLACE TEMP TABLE span AS SELECT {keys},"
                " greatest(since, node.start) AS start, node.stop, coalesce(sum(n), 0)::BIGINT AS n,"
                f" since > node.start OR node.stop < node.start + {length} AS partial"
                " FROM entered JOIN node ON node.stop > since LEFT JOIN past ON"
                f" {self._same('entered', 'past')} AND past.period >= node.start AND past.period < node.stop"
                " GROUP BY ALL"
            )
            self.connection.unregister("node")
            rows, counts = self._arrays("SELECT rowid, n FROM span")
            self._with(
                f"INSERT INTO answer SELECT {self.place}, {self._keys}, '{PAST}', {level}, start, stop,"
                " value, partial FROM span JOIN drawn ON span.rowid = drawn.id",
                *(rows, past.noisy(level, counts, self.bits)),
            )
        self._run(f"DELETE FROM past USING entered WHERE {self._same('past', 'entered')}")

    def _members(self, less: Counts, passing: list[Counts]) -> tuple[Counts, Counts]:
        """Return row ids and r - z of chosen places in groups of equal r - z; no other group is fetched."""
        some = [(int(value), places) for value, places in zip(less, passing, strict=True) if len(places)]
        listed = ", ".join(str(value) for value, _ in some) or "NULL"
        ids, found = self._arrays(
            f"SELECT rowid, r - z AS less FROM waiting WHERE r >= ? AND r - z IN ({listed})"
            " ORDER BY less DESC, rowid",
            self.terms.watching.gate.least,
        )
        starts = np.searchsorted(-found, [-value for value, _ in some])
        chosen = [start + places for start, (_, places) in zip(starts, some, strict=True)]
        picks = np.concatenate(chosen) if chosen else np.zeros(0, np.int64)
        return ids[picks], found[picks]


def _table_of(nodes: list[Node]) -> pa.Table:
    """Return nodes as a table of their periods."""
    return pa.table({"start": [node.start for node in nodes], "stop": [node.stop for node in nodes]})
