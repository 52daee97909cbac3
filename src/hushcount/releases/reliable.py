"""From which count on a key is published reliably, and up to which it may stay unpublished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hushcount.errors import ParameterError
from hushcount.privacy import LARGEST_COUNT
from hushcount.releases.sums import SanitisedError

if TYPE_CHECKING:
    from hushcount.releases.estimators import RowDistribution
    from hushcount.releases.release import Release


@runtime_checkable
class WithholdingError(Protocol):
    """An error model that knows up to which true count a key may stay unpublished."""

    @property
    def hidden(self) -> int:
        """The largest count that may stay unpublished."""
        ...


def hidden(release: Release) -> int | None:
    """Return the largest noisy count that was not published; None if nothing public says."""
    if isinstance(release.error, WithholdingError):
        return release.error.hidden
    below = _below_threshold(release)
    if below is not None:
        return below
    rows = release.guarantee.parameters.get("candidates")  # the largest are published, whatever they are
    if rows is None:
        return None
    return int(release.counts[len(release) - 1].as_py()) if len(release) >= int(rows) else 0


def smallest_reliable(release: Release, probability: float) -> int | None:
    """Return a count that, like all larger ones, is published with this probability; None if unknown."""
    if not 0.5 < probability < 1:
        raise ParameterError(f"probability must be strictly between 0.5 and 1, got {probability}.")
    if isinstance(release.error, WithholdingError):
        return release.error.hidden + 1
    below = _below_threshold(release)
    if below is None:
        law = release.error.law if isinstance(release.error, SanitisedError) else None
        return None if law is None else _first_count(law, probability)
    # A two-sided interval fails on either side with half of 1 - confidence, so a key of this count has a
    # noisy count above the threshold but for 1 - probability.
    above = release.error.interval(2 * probability - 1)[1]
    return None if above is None else max(below + 1 + above, 1)


def _below_threshold(release: Release) -> int | None:
    """Return the largest noisy count below the threshold of the mechanism, if it has one."""
    parameters = release.guarantee.parameters
    if "offset" in parameters:
        return int(parameters["offset"])
    if "threshold" in parameters:
        return max((release.floor or 0) + int(parameters["threshold"]) - 1, 0)
    return None


def _first_count(law: RowDistribution, probability: float) -> int | None:
    """Return the smallest count that is published with this probability; None if none is."""
    low, high = 0, 1
    while float(law.reporting(high)) < probability:
        low, high = high, 2 * high
        if high > LARGEST_COUNT // 4:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if float(law.reporting(middle)) >= probability else (middle, high)
    return high
