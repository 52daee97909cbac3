"""How far published counts may lie from the truth, what they are numbers of, and which are published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hushcount.errors import ParameterError
from hushcount.privacy import LARGEST_COUNT

if TYPE_CHECKING:
    from hushcount.compiled.arrays import Counts, Floats
    from hushcount.releases.estimators import RowDistribution
    from hushcount.releases.release import Release

RELIABLE = 0.95  # the probability with which a count is published that is called reliable


class ErrorModel(Protocol):
    """How far a published count may lie from the truth, from public numbers only."""

    def interval(self, confidence: float) -> tuple[int, int | None]:
        """Return (below, above): one key's true count lies in [count - below, count + above].

        `above` is None if no public number bounds the count from above.
        """
        ...

    def simultaneous(self, confidence: float) -> tuple[int, int | None] | None:
        """Return the same for all published keys at once; None if no public number bounds them."""
        ...

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Return what is behind the bounds, in words."""
        ...


@runtime_checkable
class RowErrorModel(ErrorModel, Protocol):
    """An error model whose bounds differ from row to row."""

    def columns(self, counts: Counts, confidence: float) -> Mapping[str, Counts | Floats]:
        """Return the columns of the table (count, lower, upper, ...) for what was published."""
        ...


@runtime_checkable
class SelectedError(ErrorModel, Protocol):
    """An error model that knows which counts are published, and so what that says about their noise."""

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
        """Return the ends of published rows, each of which holds given that its row was published."""
        ...


@runtime_checkable
class FullFromError(Protocol):
    """An error model that says from which count on a row has the widths of any key."""

    def full_from(self, confidence: float) -> int | None:
        """Return that count; smaller counts have a lower end that is further down."""
        ...


@runtime_checkable
class SanitisedError(Protocol):
    """The error model of a release whose distribution is known row by row."""

    @property
    def distribution(self) -> RowDistribution:
        """The distribution of the published values."""
        ...

    @property
    def offset(self) -> int:
        """What a public floor took off every count."""
        ...

    @property
    def max_events(self) -> int | None:
        """A public bound on the number of events, or None."""
        ...

    def values(self, counts: Counts) -> Counts:
        """Return the values 1, 2, ... that published counts stand for."""
        ...


