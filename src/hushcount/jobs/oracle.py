"""`oracle`: from data to noisy cells that answer for any key, in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import PathLike, check_writable, refuse_same
from hushcount.jobs.checkpoints import Origin
from hushcount.jobs.choices import DEPTH, WIDTH
from hushcount.jobs.linear.counted import CountedCells
from hushcount.jobs.linear.oracle_files import written
from hushcount.jobs.linear.weighed import count_weighed
from hushcount.jobs.request import Progress, Request, kept_sentence
from hushcount.jobs.run import Ask, Run, Running
from hushcount.jobs.settings import Settings, oracle_budget, taken
from hushcount.jobs.trust.dry_run import run_or_rehearse
from hushcount.jobs.users import UserSettings
from hushcount.keys.arrays import held_as
from hushcount.keys.columns import KeyColumns
from hushcount.keys.memory import Data
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.keys.row_hash import COUNT_MIN, COUNT_SKETCH, KINDS
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.privacy import Budget, weaknesses
from hushcount.releases.accuracy import Counted
from hushcount.releases.oracle import Oracle
from hushcount.releases.views.report_files import check_files
from hushcount.sketches.cells import LinearSketch
from hushcount.sketches.linear import CountMin, CountSketch
from hushcount.sketches.users import UserCountMin

DECLARED = {"int": pa.int64(), "text": pa.string()}
CELL = "count is a number of users. A user with several keys in one cell counts once there."
OTHER_HASH = "checkpoint was saved with other hash functions than those of like. Delete it to start again."
NO_KEYS = (
    "There are no keys, so their type is not known and nothing was released;"
    " this message itself reveals that, outside the guarantee."
)


def oracle(
    data: Data = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    column: str | None = None,
    kind: str | None = None,
    depth: int | None = None,
    width: int | None = None,
    like: Oracle | PathLike | None = None,
    user: str | None = None,
    max_keys: int | None = None,
    weight: str | None = None,
    max_weight: int | None = None,
    times: str | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    relation: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    output: PathLike | None = None,
    report: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    allow_large_delta: bool = False,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    run_id: str | None = None,
    again: bool = False,
    window: str | None = None,
    time: str | None = None,
    time_zone: str | None = None,
    dry_run: bool = False,
) -> Oracle:
    """Publish a noisy linear sketch, which answers for the count of any key, as often as anyone likes.

    Protects one event, or with `user` one person.

    Parameters
    ----------
    data : path, frame, array, iterable or sketch, optional
        What to count, as for `top`; or a CountMin or CountSketch that was made with `max_weight`, or a file
        of one.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float, optional
        Probability with which that limit may fail, such as 1e-8. count-min needs and spends none.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zCDP.
    column : str, optional
        The column to count. The only column need not be named.
    kind : {"count-sketch", "count-min"}, optional
        The sketch; count-sketch unless given, with `user` always count-min.
    depth : int, optional
        Rows of cells (5).
    width : int, optional
        Cells per row, a power of two (65536). More cells mean fewer collisions.
    like : Oracle or path, optional
        An oracle whose kind, size and hash functions are taken over, so that the two can be merged.
    user, max_keys
        The column of the users, who are then protected and counted, and how many keys of each are kept.
    weight : str, optional
        The column of how much a row counts, a whole number; a negative one deletes.
    max_weight : int, optional
        With `weight`: the most that one row may count (1); larger weights are cut to it. Noise grows with it.
    times : str, optional
        The column of how often a row was counted already: the row stands for so many events.
    format, key_type, sql, relation, max_key_bytes, on_bad
        As in `hushcount.top`: how keys are read, and what becomes of those that cannot be counted.
    output : path, optional
        Also write the oracle to this file.
    report : path, optional
        Also write a page for people that says what is protected, and how well: .html.
    checkpoint : path, optional
        Save progress there (raw data); a stopped run continues from it.
    progress, allow_large_delta, ledger, dataset, run_id, again, window, time, time_zone, dry_run
        As in `hushcount.top`.

    Returns
    -------
    Oracle
        The noisy cells, their guarantee and how to ask them.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> found = oracle(["tea"] * 500 + ["milk"] * 300, epsilon=1.0, delta=1e-6, width=8192)
    >>> table = found.estimate(["tea", "salt"])
    >>> table.column_names, 400 < table["count"][0].as_py() < 600
    (['key', 'count', 'lower', 'upper'], True)
    """
    return oracle_of(dict(locals()))


def oracle_of(values: Mapping[str, object]) -> Oracle:
    """Do what the parameters of `oracle` ask for."""
    counted = CountedCells.of(values["data"])
    if counted is None:
        return run_or_rehearse(oracle_job(values), values)
    delta = 0.0 if values["delta"] is None else values["delta"]
    settings, request = taken(OracleSettings, values, delta=delta), taken(Request, values)
    given = (request.column, request.format, request.sql, request.user, request.sized, settings.like)
    if any(given) or settings.stated():
        raise ParameterError("a sketch has its own kind, size, hash key and keys; give only the budget.")
    if counted.sketch.key_type is None:
        raise DataError(NO_KEYS)
    return counted.oracle(request, settings, dry=bool(values.get("dry_run")))


def oracle_job(values: Mapping[str, object]) -> tuple[OracleAsk, Running]:
    """Return what `oracle` is asked for, of data that are not counted yet."""
    delta = 0.0 if values["delta"] is None else values["delta"]
    settings, request = taken(OracleSettings, values, delta=delta), taken(Request, values)
    if request.column is not None and not isinstance(request.column, str):
        raise ParameterError("column must be one name for an oracle.")
    users, running = taken(UserSettings, values), taken(Running, values)
    if users.user is None:
        request, unit = replace(request, ordered=False), request.unit
        sketch = settings.empty(weight=unit.weight, deleting=request.weight is not None)
        sketch.unit = unit
        return OracleAsk(request, settings, sketch), running
    request = replace(request.of_users(users, running.progress), ordered=False, with_users=True)
    return OracleAsk(request, settings, settings.of_users(request.unit.rows)), running.of_users()


@dataclass(frozen=True, kw_only=True)
class OracleSettings(Settings):
    """Budget and size of an oracle."""

    delta: float = 0.0
    kind: str | None = None
    depth: int | None = None
    width: int | None = None
    like: Oracle | PathLike | None = None

    def spent(self) -> Budget:
        """Return what the oracle spends."""
        return oracle_budget(self.loss, self.delta)

    def check_outputs(self) -> None:
        """Raise unless the file of the oracle and its report can be written."""
        if self.output is not None:
            check_writable(self.output)
            refuse_same(
                [self.output], [] if self.like is None or isinstance(self.like, Oracle) else [self.like]
            )
        if self.report is not None:
            check_files(None, None, self.report)

    def stated(self) -> dict[str, int | float | str | None]:
        """Return the size that was asked for, as far as it was."""
        sizes = {"kind": self.kind, "depth": self.depth, "width": self.width}
        return {name: size for name, size in sizes.items() if size is not None}

    def finished(self, published: Oracle) -> Oracle:
        """Return the oracle with its options, written where asked."""
        options = {**(published.made.options if published.made else {}), **self.stated()}  # with its entry
        made = published.made and replace(published.made, options=options, source_name=self.source_name)
        return written(replace(published, made=made), self.output, self.report)

    def empty(self, kind: str = COUNT_SKETCH, weight: int = 1, deleting: bool = False) -> LinearSketch:
        """Return an empty sketch with a fresh hash key, or with that of another oracle."""
        if self.like is None:
            name = self.kind or kind
            if name not in KINDS:
                raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {name}.")
            depth = DEPTH if self.depth is None else self.depth
            width = WIDTH if self.width is None else self.width
            made = CountMin if name == COUNT_MIN else CountSketch
            return made(depth, width, max_weight=weight, partial=deleting)
        if self.stated():
            raise ParameterError("like gives kind, depth and width; give one or the other.")
        hashing = (self.like if isinstance(self.like, Oracle) else Oracle.load(self.like)).hashing
        return (CountSketch if hashing.signed else CountMin).with_hash(hashing, weight, deleting)

    def of_users(self, max_keys: int) -> UserCountMin:
        """Return an empty sketch that counts each user once per cell, or raise for one with signs."""
        hashing = self.empty(COUNT_MIN).hashing
        if hashing.signed:
            raise ParameterError(
                "kind must be count-min with user: the signs of count-sketch would cancel within a user."
            )
        return UserCountMin(hashing, max_keys)


@dataclass(frozen=True)
class OracleAsk(Ask[Oracle]):
    """Noisy cells that answer for any key."""

    command = "oracle"
    settings: OracleSettings
    sketch: LinearSketch | UserCountMin

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return what is kept of each user, and what a count is a number of."""
        if isinstance(self.sketch, LinearSketch):
            return (), self.request.counted
        return (kept_sentence(self.sketch.unit.rows), CELL), Counted("users")

    def prepare(self) -> tuple[LinearSketch | UserCountMin, NoisyCells]:
        """Return the sketch and the mechanism, or raise for a budget without delta that needs one."""
        kind, depth, public = self.sketch.kind, self.sketch.depth, self.sketch.public()
        sizes = CellSizes(kind, depth, self.sketch.unit.weight)
        return self.sketch, NoisyCells(self.settings.budget, public, sizes)

    def count(self, reading: Run, progress: Progress | None) -> None:
        """Count all keys; if there are none, their type must have been declared."""
        counted = cast("LinearSketch | UserCountMin", reading.sketch)
        if self.settings.like is not None and counted.hashing != self.sketch.hashing:
            raise DataError(OTHER_HASH)
        if isinstance(counted, LinearSketch) and counted.partial:
            count_weighed(counted, reading, progress)
        elif not self._added_on_spark(reading):
            reading.count(progress)
        counted = cast("LinearSketch | UserCountMin", reading.sketch)
        if self._declared(reading.source.columns) is None and counted.key_type is None:
            raise DataError(NO_KEYS)

    def _added_on_spark(self, reading: Run) -> bool:
        """Count all keys where Spark has them, and return whether that was done."""
        if not (self.request.on_spark and isinstance(reading.sketch, LinearSketch)):
            return False
        from hushcount.jobs.spark.cells import count_on_spark

        return count_on_spark(reading)

    def publish(self, whole: Oracle, origin: Origin) -> Oracle:
        """Return the oracle with its notes."""
        declared = self._declared(origin.columns)
        kind = whole.key_type if declared is None else declared
        notes = (*origin.notes, *self.described()[0], *weaknesses(self.settings.budget))
        guarantees = tuple(map(self.request.assuming, whole.guarantees))
        return replace(whole, key_type=kind, notes=notes, guarantees=guarantees)

    def finish(self, published: Oracle) -> Oracle:
        """Return the oracle, written where asked."""
        return self.settings.finished(published)

    def law(self) -> dict[str, object]:
        """Return the size of the sketch, and its hash functions if they are those of another oracle."""
        hashing = self.sketch.hashing
        size: dict[str, object] = {"kind": hashing.kind, "depth": hashing.depth, "width": hashing.width}
        return size if self.settings.like is None else size | {"hash": repr(hashing)}

    def _declared(self, columns: KeyColumns) -> pa.DataType | None:
        """Return the type of keys that was declared; one that was made up would show that there are none."""
        return held_as(columns.types[0]) if columns.types else DECLARED.get(self.request.key_type)
