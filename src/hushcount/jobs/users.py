"""`top` for users: bound what each contributes, choose the route by public numbers, count, release."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

from hushcount.errors import ParameterError
from hushcount.jobs.choices import AUTO, COUNTED, check_max_keys
from hushcount.jobs.exact import MOST_PLACES, ChosenAsk, CountsOnDisk, ExactAsk, RankedOnDisk
from hushcount.jobs.request import Request, kept_counts, kept_sentence
from hushcount.jobs.run import Running, TableAsk
from hushcount.jobs.settings import COUNTERS, ReleaseSettings
from hushcount.mechanisms.base import NOT_GAUSSIAN
from hushcount.mechanisms.registry import MECHANISMS
from hushcount.mechanisms.thresholds import LARGEST_THRESHOLD
from hushcount.mechanisms.total import rest_of
from hushcount.mechanisms.users import EXACT, GROUP, PAMG, Route, exact_routes, sketch_route, user_routes
from hushcount.privacy import LARGEST_COUNT, USER, Budget, check_count
from hushcount.releases.accuracy import Counted
from hushcount.shapes import Sketch
from hushcount.sketches.counters import SpaceSaving
from hushcount.sketches.users import UserMisraGries
from hushcount.sources.duckdb.bounding import AllRows, DistinctPairs, PlacedPairs, UserBound

Asked = TypeVar("Asked", bound=Request)
ROUTES = {
    "floor": (GROUP,),
    "gaussian": (PAMG, EXACT),
    "correlated": (PAMG,),
    "truncated-geometric": (EXACT,),
}
SKETCHES = (GROUP, PAMG)
CHOSEN_NOTES = (
    "Of each user as many different keys are kept, each once, as max_keys allows, picked by a keyed hash of"
    " user and key.",
    "max_keys is chosen for 4% of epsilon, and what it kept is said for 1%.",
)
CHOSEN_COUNTS = Counted(
    "users", "count is the number of users who kept this key. Intervals are for this number."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """Whose rows belong together, how much one user may contribute, and what is counted."""

    user: str | None = None
    max_keys: int | str | None = None
    keep_duplicates: bool = False
    exact: bool = False
    count: str = "users"
    max_events_per_user: int | None = None
    min_users: int | None = None

    def __post_init__(self) -> None:
        if self.count not in COUNTED:
            raise ParameterError(f"count must be one of {', '.join(COUNTED)}, got {self.count}.")
        if self.user is None:
            self._refuse_without_user()
            return
        needed, other = ("max_keys", "max_events_per_user")[:: 1 if self.count == "users" else -1]
        if getattr(self, needed) is None:
            raise ParameterError(
                f"{needed} must be given with user to count {self.count}; it has no default."
            )
        if getattr(self, other) is not None:
            raise ParameterError(f"{other} cannot be combined with counting {self.count}; give {needed}.")
        if self.exact and not self.counts_users:
            raise ParameterError(
                "exact is for counting each user once; leave out keep_duplicates and events."
            )
        if not self.auto:
            self._most()
        elif not self.counts_users:
            raise ParameterError("max_keys = auto cannot be combined with keep_duplicates; give a number.")
        if self.min_users is not None:
            check_count("min_users", self.min_users, most=LARGEST_THRESHOLD)
            if not self.counts_users:
                raise ParameterError("min_users is for counting users; leave out keep_duplicates and events.")

    @property
    def auto(self) -> bool:
        """Whether the number of keys of a user is chosen from the data."""
        return self.max_keys == AUTO

    def _refuse_without_user(self) -> None:
        for name in ("max_keys", "keep_duplicates", "max_events_per_user", "min_users"):
            if getattr(self, name):
                raise ParameterError(f"{name} limits what each user contributes, so it needs user, a column.")
        if self.max_keys is not None or self.max_events_per_user is not None or self.count != "users":
            raise ParameterError(
                "max_keys, max_events_per_user and count are for users, so they need user, a column."
            )

    @property
    def counts_users(self) -> bool:
        """Whether each user counts once for a key."""
        return self.count == "users" and not self.keep_duplicates

    @property
    def counted(self) -> str:
        """What a count is a number of."""
        return "users" if self.counts_users else "rows"

    def bound(self) -> UserBound:
        """What is kept of a user."""
        return DistinctPairs(self._most()) if self.counts_users else AllRows(self._most())

    def _most(self) -> int:
        """How many keys, or events, of a user are kept; it raises for what is no such number."""
        if self.count == "users":
            return check_max_keys(self.max_keys)
        return check_count("max_events_per_user", cast("int", self.max_events_per_user), most=LARGEST_COUNT)


@dataclass(frozen=True, slots=True)
class UserPlan:
    """One route: its sketch, its mechanism, and why it was taken."""

    settings: ReleaseSettings
    users: UserSettings
    bound: UserBound
    route: Route
    others: tuple[Route, ...] = ()

    def bounded(self, request: Asked) -> Asked:
        """Return the request for rows of users, as many of each as the bound allows."""
        user, with_users, ordered = self.users.user, self.route.name == PAMG, self.route.name != EXACT
        return replace(request, user=user, bound=self.bound, with_users=with_users, ordered=ordered)

    def sketch(self, counters: int) -> Sketch:
        """Return an empty sketch of this route, whose unit is one user with all rows that are kept."""
        sketch = self._empty(counters)
        sketch.unit = replace(USER, rows=self.bound.largest)
        return sketch

    def _empty(self, counters: int) -> UserMisraGries | CountsOnDisk | SpaceSaving:
        if self.route.name == PAMG:
            return UserMisraGries(counters=counters)
        if self.route.name == EXACT:
            largest, least = self.bound.largest, self.users.min_users
            return CountsOnDisk(moved=largest, max_events=self.settings.max_events, min_users=least)

        return SpaceSaving(counters=counters)

    def ask(self, request: Request, new: Callable[[], Sketch], assumptions: tuple[str, ...] = ()) -> TableAsk:
        """Return the job: a table that says what is kept of each user, and what is counted."""
        largest, counted = self.bound.largest, self.users.counted
        what = kept_sentence(largest, rows=not self.users.counts_users)
        meant = kept_counts(counted, largest)
        kind = ExactAsk if self.route.name == EXACT else TableAsk
        return kind(request, self.settings, new, (what, *self.notes()), assumptions, meant)

    def notes(self) -> tuple[str, ...]:
        """Say which route was taken, and what the others would have published."""
        if self.settings.domain is not None:
            return (f"Route {self.route.name}: {self.route.way}.",)
        users, routes = self.users, (self.route, *self.others)
        counted, least = users.counted, least_notes(users.min_users)
        first, *others = [f"{route.name}: {route.said(counted)}." for route in routes]
        return (f"Route {first}", *map("Not taken, {}".format, others), *least)


def least_notes(min_users: int | None) -> tuple[str, ...]:
    """Say that keys of few users are never published, if it was asked."""
    few = f"A key that fewer than {min_users} users kept is never published, whatever the noise (min_users)."
    return () if min_users is None else (few,)


def plan_users(settings: ReleaseSettings, user: UserSettings, counters: int | None) -> UserPlan:
    """Return the route that is named, or exact counts on disk, or with counters the best one.

    Public numbers alone decide. Counters ask for a sketch, which needs no disk once rows are sorted.
    """
    bound, size = user.bound(), COUNTERS if counters is None else counters
    if settings.domain is not None:
        if user.exact or user.min_users is not None:
            name = "exact" if user.exact else "min_users"
            raise ParameterError(f"{name} cannot be combined with a public domain; leave out one of them.")
        sentence = f"noise for {bound.largest} rows of a user together on every key of the domain"
        return UserPlan(settings, user, bound, Route(GROUP, 0, 0, sentence))
    allowed = allowed_routes(settings.mechanism, user)
    _check_exact(user, settings.mechanism, counters)
    routes = routes_for(settings, bound.largest, size)
    if settings.mechanism == "gaussian":
        routes = [route for route in routes if route.name != PAMG]
        with suppress(ParameterError):
            routes.append(sketch_route(for_table(settings), size, shared=False))
    if user.counts_users and counters is None:
        routes += _exact(settings, bound, user.min_users)
    if user.min_users is not None:  # not proved for sketches, so they are no other routes
        allowed = (EXACT,)
    open_to = sorted((route for route in routes if route.name in allowed), key=lambda route: route.reliable)
    if counters is None:  # nothing but a name or counters takes a sketch
        open_to.sort(key=lambda route: route.name != EXACT)
    return chosen_plan(settings, user, bound, open_to)


def _check_exact(user: UserSettings, mechanism: str | None, counters: int | None) -> None:
    """Raise if exact counts are asked for, or what is proved for them alone, together with a sketch."""
    asked = "exact" if user.exact else "min_users" if user.min_users is not None else None
    sketched = mechanism is not None and EXACT not in ROUTES[mechanism]
    if asked is not None and (sketched or counters is not None):
        given = "counters" if counters is not None else f'mechanism="{mechanism}"'
        raise ParameterError(
            f"{asked} cannot be combined with {given}, which asks for a sketch; leave one out."
        )


def for_table(settings: ReleaseSettings) -> Budget:
    """Return what the table spends; a noisy total takes its share before."""
    share = settings.other_share
    return settings.budget if share is None else rest_of(settings.budget, share)


def _exact(settings: ReleaseSettings, bound: UserBound, min_users: int | None) -> list[Route]:
    """Return the best way to release exact counts by the mechanism that is named, or by any."""
    with suppress(ParameterError):  # no noise of that size can be drawn
        for route in exact_routes(for_table(settings), bound.largest):
            if settings.mechanism in (None, route.mechanism):
                return [route.lifted(min_users)]
    return []


def chosen_ask(request: Request, asked: tuple[ReleaseSettings, UserSettings], running: Running) -> ChosenAsk:
    """Return the job whose number of keys of a user is chosen from the data, or raise."""
    settings, user = asked
    refused = (
        ("checkpoint", running.checkpoint),
        ("counters", running.counters),
        ("mechanism", settings.mechanism),
        ("domain", settings.domain),
        ("other", settings.other_share),
    )
    for name, given in refused:
        if given is not None:
            raise ParameterError(f"{name} cannot be combined with max_keys = auto; leave out one of them.")
    wide = replace(
        request, user=user.user, bound=PlacedPairs(MOST_PLACES), ordered=False, progress=running.progress
    )
    new = partial(RankedOnDisk, max_events=settings.max_events, min_users=user.min_users)
    notes = (*CHOSEN_NOTES, *least_notes(user.min_users))
    return ChosenAsk(wide, settings, new, notes, (), CHOSEN_COUNTS)


def exact_events(request: Request, settings: ReleaseSettings, running: Running) -> ExactAsk:
    """Return the job that counts every key of events on disk, or raise."""
    for name, given in (("counters", running.counters), ("checkpoint", running.checkpoint)):
        if given is not None:
            raise ParameterError(f"{name} cannot be combined with exact counts, which are made on disk.")
    if settings.domain is not None:
        raise ParameterError("exact cannot be combined with a public domain; leave out one of them.")
    if request.weight is not None and settings.other_share is not None:
        raise ParameterError("other cannot be combined with weight: the total is that of single events.")
    new = partial(CountsOnDisk, max_events=settings.max_events, unit=request.unit)
    return ExactAsk(replace(request, ordered=False), settings, new, counted=request.counted)


def routes_for(settings: ReleaseSettings, largest: int, counters: int) -> list[Route]:
    """Return the routes of sketches for a budget: with Gaussian noise if it is stated by rho."""
    budget = for_table(settings)
    if budget.rho is None:
        return user_routes(budget.epsilon, budget.delta, largest, counters)
    with suppress(ParameterError):  # no noise of that size can be drawn
        return [sketch_route(budget, counters)]
    return []


def chosen_plan(
    settings: ReleaseSettings, user: UserSettings, bound: UserBound, routes: list[Route]
) -> UserPlan:
    """Return the plan of the first of the routes that are possible, in this order."""
    if not routes:
        name = settings.mechanism or ("correlated" if user.counts_users else "floor")
        if settings.rho is None:
            raise ParameterError(
                f"epsilon is too small for mechanism {name}, got {settings.budget.epsilon:g}."
            )
        if not MECHANISMS[name].gaussian:
            raise ParameterError(NOT_GAUSSIAN.format(name))
        raise ParameterError(f"rho is too small for mechanism {name}, got {settings.rho:g}.")
    return UserPlan(settings, user, bound, routes[0], tuple(routes[1:]))


def allowed_routes(
    mechanism: str | None, user: UserSettings, offered: tuple[str, ...] = (GROUP, PAMG, EXACT)
) -> tuple[str, ...]:
    """The routes open to a mechanism, or to any, among those offered; only the group route counts rows."""
    names = [name for name, routes in ROUTES.items() if set(routes) & set(offered)]
    if mechanism is not None and mechanism not in names:
        raise ParameterError(f"mechanism must be one of {', '.join(names)} with user, got {mechanism}.")
    if user.counts_users:
        return offered if mechanism is None else ROUTES[mechanism]
    if mechanism not in (None, "floor"):
        raise ParameterError(f"mechanism must be floor if rows of users are counted, got {mechanism}.")
    return (GROUP,)
