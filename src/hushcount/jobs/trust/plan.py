"""`hc.plan`: what a table will hold, before any data are read and without spending anything."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

from hushcount.errors import ParameterError, PrivacyWarning
from hushcount.jobs.exact import CountsOnDisk
from hushcount.jobs.settings import COUNTERS, ReleaseSettings
from hushcount.jobs.trust.key_frequencies import KeyFrequencies, Spectrum, spectrum_of
from hushcount.jobs.trust.outlook import Outlook, TablePlan
from hushcount.jobs.trust.share import share_of_rows
from hushcount.jobs.users import UserSettings, for_table, plan_users
from hushcount.keys.domains import Domain
from hushcount.keys.memory import Data
from hushcount.mechanisms.base import Calibrated
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.registry import prepare
from hushcount.mechanisms.total import total_noise
from hushcount.privacy import LARGEST_COUNT, check_count
from hushcount.releases.accuracy import RELIABLE

LEAST_EPSILON, LARGEST_EPSILON = 1e-3, 20.0  # between which an epsilon is looked for
# Multiples of the epsilon asked for, and numbers of keys per user, that the tables of a plan compare.
FACTORS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BOUNDS = (1, 2, 3, 5, 8, 13, 20, 50, 100)
CLOSE = 1.1  # so much above what exact counts would give counts as enough counters
MOST_COUNTERS = 1 << 26
EXACT_WHY = "asked for by exact: every key is counted on disk"
DOMAIN_WHY = "the default for a public domain: delta is 0, and every key of the domain gets noise"
FLOOR_WHY = "the default for events: one pass, memory bounded by the counters"


def plan(
    rows: int,
    *,
    delta: float,
    epsilon: float | None = None,
    rho: float | None = None,
    keys: KeyFrequencies = "zipf:1.1:1000000",
    max_keys: int | None = None,
    users: int | None = None,
    exact: bool = False,
    counters: int | None = None,
    mechanism: str | None = None,
    max_events: int | None = None,
    domain: Data = None,
    other: bool = False,
    other_share: float | None = None,
    share: float | None = None,
    want_count: int | None = None,
    want_keys: int | None = None,
    want_error: int | None = None,
) -> TablePlan:
    """Tell what `top` will publish, from the number of rows and how keys are distributed.

    Nothing is read and nothing is spent. The answer comes from the calibration of the mechanism that `top`
    would use, so it is as good as the guess of how often keys occur.

    Parameters
    ----------
    rows : int
        The number of rows that are expected; for users, of different pairs of user and key.
    delta : float
        The delta of the budget.
    epsilon : float, optional
        The epsilon of the budget. Leave it out to find the smallest one for `want_count`, `want_keys` or
        `want_error`.
    rho : float, optional
        In place of epsilon, for Gaussian noise: the budget in zero-concentrated differential privacy.
    keys : str, path, Release or sequence of int
        How often keys occur: "zipf:EXPONENT:KEYS", an earlier release or its JSON file, or the counts of a
        public sample, scaled to `rows`.
    max_keys : int, optional
        Protect users, each with at most so many keys.
    users : int, optional
        The number of users, to tell how many rows `max_keys` leaves: keys of users are taken to be
        geometrically distributed. Without it all rows are kept.
    exact : bool
        As for `top`: exact counts of all keys, which are the default for users.
    counters : int, optional
        The counters of the sketch (131072); users are then counted in one, as by `top`.
    mechanism : str, optional
        The mechanism, as for `top`.
    max_events : int, optional
        A public bound on the number of events, for mechanisms that need one.
    domain : "A..B", range, list of keys or path, optional
        All keys that can occur, as for `top`; it requires delta = 0.
    other, other_share
        As for `top`: a noisy total takes a share of epsilon, and the table gets the rest.
    share : float, optional
        As for `top`, of `max_events` or else of `rows`: tell how many counters the share needs, and take
        them unless `counters` is given.
    want_count : int, optional
        Find the smallest epsilon at which a key of this count is published with probability 0.95.
    want_keys : int, optional
        Find the smallest epsilon at which so many keys are published on average.
    want_error : int, optional
        Find the smallest epsilon at which counts are within this of the truth with confidence 0.95.

    Returns
    -------
    TablePlan
        What to expect; print it, or read its attributes.

    Raises
    ------
    ParameterError
        If a number breaks its rule, or no epsilon up to 20 gives what is wanted.

    Examples
    --------
    >>> plan(1_000_000, epsilon=1.0, delta=1e-8, keys="zipf:1.2:100000").smallest_count
    25
    """
    wanted = _wanted((epsilon, rho), want_count, want_keys, want_error)
    settings = ReleaseSettings(
        epsilon=1.0 if epsilon is None and rho is None else epsilon,
        rho=rho,
        delta=delta,
        mechanism=mechanism,
        max_events=max_events,
        domain=domain,
        other=other,
        other_share=other_share,
    ).with_domain("auto")
    check_count("rows", rows, most=LARGEST_COUNT)
    size = COUNTERS if counters is None else check_count("counters", counters, least=2)
    shared = None if share is None else share_of_rows(settings, share, rows)
    if shared is not None and counters is None:
        size = shared.counters
    user = None if max_keys is None else "user"
    given = UserSettings(user=user, max_keys=max_keys, exact=exact)
    if users is not None and max_keys is None:
        raise ParameterError("users tells how much max_keys leaves of them, so it needs max_keys.")
    asked = _Asked(settings, given, size, spectrum_of(keys, rows), rows, users, counters is not None)
    found = asked.plan(asked.stated if wanted is None else asked.least_epsilon(wanted))
    return replace(found, share=shared)


def _wanted(
    budget: tuple[float | None, float | None], count: int | None, keys: int | None, error: int | None
) -> Callable[[Outlook], bool] | None:
    """Return the wish, or raise unless there is exactly one of epsilon and the three wishes."""
    if sum(each is not None for each in (*budget, count, keys, error)) != 1:
        raise ParameterError(
            "epsilon must be given, or one of want_count, want_keys and want_error, for which it is found."
        )
    if count is not None:
        least = check_count("want_count", count, most=LARGEST_COUNT)
        return lambda outlook: outlook.smallest_count <= least
    if keys is not None:
        many = check_count("want_keys", keys, most=LARGEST_COUNT)
        return lambda outlook: outlook.expected_keys >= many
    if error is not None:
        width = check_count("want_error", error, least=0, most=LARGEST_COUNT)
        return lambda outlook: outlook.error <= width
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question to the planner."""

    settings: ReleaseSettings
    users: UserSettings
    counters: int
    spectrum: Spectrum
    rows: int
    number_of_users: int | None
    sketched: bool

    @property
    def stated(self) -> float:
        """The epsilon, or the rho, that is asked for."""
        return self.settings.loss if self.settings.rho is None else self.settings.rho

    def _spending(self, amount: float) -> _Asked:
        """Return the same question at another epsilon, or rho if the budget is stated so."""
        if self.settings.rho is None:
            return replace(self, settings=replace(self.settings, epsilon=amount))
        return replace(self, settings=replace(self.settings, rho=amount))

    def plan(self, amount: float) -> TablePlan:
        """Return the answer at one epsilon or rho, and around it."""
        at = self._spending(amount)
        mechanism, why = at._mechanism()
        tried = [at._at(factor * amount) for factor in FACTORS]
        by_epsilon = [each for each in tried if each and LEAST_EPSILON <= each.epsilon <= LARGEST_EPSILON]
        bounds = [] if self.users.max_keys is None else sorted({*BOUNDS, self.users.max_keys})
        by_max_keys = [replace(at, users=replace(self.users, max_keys=each)) for each in bounds]
        return TablePlan(
            self.rows,
            self.settings.delta,
            at._outlook(),
            mechanism.name if self.users.user is None else why.partition(":")[0],
            why if self.users.user is None else why.partition(": ")[2],
            self.counters,
            at._counters_needed(mechanism.forecast()),
            at._kept().floor(self.counters),
            tuple(by_epsilon),
            tuple(each for each in (one._at(amount) for one in by_max_keys) if each is not None),
            self.settings.rho,
            at._other_error(),
        )

    def _other_error(self) -> int | None:
        """Return how far a noisy total may lie from the truth; None if none is asked for."""
        share, rows = self.settings.other_share, cast("int | None", self.users.max_keys)
        if share is None:
            return None
        return total_noise(self.settings.budget, share, rows or 1).two_sided(1 - RELIABLE)

    def least_epsilon(self, wanted: Callable[[Outlook], bool]) -> float:
        """Return the smallest epsilon, to three digits, at which a wish is granted, or raise."""

        def granted(epsilon: float) -> bool:
            outlook = self._at(epsilon)
            return outlook is not None and wanted(outlook)

        low, high = LEAST_EPSILON, LARGEST_EPSILON
        if not granted(high):
            raise ParameterError(
                f"No epsilon up to {LARGEST_EPSILON:g} gives that; ask for less, or expect more rows."
            )
        while high / low > 1.0005:  # to three digits
            middle = math.sqrt(low * high)
            low, high = (low, middle) if granted(middle) else (middle, high)
        rounded = float(f"{high:.3g}")
        return rounded if granted(rounded) else high

    def _at(self, amount: float) -> Outlook | None:
        """Return what is expected at another epsilon or rho; None if no such noise can be drawn."""
        with warnings.catch_warnings(), suppress(ParameterError):
            warnings.simplefilter("ignore", PrivacyWarning)  # nobody asked for this epsilon
            return self._spending(amount)._outlook()
        return None

    def _outlook(self) -> Outlook:
        """Return what is expected."""
        forecast, kept = self._mechanism()[0].forecast(), self._kept()
        floor = self._floor(kept, forecast, self.counters)
        return Outlook(
            self.settings.budget.epsilon,
            kept.published(forecast, floor),
            forecast.smallest(RELIABLE, floor),
            forecast.error(RELIABLE, floor),
            cast("int | None", self.users.max_keys),
            forecast.mean_squared_error(floor),
        )

    def _mechanism(self) -> tuple[Calibrated, str]:
        """Return the mechanism that `top` would use, calibrated, and why it is this one."""
        settings = self.settings
        if self.users.user is None and self.users.exact:
            public = CountsOnDisk().public().within(settings.max_events)
            return prepare(settings.mechanism, for_table(settings), public), EXACT_WHY
        if self.users.user is None:
            domain = cast("Domain | None", settings.domain)
            public = settings.sketch(self.counters).public().within(settings.max_events, domain)
            why = FLOOR_WHY if domain is None else DOMAIN_WHY
            why = why if settings.mechanism is None else "asked for by name"
            return prepare(settings.mechanism, for_table(settings), public), why
        chosen = plan_users(settings, self.users, self.counters if self.sketched else None)
        public = chosen.sketch(self.counters).public().within(settings.max_events)
        return prepare(
            settings.mechanism, for_table(settings), public
        ), f"{chosen.route.name}: {chosen.route.way}"

    def _kept(self) -> Spectrum:
        """Return the expected counts of the rows that are kept."""
        most = cast("int | None", self.users.max_keys)
        if most is None or self.number_of_users is None:
            return self.spectrum
        each = max(self.rows / check_count("users", self.number_of_users, most=LARGEST_COUNT), 1.0)
        return self.spectrum.scaled(-math.expm1(most * math.log1p(-1 / each)) if each > 1 else 1.0)

    def _floor(self, kept: Spectrum, forecast: KeyForecast, counters: int) -> float:
        """Return the floor above which a mechanism counts; over a domain it takes the mean counter away."""
        if not forecast.above_floor:
            return 0.0
        return self.rows / counters if forecast.domain_size else kept.floor(counters)

    def _counters_needed(self, forecast: KeyForecast) -> int:
        """Return the smallest power of two from which on more counters hardly publish smaller counts."""
        if not forecast.above_floor:
            return self.counters
        kept, aim = self._kept(), CLOSE * forecast.smallest(RELIABLE, 0.0)
        size = 1 << 6
        while size < MOST_COUNTERS and forecast.smallest(RELIABLE, self._floor(kept, forecast, size)) > aim:
            size *= 2
        return size
