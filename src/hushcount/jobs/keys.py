"""`keys`: which keys exist, without counts, from data to a private list in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.choices import MOST_KEYS, SELECTIONS, check_max_keys
from hushcount.jobs.exact import CountsOnDisk, ExactAsk
from hushcount.jobs.request import Progress, Request
from hushcount.jobs.run import Releasing, Running
from hushcount.jobs.settings import ReleaseSettings, taken
from hushcount.jobs.trust.dry_run import run_or_rehearse
from hushcount.keys.memory import Data
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.keys.calibration import UNIT
from hushcount.mechanisms.keys.selection import EventKeys
from hushcount.mechanisms.registry import EVERY_MECHANISM
from hushcount.privacy import USER, Budget, PrivacyUnit, check_delta, unwarned
from hushcount.releases.key_list import KEYS_ONLY, KeyList
from hushcount.releases.release import Release
from hushcount.shapes import KeySets, Public, Sketch
from hushcount.sources.duckdb.bounding import DistinctPairs
from hushcount.sources.duckdb.counted import KeptSets

LARGEST = 1000
MOST_WEIGHTED = 1 << 14  # every number of common keys of every number of keys is tried


def keys(
    data: Data = None,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    delta: float,
    column: str | Sequence[str] | None = None,
    user: str | None = None,
    max_keys: int | None = None,
    method: str | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    relation: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    limit: int | None = None,
    output: PathLike | None = None,
    report: PathLike | None = None,
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
) -> KeyList:
    """Publish which keys exist, without counts, with (epsilon, delta)-differential privacy.

    With `user` it protects one user, who may hold many keys; without it, one event. More keys are published
    than a table with counts could hold at the same budget.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to read: a file, folder or glob ("-" for standard input), a pandas or polars frame, an Arrow
        table, an array, or an iterable of keys. Leave it out with `sql`.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    rho : float, optional
        In place of epsilon, with `user`: the budget in zero-concentrated differential privacy.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    column : str or list of str, optional
        The column of the keys; a list takes combinations of columns. The only column need not be named.
    user : str, optional
        The column that tells whose row it is.
    max_keys : int, optional
        With `user`: keep at most this many different keys of each user (1000), chosen by a keyed hash.
    method : {"steered", "sips", "weighted"}, optional
        With `user`: how the weight of users is spread over their keys. "steered" (the default) finds most
        keys if users hold five or more each.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are read in place of `data`, or a query of `data` if that is a database:
        postgresql://..., a DuckDB or SQLite file, or an ADBC connection.
    relation : str, optional
        In place of `sql`: the table or view of a database whose rows are read.
    max_key_bytes : int
        The longest key, in bytes.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    limit : int, optional
        Keep at most this many keys, the first in their order; costs no privacy.
    output : path, optional
        Also write the keys: .csv, .tsv, .parquet or .json.
    report : path, optional
        Also write a page for people with everything in it: .html.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    ledger : path or str, optional
        A ledger, a file or postgresql://..., that is charged before data are read. Default: HUSHCOUNT_LEDGER.
    dataset : str, optional
        The dataset in the ledger whose budget pays.
    run_id : str, optional
        The name of the run. A retry with the same name gets the answer that was stored. Default: from the
        question; data that cannot be recognised, such as frames, need one.
    again : bool
        Draw and pay anew although there is an answer.
    window : str, optional
        Read only rows of this time: a day such as "2026-11-15", or "FROM/TO", from FROM up to before TO.
    time : str, optional
        The column that tells when a row is from: times, or text as 2026-11-15T06:00:00Z.
    time_zone : str, optional
        The zone of `window` and of times that have none, such as "Europe/Zurich"; UTC without it.
    dry_run : bool
        Draw no noise and spend nothing: return a `DryRun`, which says what would be published, and its cost.

    Returns
    -------
    KeyList
        The keys, sorted, with their guarantee.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> release = keys(["tea"] * 500 + ["milk"] * 300 + ["salt"], epsilon=1.0, delta=1e-6)
    >>> release.table["key"].to_pylist()
    ['milk', 'tea']
    """
    return keys_of(dict(locals()))


def keys_of(values: Mapping[str, object]) -> KeyList:
    """Do what the parameters of `keys` ask for."""
    return run_or_rehearse(keys_job(values), values)  # type: ignore[return-value]


def keys_job(values: Mapping[str, object]) -> tuple[KeysAsk, Running]:
    """Return what `keys` is asked for."""
    settings, request = taken(KeySettings, values), taken(Request, values)
    running = taken(Running, values)
    if settings.user is None:
        on_disk = replace(request, ordered=False)
        return KeysAsk(on_disk, settings, CountsOnDisk, counted=KEYS_ONLY), running
    bound = DistinctPairs(settings.max_keys or LARGEST)
    request = replace(request, bound=bound, with_users=True, ordered=False, progress=running.progress)
    notes = (
        f"Of each user at most {bound.largest} different keys are kept, picked by a keyed hash.",
        f"Each user adds a weight to every key that they hold; the squares add up to at most {UNIT}^2.",
    )
    return KeysAsk(request, settings, partial(UserSets, bound.largest), notes, counted=KEYS_ONLY), Running()


@dataclass(slots=True)
class UserSets:
    """The sets of keys of all users, at most `largest` of each, kept out of core."""

    largest: int
    unit: PrivacyUnit = USER
    total: int = 0
    kept: KeptSets = field(default_factory=KeptSets)

    def __post_init__(self) -> None:
        self.unit = replace(USER, rows=self.largest)

    def update(self, keys: pa.Array) -> None:
        """Keep a batch of structs of user and key, users together."""
        self.total += len(keys)
        self.kept.add(keys.field("user"), keys.field("key"))

    def public(self) -> Public:
        """Return the bound on the keys of a user."""
        return Public(unit=self.unit, moved=self.largest, shape=KeySets)

    def shape(self) -> KeySets:
        """Return the sets, of which sums can be taken."""
        return KeySets(self.kept.sums, self.largest, self.unit)


@dataclass(frozen=True, kw_only=True)
class KeySettings(ReleaseSettings):
    """Budget of a list of keys, and how users' weights are spread."""

    user: str | None = None
    max_keys: int | None = None
    method: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.plot is not None:
            raise ParameterError("plot cannot be combined with keys: there are no counts to draw.")
        if self.user is None and self.max_keys is not None:
            raise ParameterError("max_keys limits the keys of each user, so it needs user, a column.")
        if self.user is None and self.method is not None:
            raise ParameterError("method needs user, a column: it spreads the weight of each user over keys.")
        if self.max_keys is not None and check_max_keys(self.max_keys) > MOST_WEIGHTED:
            self._check_method()
        if self.method is not None and self.method not in SELECTIONS:
            raise ParameterError(f"method must be one of {', '.join(SELECTIONS)}, got {self.method}.")

    def _check_method(self) -> None:
        """Raise for a method whose noise takes too long to work out for users of so many keys."""
        if self.method == SELECTIONS[-1]:
            raise ParameterError(
                f"max_keys must be at most {MOST_WEIGHTED} with method {self.method}, got {self.max_keys};"
                f" {SELECTIONS[0]} and {SELECTIONS[1]} take up to {MOST_KEYS}."
            )

    def spent(self) -> Budget:
        """Return what the list spends: there is none with delta = 0."""
        return unwarned(self.loss, check_delta(self.delta))


@dataclass(frozen=True)
class KeysAsk(ExactAsk):
    """Keys without counts, of events, which are counted on disk, or of users."""

    command = "keys"
    settings: KeySettings

    def prepare(self) -> tuple[Sketch, Releasing[Release]]:
        """Return what reads the keys, and the mechanism that selects them."""
        sketch = self.new()
        public, budget = sketch.public(), self.settings.budget
        if self.settings.user is None:
            return sketch, EventKeys(budget, public)
        kind = EVERY_MECHANISM[f"keys-{self.settings.method or SELECTIONS[0]}"]
        return sketch, kind(budget, public)  # type: ignore[return-value]
