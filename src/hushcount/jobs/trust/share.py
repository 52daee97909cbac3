"""How many counters `top --share` takes, so that keys with more than that share of all events are published.

Public numbers alone decide it. To take more counters than 1 / share is the oversampling of Holland 2025.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from hushcount.errors import ParameterError
from hushcount.mechanisms.linear.calibration import LARGEST_WIDTH
from hushcount.mechanisms.linear.measured import TRACKED
from hushcount.mechanisms.registry import MECHANISMS, prepare
from hushcount.mechanisms.total import rest_of
from hushcount.noise.lattice import typed
from hushcount.privacy import check_fraction
from hushcount.releases.accuracy import RELIABLE
from hushcount.shapes import Public, TrackedCells

if TYPE_CHECKING:
    from hushcount.jobs.settings import ReleaseSettings
    from hushcount.keys.domains import Domain
    from hushcount.mechanisms.forecast import KeyForecast

OVERSAMPLED = 8  # counters for each key that can have the share: the floor is an eighth of it at most
MOST_COUNTERS = 1 << 26


@dataclass(frozen=True, slots=True)
class SharePlan:
    """How many counters it takes to publish every key with more than a given share of all events.

    Parameters
    ----------
    share : float
        The share.
    count : int
        The smallest count of a key that has more than the share.
    needed : int
        The smallest number of counters with which such a key is published with probability 0.95.
    counters : int
        The number that `top` takes: at least 8 for each key that can have the share.
    """

    share: float
    count: int
    needed: int
    counters: int

    @property
    def sentence(self) -> str:
        """The plan in words."""
        return (
            f"A key with a share above {self.share:g}, {self.count:,} events or more, needs"
            f" {self.needed:,} counters; top takes {self.counters:,}, so that a count is too high by at most"
            " an eighth of the share."
        )


def check_share(settings: ReleaseSettings, share: float, events: int | None) -> None:
    """Raise unless a share of all events is a number, and it is known of how many events."""
    check_fraction("share", share)
    if events is not None:
        return
    if settings.other_share is None:
        raise ParameterError(
            "share needs max_events, the public bound it is a share of, or other, a noisy total that is paid"
            " for."
        )
    named = settings.mechanism
    if settings.domain is not None or (named is not None and MECHANISMS[named].sketch == "misra-gries"):
        raise ParameterError(
            "share needs max_events here: without it nothing bounds what the sketch leaves out of a count."
        )


def share_of_rows(settings: ReleaseSettings, share: float, rows: int) -> SharePlan:
    """Return the plan for a share of `max_events`, or of the rows expected; raise as `top` would."""
    events = rows if settings.max_events is None else settings.max_events
    check_share(settings, share, events)
    return plan_share(settings, share, events)


def share_counters(settings: ReleaseSettings, share: float) -> int:
    """Return the counters that `top` takes for a share, if none are given, or raise if none suffice.

    Without a bound on the events, a share of a noisy total says nothing about how many events a key needs.
    """
    if settings.max_events is None:
        return _oversampled(share)
    return plan_share(settings, share, settings.max_events).counters


def plan_share(settings: ReleaseSettings, share: float, events: int) -> SharePlan:
    """Return the plan for a share of so many events at this budget, or raise if no counters suffice."""
    wanted = math.floor(typed(share) * events) + 1
    most = LARGEST_WIDTH if settings.mechanism in TRACKED else MOST_COUNTERS
    low, high = 1, min(max(math.ceil(1 / typed(share)), 2), most)
    while (reached := _reliable(settings, high, events)) > wanted:
        if high >= most:
            raise ParameterError(
                f"share must be larger at this budget, got {share:g}: it is {wanted:,} of {events:,} events,"
                f" and only keys with at least {reached:,} events are published reliably."
            )
        low, high = high, min(2 * high, most)
    step = high - low if settings.mechanism in TRACKED else 1  # each size of cells takes a while to plan
    while high - low > step:
        middle = (low + high) // 2
        low, high = (low, middle) if _reliable(settings, middle, events) <= wanted else (middle, high)
    return SharePlan(share, wanted, high, max(high, _oversampled(share)))


def _oversampled(share: float) -> int:
    """Return enough counters that a key with the share has eight times the largest possible floor."""
    return min(max(math.ceil(OVERSAMPLED / typed(share)), 2), MOST_COUNTERS)


def _reliable(settings: ReleaseSettings, counters: int, events: int) -> int:
    """Return the smallest count that is published reliably, whatever the other keys are."""
    forecast = _forecast(settings, counters)
    each = (1 - RELIABLE) / (2 if settings.other_share is None else 3)  # as in releases/share.py
    return forecast.smallest(1 - each, events // counters if forecast.above_floor else 0)


def _forecast(settings: ReleaseSettings, counters: int) -> KeyForecast:
    """Return what the mechanism would publish with so many counters, without making a sketch of them."""
    if settings.mechanism in TRACKED:
        public = Public(parts=counters, shape=TrackedCells)
    else:
        public = settings.sketch(2).public()
        more, sizes = counters - 2, (public.candidates, public.parts)
        candidates, parts = (None if size is None else size + more for size in sizes)
        public = replace(public, candidates=candidates, parts=parts)
    budget = settings.budget
    if settings.other_share is not None:
        budget = rest_of(budget, settings.other_share)
    public = public.within(settings.max_events, cast("Domain | None", settings.domain))
    return prepare(settings.mechanism, budget, public).forecast()
