"""`sample`: from data to a private weighted sample of its keys in one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.run import Ask, Progress, Request, run
from hushcount.jobs.settings import COUNTERS, ReleaseSettings, new_sketch
from hushcount.mechanisms.sampling.sample import PrivateSample
from hushcount.mechanisms.sampling.schemes import Pps, Ppswor, Scheme, rate_for_size
from hushcount.privacy import Budget, check_delta
from hushcount.shapes import Public

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.releases.release import Release
    from hushcount.shapes import Sketch

SCHEMES: dict[str, type[Pps] | type[Ppswor]] = {"pps": Pps, "ppswor": Ppswor}


def common_settings(**values: Any) -> ReleaseSettings:
    """What a sample shares with other releases; there is no sample with delta = 0."""
    check_delta(values["delta"])
    return ReleaseSettings(**values)


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """The sampling scheme, and what every release is asked for."""

    scheme: Scheme
    common: ReleaseSettings

    def mechanism(self, public: Public) -> PrivateSample:
        """Return the mechanism that draws the sample."""
        budget = Budget(self.common.epsilon, self.common.delta)
        return PrivateSample(budget, public.within(self.common.max_events), self.scheme)


def sample(
    data: Any = None,
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
    confidence: float = 0.95,
    limit: int | None = None,
    output: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Sample the keys of `data` by count and release the sample with (epsilon, delta)-DP.

    A key of count w is sampled with probability min(1, rate * w^power) ("pps") or 1 - exp(-rate *
    w^power) ("ppswor"). `size` in place of `rate` is turned into one by `max_events`, a public bound on the
    number of events. The draw is fresh and secret; protects one event, not one person. Memory grows with
    the number of distinct keys. The table has the sanitised count, the most likely count with its interval,
    and `estimate`, the count over the probability to be published: add it up for totals (`release.sum`).

    >>> release = sample(["tea"] * 5000 + ["milk"] * 3000 + ["salt"], rate=0.01, epsilon=1.0, delta=1e-12)
    >>> release.table["key"].to_pylist()
    ['tea', 'milk']
    """
    chosen = make_scheme(scheme, rate, size, power, max_events)
    common = common_settings(
        epsilon=epsilon,
        delta=delta,
        max_events=max_events,
        confidence=confidence,
        limit=limit,
        output=output,
    )
    columns = column if column is None or isinstance(column, str) else list(column)
    request = Request(data, columns, format, key_type, sql)
    return count_and_sample(request, SampleSettings(chosen, common), checkpoint=checkpoint, progress=progress)


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


def count_and_sample(
    request: Request,
    settings: SampleSettings,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Release:
    """Count, sample, write, and only then give up the checkpoint."""
    return run(SampleAsk(request, settings), checkpoint, progress)


@dataclass(frozen=True, slots=True)
class SampleAsk(Ask["Release"]):
    """A weighted sample of the keys."""

    request: Request
    settings: SampleSettings

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table."""
        return (self.settings.common.output,)

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of events."""
        return self.settings.common.max_events

    def sketch(self) -> Sketch:
        """Return a sketch of exact counts."""
        return new_sketch(PrivateSample.sketch, COUNTERS)

    def mechanism(self, public: Public) -> PrivateSample:
        """Return the mechanism that draws the sample."""
        return self.settings.mechanism(public)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the sample as asked, written where asked."""
        return self.settings.common.written(self.settings.common.finished(whole, origin))
