"""`sample`: from data to a private weighted sample of its keys in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.checkpoints import Origin
from hushcount.jobs.exact import CountsOnDisk, ExactAsk, SumsInMemory
from hushcount.jobs.request import Progress, Request, kept_counts, kept_sentence
from hushcount.jobs.run import Releasing, Running
from hushcount.jobs.samples.settings import SampleSettings
from hushcount.jobs.samples.sketched import is_sketch, sample_sketch
from hushcount.jobs.settings import taken
from hushcount.jobs.trust.dry_run import run_or_rehearse
from hushcount.jobs.users import UserSettings
from hushcount.keys.memory import Data
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.sampling.sized import WantedSize
from hushcount.mechanisms.sampling.tabled import SamplingTable
from hushcount.releases.accuracy import Counted
from hushcount.releases.key_list import KEYS_ONLY
from hushcount.releases.release import Release
from hushcount.shapes import Shape, Sketch
from hushcount.sketches.exact import Exact


def sample(
    data: Data = None,
    *,
    epsilon: float | None = None,
    delta: float,
    rho: float | None = None,
    column: str | Sequence[str] | None = None,
    rate: float | None = None,
    size: int | None = None,
    total_share: float | None = None,
    power: float = 1.0,
    scheme: str = "pps",
    probabilities: SamplingTable | Sequence[float] | PathLike | None = None,
    tokens: int = 1,
    keys_only: bool = False,
    max_events: int | None = None,
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
    confidence: float = 0.95,
    limit: int | None = None,
    per: str | None = None,
    output: PathLike | None = None,
    plot: PathLike | None = None,
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
) -> Release:
    """Publish a sample of the keys, drawn by count, with (epsilon, delta)-differential privacy.

    A key of count w is sampled with probability min(1, rate * w^power) ("pps") or 1 - exp(-rate * w^power)
    ("ppswor"), or with the probability that a table lists. The draw is fresh and secret. Protects one event,
    or with `user` one person. Keys are counted on disk where memory does not suffice.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a file, folder or glob ("-" for standard input), a pandas or polars frame, an
        Arrow table, an array, or an ordered iterable of keys. Leave it out with `sql`. A sketch of exact
        counts, or its file, is sampled; a `WeightedSample`, or its file, is sanitised by its own scheme.
    epsilon : float, optional
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zero-concentrated differential privacy.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    rate : float, optional
        The sampling rate. Give one of `rate`, `size` and `probabilities`.
    size : int, optional
        Sample at most about this many keys. `max_events` turns it into a rate; without it a noisy total does,
        which is paid for.
    total_share : float, optional
        With `size` and without `max_events`: the share of epsilon that the noisy total takes (0.05).
    power : float
        The power of the count, 0 to 2.
    scheme : {"pps", "ppswor"}
        How the probability grows with the count.
    probabilities : SamplingTable, sequence of float or path, optional
        Any sampling function: the probabilities of the counts 1, 2, ..., not decreasing, or a file with one
        on each line. The last one serves all larger counts.
    tokens : int
        Divide every sanitised count into this many, at most 1024, which keeps more of the order of the keys.
    keys_only : bool
        Publish the sampled keys without counts: a `KeyList`.
    max_events : int, optional
        A public bound on the number of events, not taken from the data; more events are an error.
    user : str, optional
        The column of the users. Then one user is protected, not one event, and users are counted.
    max_keys : int, optional
        With `user`: keep at most this many different keys of each user, each counted once.
    weight : str, optional
        The column of how much a row counts, a whole number: a count is then a sum of it.
    max_weight : int, optional
        With `weight`: the most that one row may count (1); larger weights are cut to it, row by row.
    times : str, optional
        The column of how often a row was counted already: the row stands for so many events.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`, or a query of `data` if that is a database:
        postgresql://..., a DuckDB or SQLite file, or an ADBC connection.
    relation : str, optional
        In place of `sql`: the table or view of a database whose rows are counted.
    max_key_bytes : int
        The longest key, in bytes.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    confidence : float
        The confidence of the intervals.
    limit : int, optional
        Keep at most this many rows; costs no privacy.
    per : str, optional
        With `limit`: one of several key columns; so many rows of each of its values are kept, at no cost.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    plot : path, optional
        Also draw the counts by rank: .svg.
    report : path, optional
        Also write a page for people with everything in it: .html.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. A stopped run continues from it; it is removed when the
        release has been written. All distinct keys are then kept in memory.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.
    ledger, dataset, run_id, again, window, time, time_zone, dry_run
        As in `hushcount.top`.

    Returns
    -------
    Release
        The table has the sanitised count, the most likely count with its interval, and `estimate`, the count
        divided by the probability that such a key is published: add it up for totals, or use `release.sum`.

    Raises
    ------
    ParameterError
        If an option breaks its rule; nothing has been read then.
    DataError
        If the data cannot be read or used; nothing has been released then.

    Examples
    --------
    >>> release = sample(["tea"] * 5000 + ["milk"] * 3000 + ["salt"], rate=0.01, epsilon=1.0, delta=1e-12)
    >>> release.table["key"].to_pylist()
    ['tea', 'milk']
    """
    return sample_of(dict(locals()))


def sample_of(values: Mapping[str, object]) -> Release:
    """Do what the parameters of `sample` ask for."""
    if is_sketch(values["data"]):
        return cast("Release", sample_sketch(values))
    return run_or_rehearse(sample_job(values), values)


def sample_job(values: Mapping[str, object]) -> tuple[SampleAsk, Running]:
    """Return what `sample` is asked for."""
    settings, users = taken(SampleSettings, values), taken(UserSettings, values)
    new: Callable[[], Sketch]
    request, running = replace(taken(Request, values), ordered=False), taken(Running, values)
    settings.check_groups(request.column)
    if users.user is None and request.weight is not None:
        if running.checkpoint is not None:
            raise ParameterError("checkpoint cannot be combined with weight: sums are made on disk.")
        if isinstance(settings.drawn_by, WantedSize):
            raise ParameterError("size needs max_events with weight: a noisy total is one of events only.")
        new = partial(SumsInMemory, max_events=settings.max_events, unit=request.unit)
        return SampleAsk(request, settings, new, counted=request.counted), running
    if users.user is None:
        new = partial(CountsOnDisk, max_events=settings.max_events) if running.checkpoint is None else Exact
        return SampleAsk(request, settings, new), running
    request, running = request.of_users(users, running.progress), running.of_users()
    unit = request.unit
    notes, counted = (kept_sentence(unit.rows),), kept_counts("users", unit.rows)
    new = partial(CountsOnDisk, max_events=settings.max_events, moved=unit.rows, unit=unit)
    return SampleAsk(request, settings, new, notes, counted=counted), running


@dataclass(frozen=True)
class SampleAsk(ExactAsk):
    """A weighted sample of the keys."""

    command = "sample"
    settings: SampleSettings

    def prepare(self) -> tuple[Sketch, Releasing[Release]]:
        """Return the sketch, and the mechanism that draws the sample."""
        sketch = self.new()
        return sketch, self.settings.calibrated(sketch.public())

    def summary(self, shape: Shape, sketch: Sketch) -> Shape:
        """Return the counts, with the number of all that was counted if that sets the rate."""
        return self.settings.summary(shape, sketch.total)

    def described(self) -> tuple[tuple[str, ...], Counted]:
        """Return the notes, and what a count is a number of."""
        return self.notes, KEYS_ONLY if self.settings.keys_only else self.counted

    def publish(self, whole: Release, origin: Origin) -> Release:
        """Return the table with its keys as columns, its notes, and what it counts and assumes."""
        return replace(super().publish(whole, origin), counted=self.described()[1])
