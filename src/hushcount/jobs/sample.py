"""`sample`: from data to a private weighted sample of its keys in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, new_sketch, taken
from hushcount.keys.plain import MAX_KEY_BYTES
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor, Scheme, rate_for_size
from hushcount.privacy import Budget, check_delta
from hushcount.shapes import Public

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.keys.memory import Data
    from hushcount.releases.release import Release
    from hushcount.shapes import Sketch

SCHEMES: dict[str, type[Pps] | type[Ppswor]] = {"pps": Pps, "ppswor": Ppswor}


def sample(
    data: Data = None,
    *,
    epsilon: float,
    delta: float,
    column: str | Sequence[str] | None = None,
    rate: float | None = None,
    size: int | None = None,
    power: float = 1.0,
    scheme: str = "pps",
    max_events: int | None = None,
    format: str | None = None,  # noqa: A002
    key_type: str = "auto",
    sql: str | None = None,
    max_key_bytes: int = MAX_KEY_BYTES,
    on_bad: str = "drop",
    confidence: float = 0.95,
    limit: int | None = None,
    output: PathLike | None = None,
    checkpoint: PathLike | None = None,
    progress: Progress | None = None,
    allow_large_delta: bool = False,
) -> Release:
    """Publish a sample of the keys, drawn by count, with (epsilon, delta)-differential privacy.

    A key of count w is sampled with probability min(1, rate * w^power) ("pps") or 1 - exp(-rate * w^power)
    ("ppswor"). The draw is fresh and secret. Protects one event, not one person. Memory grows with the number
    of distinct keys.

    Parameters
    ----------
    data : path, frame, array or iterable, optional
        What to count: a file, folder or glob ("-" for standard input), a pandas or polars frame, an
        Arrow table, an array, or an ordered iterable of keys. Leave it out with `sql`.
    epsilon : float
        Limit on the privacy loss, such as 1; smaller is more private and noisier.
    delta : float
        Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.
    column : str or list of str, optional
        The column to count; a list counts combinations of columns. The only column need not be named.
    rate : float, optional
        The sampling rate. Give either `rate` or `size`.
    size : int, optional
        Sample at most about this many keys; `max_events` turns it into a rate.
    power : float
        The power of the count, 0 to 2.
    scheme : {"pps", "ppswor"}
        How the probability grows with the count.
    max_events : int, optional
        A bound on the number of events that may be known to all; more events are an error.
    format : str, optional
        The format of a file, if its extension does not show it: lines, csv, tsv, jsonl, parquet or arrow.
    key_type : {"auto", "text", "int"}
        How keys are read; keys of CSV and JSON files are text unless this is "int".
    sql : str, optional
        A DuckDB query whose rows are counted in place of `data`.
    max_key_bytes : int
        The longest key, in bytes.
    on_bad : {"drop", "fail"}
        Drop malformed and too long keys, or stop at the first.
    confidence : float
        The confidence of the intervals.
    limit : int, optional
        Keep at most this many rows; costs no privacy.
    output : path, optional
        Also write the table: .csv, .tsv, .parquet or .json.
    checkpoint : path, optional
        A file (raw data) in which progress is saved. A stopped run continues from it; it is removed when the
        release has been written.
    progress : callable, optional
        `progress(done, size)` is called with the bytes read so far and in all, None if that is unknown.
    allow_large_delta : bool
        Take a delta above 0.01, which protects almost nobody.

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


def sample_of(values: dict[str, Any]) -> Release:
    """Do what the parameters of `sample` ask for."""
    check_delta(values["delta"])  # there is no sample with delta = 0
    scheme = {name: values.pop(name) for name in ("scheme", "rate", "size", "power")}
    chosen = make_scheme(**scheme, max_events=values["max_events"])
    common = taken(ReleaseSettings, values)
    checkpoint, progress = values.pop("checkpoint"), values.pop("progress")
    request = replace(taken(Request, values), ordered=False)
    return run(SampleAsk(request, chosen, common), checkpoint, progress)


def make_scheme(
    scheme: str, rate: float | None, size: int | None, power: float, max_events: int | None
) -> Scheme:
    """The sampling scheme asked for; a size becomes a rate by public numbers alone."""
    if scheme not in SCHEMES:
        raise ParameterError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme}.")
    if (rate is None) == (size is None):
        raise ParameterError(f"Give either rate or size, got rate = {rate} and size = {size}.")
    if rate is None and max_events is None:
        raise ParameterError("size needs max_events, a public bound that turns it into a rate, got None.")
    if rate is not None:
        return SCHEMES[scheme](rate, power)
    return SCHEMES[scheme](rate_for_size(size or 0, power, max_events or 0), power)


@dataclass(frozen=True, slots=True)
class SampleAsk(Ask["Release"]):
    """A weighted sample of the keys."""

    request: Request
    scheme: Scheme
    settings: ReleaseSettings

    @property
    def budget(self) -> Budget:
        """What the sample spends."""
        return self.settings.budget

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table."""
        return (self.settings.output,)

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.max_events

    def sketch(self) -> Sketch:
        """Return a sketch of exact counts."""
        return new_sketch(PrivateSample.sketch, COUNTERS)

    def mechanism(self, public: Public) -> PrivateSample:
        """Return the mechanism that draws the sample."""
        return PrivateSample(self.budget, public.within(self.max_events), self.scheme)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the sample as asked, written where asked."""
        return self.settings.written(self.settings.finished(whole, origin))
