"""Users of a watch: whose rows belong together, for how long, and which of their keys count.

Of each user at most a fixed number of keys count, the first that are seen, each once: in one cell of time, or
in the whole watch. Which they are is a function of that user's rows and a key drawn for the batch.
Proof: docs/proofs/continual/users.md, section 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from hushcount.accounting.runs import PROTECTED, USER, USER_WINDOW
from hushcount.accounting.windows import cell_length
from hushcount.errors import ParameterError
from hushcount.jobs.watch.calendar import Calendar
from hushcount.privacy import check_count
from hushcount.secure import fresh_key

if TYPE_CHECKING:
    from hushcount.stores.duckdb import Connection

OWNER = "owner"
ALONE = "max_keys, cell and max_pairs limit what each user contributes, so they need user, a column."
ONE_OF = "user needs max_keys and cell, to protect what a user does in one cell of time, or max_pairs."
NO_CLOCK = "cell needs time, the column that tells in which cell a row is."
UNEVEN = (
    "cell must be a whole number of periods, and start and until must be where cells of {} begin, counted"
    " from 1970 in UTC."
)
MOST = 2_000  # the composition of so many responses is computed in a second


@dataclass(frozen=True, slots=True)
class WatchedUsers:
    """What of each user is counted.

    Parameters
    ----------
    column : str
        The column of the users.
    most : int
        How many different keys of a user count, each once.
    cell : str, optional
        In which length of time, such as 1d; None for the whole watch.
    periods : int
        How many periods that is.
    """

    column: str
    most: int
    cell: str | None
    periods: int

    @classmethod
    def of(
        cls,
        user: str | None,
        max_keys: int | None,
        cell: str | None,
        max_pairs: int | None,
        calendar: Calendar,
    ) -> WatchedUsers | None:
        """Return what was asked for, None for a watch of events, or raise."""
        if user is None:
            if any(each is not None for each in (max_keys, cell, max_pairs)):
                raise ParameterError(ALONE)
            return None
        if max_pairs is not None and max_keys is None and cell is None:
            return cls(user, check_count("max_pairs", max_pairs, most=MOST), None, calendar.periods)
        if max_keys is None or cell is None or max_pairs is not None:
            raise ParameterError(ONE_OF)
        length = cell_length(cell)
        if length % calendar.period or calendar.start % length or calendar.instant(calendar.periods) % length:
            raise ParameterError(UNEVEN.format(cell))
        return cls(user, check_count("max_keys", max_keys, most=MOST), cell, length // calendar.period)

    @property
    def unit(self) -> str:
        """What is protected, as the ledger names it."""
        return USER if self.cell is None else USER_WINDOW

    @property
    def protected(self) -> str:
        """What is protected, in words."""
        return PROTECTED[self.unit].format(cell=self.cell)

    @property
    def kept(self) -> str:
        """What is counted of a user, in words."""
        where = "in the whole watch" if self.cell is None else f"in each cell of {self.cell}"
        many = "key counts" if self.most == 1 else "keys count"
        return f"of each user at most {self.most} {many} {where}, each once: the first that are seen."

    @property
    def counts(self) -> str:
        """What a count of the feed is, in words that follow a sentence."""
        return f" Counts are of users: {self.kept}"

    def cell_of(self, place: int, periods: int) -> tuple[int, int]:
        """Return the periods of the cell in which a period lies, the last of them excluded."""
        first = place - place % self.periods
        return first, min(first + self.periods, periods)


@dataclass(frozen=True, slots=True)
class UserPairs:
    """Pairs of user and key in the state of a watch.

    Parameters
    ----------
    connection : Connection
        The state, inside a transaction; its table `seen` has the pairs that have counted.
    keys : str
        The columns of a key, in SQL.
    most : int
        How many different keys of a user count.
    """

    connection: Connection
    keys: str
    most: int

    def count(self, tables: Iterable[pa.Table]) -> None:
        """Count what is kept of one batch of rows: new pairs, up to the bound of each user."""
        run = self.connection.execute
        columns = f"{OWNER}, {self.keys}"
        run(f"CREATE OR REPLACE TEMP TABLE arrived AS SELECT {columns} FROM seen LIMIT 0")
        for table in tables:
            self.connection.register("added", table)
            run(f"INSERT INTO arrived SELECT DISTINCT {columns} FROM added")
            self.connection.unregister("added")
        spelled = ", ".join(f"CAST({column} AS VARCHAR)" for column in columns.split(", "))
        run(
            "CREATE OR REPLACE TEMP TABLE chosen AS WITH"
            f" fresh AS (SELECT DISTINCT {columns} FROM arrived ANTI JOIN seen USING ({columns})),"
            f" used AS (SELECT {OWNER}, count(*) AS n FROM seen SEMI JOIN fresh USING ({OWNER})"
            " GROUP BY ALL),"
            f" placed AS (SELECT {columns}, row_number() OVER (PARTITION BY {OWNER}"
            f" ORDER BY sha256(concat_ws('|', $secret, {spelled})), {self.keys}) AS place FROM fresh)"
            f" SELECT {columns} FROM placed LEFT JOIN used USING ({OWNER})"
            " WHERE place + coalesce(n, 0) <= $most",
            {"secret": fresh_key().hex(), "most": self.most},
        )
        run(f"INSERT INTO seen SELECT {columns} FROM chosen")
        run(f"INSERT INTO pending SELECT {self.keys}, count(*) FROM chosen GROUP BY ALL")
        run("DROP TABLE arrived")
        run("DROP TABLE chosen")