@runtime_checkable
class TogetherError(Protocol):
    """An error model that bounds the true counts of all rows at once, row by row."""

    def rows_together(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return lower and upper bounds for what was published, if no row was cut."""
        ...


@runtime_checkable
class WithholdingError(Protocol):
    """An error model that knows up to which true count a key may stay unpublished."""

    @property
    def hidden(self) -> int:
        """The largest count that may stay unpublished."""
        ...


@runtime_checkable
class SquaredError(Protocol):
    """An error model that bounds the mean squared error of every key, 0 standing for what is missing."""

    def mean_squared_error(self, confidence: float) -> float | None:
        """Return that bound; None if no public number gives one."""


@runtime_checkable
class MissingError(Protocol):
    """An error model in which a key may be missing for other reasons than its own noise."""

    def missing(self, failure: float, keys: int) -> int:
        """Return by how much the true count of a missing key may exceed the largest unpublished noisy count.

        This holds for `keys` keys at once but for `failure`.
        """
        ...


@runtime_checkable
class ShardedError(Protocol):
    """An error model of several sketches, each with a noisy floor of its own."""

    @property
    def least_published(self) -> int:
        """The smallest noisy count that is published, where the floor is lowest."""
        ...


@runtime_checkable
class FindingError(Protocol):
    """An error model of a search, which may miss a key."""

    def found_from(self, probability: float) -> int | None:
        """Return the count from which on a key is found with this probability; None if unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Bounds on the error of a release at one confidence.

    The true count of a key lies between count - `below` and count + `above` with this confidence; those of
    all published keys at once between count - `simultaneous_below` and count + `simultaneous_above`. In the
    table these widths are found from a count of `full_from` on: smaller ones, close to the threshold, have a
    lower end that is further down. A key with a true count of `published_from` or more is published with
    this probability, and no key that is missing in the table has more than `unpublished_at_most`, all of
    them at once. `mean_squared_error` bounds that of every key, 0 standing for one that is missing. None
    stands for a bound that no public number gives.
    """

    confidence: float
    below: int
    above: int | None
    simultaneous_below: int | None
    simultaneous_above: int | None
    sentences: tuple[str, ...]
    full_from: int | None = None
    published_from: int | None = None
    unpublished_at_most: int | None = None
    mean_squared_error: float | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the bounds as plain values for JSON, but for the mean squared error, no whole number."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "mean_squared_error"}


@dataclass(frozen=True, slots=True)
class Counted:
    """What a count is a number of.

    Parameters
    ----------
    noun : str
        The word for it: events, users, rows.
    meaning : str
        A sentence that says which of them are counted; empty if all with the key are.
    """

    noun: str = "events"
    meaning: str = ""

    @property
    def sentence(self) -> str:
        """What a count is, in one sentence."""
        return self.meaning or f"count is the number of {self.noun} with this key."


EVENTS = Counted()


def row_bounds(error: ErrorModel, counts: Counts, confidence: float) -> tuple[Counts, Counts | None]:
    """Return the lower and upper ends of published rows; None if no public number bounds them from above."""
    import numpy as np

    if isinstance(error, SelectedError):
        return error.row_bounds(counts, confidence)
    below, above = error.interval(confidence)
    return np.maximum(counts - below, 0), None if above is None else np.maximum(counts + above, 0)


def together(release: Release, confidence: float) -> tuple[Counts, Counts]:
    """Return lower and upper bounds of the true counts of all rows, which hold at once."""
    import numpy as np

    counts = release.counts.to_numpy()
    if isinstance(release.error, TogetherError) and release.whole:
        return release.error.rows_together(counts, confidence)
    shown = release.table["count"].to_numpy()
    below, above = release.error.simultaneous(confidence) or (LARGEST_COUNT, None)
    upper = np.full(len(counts), LARGEST_COUNT) if above is None else shown + above
    return np.maximum(shown - below, 0), upper


def bounds_together(release: Release, confidence: float) -> tuple[int, int | None] | None:
    """Return how far all published counts may lie above and below the truth at once; None if unknown."""
    if not (isinstance(release.error, TogetherError) and release.whole and len(release)):
        return release.error.simultaneous(confidence)
    lower, upper = together(release, confidence)
    shown = release.table["count"].to_numpy()
    return int((shown - lower).max()), int((upper - shown).max())


def smallest_published(release: Release) -> int | None:
    """Return the smallest count that can be published; None for a sum, whose parties have their own."""
    if isinstance(release.error, ShardedError):
        return release.error.least_published
    least = threshold_of(release)
    if least is None and "parties" not in release.guarantee.parameters:
        return 1
    return least


def hidden(release: Release) -> int | None:
    """Return the largest noisy count that was not published; None if nothing public says."""
    least = threshold_of(release)
    if least is not None:
        return max(least - 1, 0)
    rows = release.guarantee.parameters.get("candidates")  # the largest are published, whatever they are
    if rows is None:
        return None
    return int(release.counts[len(release) - 1].as_py()) if len(release) >= int(rows) else 0


def smallest_reliable(release: Release, probability: float) -> int | None:
    """Return a count that, like all larger ones, is published with this probability; None if unknown."""
    if not 0.5 < probability < 1:
        raise ParameterError(f"probability must be strictly between 0.5 and 1, got {probability}.")
    least, error = threshold_of(release), release.error
    if isinstance(error, FindingError):
        return error.found_from(probability)
    if least is None:
        return _first_count(error.distribution, probability) if isinstance(error, SanitisedError) else None
    if isinstance(error, MissingError):
        return max(least + error.missing(1 - probability, 1), 1)
    # A two-sided interval fails on either side with half of 1 - confidence, so a key of this count has a
    # noisy count above the threshold but for 1 - probability.
    above = error.interval(2 * probability - 1)[1]
    return None if above is None else max(max(least, 1) + above, 1)


def threshold_of(release: Release) -> int | None:
    """Return the smallest noisy count that reaches the threshold of the mechanism, in every shard, if any."""
    parameters = release.guarantee.parameters
    if isinstance(release.error, WithholdingError):
        return release.error.hidden + 1
    if "offset" in parameters:
        return int(parameters["offset"]) + 1
    if "threshold" in parameters:
        return (release.floor or 0) + int(parameters["threshold"])
    return None


def _first_count(distribution: RowDistribution, probability: float) -> int | None:
    """Return the smallest count that is published with this probability; None if none is."""
    low, high = 0, 1
    while float(distribution.reporting(high)) < probability:
        low, high = high, 2 * high
        if high > LARGEST_COUNT // 4:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if float(distribution.reporting(middle)) >= probability else (middle, high)
    return high
