"""`top` for users: bound what each contributes, choose the route by public numbers, count, release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hushcount.errors import ParameterError
from hushcount.files.atomic import PathLike
from hushcount.jobs.run import Ask, Progress, Request
from hushcount.mechanisms.users import EXACT, GROUP, PAMG, Route, user_routes
from hushcount.privacy import USER, check_count
from hushcount.releases.accuracy import Counted
from hushcount.sources.duckdb.bounding import AllRows, Bound, DistinctPairs

if TYPE_CHECKING:
    from hushcount.jobs.origin import Origin
    from hushcount.jobs.settings import ReleaseSettings
    from hushcount.mechanisms.base import Calibrated
    from hushcount.privacy import Budget
    from hushcount.releases.release import Release
    from hushcount.shapes import Public, Sketch
    from hushcount.sketches.exact import UserHistogram
    from hushcount.sketches.space_saving import SpaceSaving
    from hushcount.sketches.user_misra_gries import UserMisraGries

COUNTS = ("users", "events")
ROUTES = {"floor": (GROUP,), "gaussian": (PAMG, EXACT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """Whose rows belong together, how much one user may contribute, and what is counted."""

    user: str | None = None
    max_keys: int | None = None
    keep_duplicates: bool = False
    exact: bool = False
    count: str = "users"
    max_events_per_user: int | None = None

    def __post_init__(self) -> None:
        if self.count not in COUNTS:
            raise ParameterError(f"count must be one of {', '.join(COUNTS)}, got {self.count}.")
        if self.user is None:
            self._refuse_without_user()
            return
        needed, other = ("max_keys", "max_events_per_user")[:: 1 if self.count == "users" else -1]
        if getattr(self, needed) is None:
            raise ParameterError(
                f"{needed} must be given with user to count {self.count}; it has no default."
            )
        if getattr(self, other) is not None:
            raise ParameterError(f"{other} does not go with counting {self.count}; give {needed}.")
        if self.exact and not self.counts_users:
            raise ParameterError(
                "exact is for counting each user once; leave out keep_duplicates and events."
            )
        check_count(needed, getattr(self, needed))

    def _refuse_without_user(self) -> None:
        for name in ("max_keys", "keep_duplicates", "exact", "max_events_per_user"):
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

    def bound(self) -> Bound:
        """What is kept of a user."""
        if self.counts_users:
            return DistinctPairs(self.max_keys or 0)
        return AllRows((self.max_keys if self.count == "users" else self.max_events_per_user) or 0)

    def notes(self) -> tuple[str, ...]:
        """Return what is kept of each user; the accuracy of the release says what is counted."""
        largest = self.bound().largest
        kept = f"{largest} different keys, each once," if self.counts_users else f"{largest} rows in all"
        return (f"Of each user at most {kept} are kept, picked by a keyed hash of user and key.",)


NO_USERS = UserSettings()


def kept_counts(noun: str, largest: int) -> Counted:
    """Return what a count is a number of: users who kept the key, or rows that were kept."""
    what = f"users who kept this key; at most {largest} keys each"
    if noun == "rows":
        what = f"rows kept, not of users; at most {largest} rows of each user"
    return Counted(noun, f"count is the number of {what}. Intervals are for this number.")


@dataclass(frozen=True, slots=True)
class UserPlan:
    """One route: its sketch, its mechanism, and why it was taken."""

    settings: ReleaseSettings
    bound: Bound
    route: Route
    others: tuple[Route, ...] = ()
    counted: str = "users"

    def bounded(self, request: Request, users: UserSettings, progress: Progress | None) -> Request:
        """Return the request for rows of users, as many of each as the bound allows."""
        with_users = self.route.name == PAMG
        return replace(request, user=users.user, bound=self.bound, with_users=with_users, progress=progress)

    def sketch(self, counters: int) -> UserMisraGries | UserHistogram | SpaceSaving:
        """Return an empty sketch of this route, whose unit is one user with all rows that are kept."""
        sketch = self._empty(counters)
        sketch.unit = replace(USER, rows=self.bound.largest)
        return sketch

    def _empty(self, counters: int) -> UserMisraGries | UserHistogram | SpaceSaving:
        if self.route.name == PAMG:
            from hushcount.sketches.user_misra_gries import UserMisraGries

            return UserMisraGries(counters=counters)
        if self.route.name == EXACT:
            from hushcount.sketches.exact import Exact, UserHistogram

            return UserHistogram(Exact(), self.bound.largest)
        from hushcount.sketches.space_saving import SpaceSaving

        return SpaceSaving(counters=counters)

    def stating(self, whole: Release) -> Release:
        """Return the release with the statement of what its counts are numbers of."""
        return whole.counting(kept_counts(self.counted, self.bound.largest))

    def notes(self) -> tuple[str, ...]:
        """Say which route was taken, and what the others would have published."""
        if self.settings.domain is not None:
            return (f"Route {self.route.name}: {self.route.way}.",)
        taken = f"Route {self.route.name}: {self.route.said(self.counted)}."
        return (taken, *(f"Not taken, {other.name}: {other.said(self.counted)}." for other in self.others))


@dataclass(frozen=True, slots=True)
class UserAsk(Ask["Release"]):
    """A table of the most frequent keys, of which each user contributes a bounded number."""

    request: Request
    plan: UserPlan
    users: UserSettings
    counters: int

    @property
    def outputs(self) -> tuple[PathLike | None, ...]:
        """The table."""
        return (self.plan.settings.output,)

    @property
    def budget(self) -> Budget:
        """What the table spends."""
        return self.plan.settings.budget

    @property
    def max_events(self) -> int | None:
        """The public bound on the number of rows that are kept."""
        return self.plan.settings.max_events

    def sketch(self) -> Sketch:
        """Return the sketch of the route."""
        return self.plan.sketch(self.counters)

    def mechanism(self, public: Public) -> Calibrated:
        """Return the mechanism of the route; rows of one user are protected together."""
        return self.plan.settings.prepared(public)

    def finish(self, whole: Release, origin: Origin) -> Release:
        """Return the table with notes on what was kept of a user, written where asked."""
        settings = self.plan.settings
        notes = (*origin.notes, *self.users.notes(), *self.plan.notes())
        return settings.written(settings.finished(self.plan.stating(whole), replace(origin, notes=notes)))


def plan_users(settings: ReleaseSettings, user: UserSettings, counters: int) -> UserPlan:
    """The route of the smallest reliable count, by public parameters alone, or the one that is named."""
    bound = user.bound()
    if settings.domain is not None:
        if user.exact:
            raise ParameterError("exact does not go with a public domain; leave out one of them.")
        sentence = f"noise for {bound.largest} rows of a user together on every key of the domain"
        return UserPlan(settings, bound, Route(GROUP, 0, 0, sentence), counted=user.counted)
    allowed = allowed_routes(settings.mechanism, user)
    routes = user_routes(settings.epsilon, settings.delta, bound.largest, counters, user.exact)
    open_to = [route for route in routes if route.name in allowed]
    return chosen_plan(settings, user, open_to)


def chosen_plan(settings: ReleaseSettings, user: UserSettings, routes: list[Route]) -> UserPlan:
    """The first of the routes that are possible, in this order."""
    if not routes:
        raise ParameterError(
            f"epsilon is too small for mechanism {settings.mechanism}, got {settings.epsilon:g}."
        )
    return UserPlan(settings, user.bound(), routes[0], tuple(routes[1:]), user.counted)


def allowed_routes(mechanism: str | None, user: UserSettings) -> tuple[str, ...]:
    """The routes open to a mechanism, or to any; only the group route counts rows."""
    if mechanism is not None and mechanism not in ROUTES:
        raise ParameterError(f"mechanism must be one of {', '.join(ROUTES)} with user, got {mechanism}.")
    if user.counts_users:
        return (GROUP, PAMG, EXACT) if mechanism is None else ROUTES[mechanism]
    if mechanism == "gaussian":
        raise ParameterError("mechanism must be floor where a user's rows are counted, got gaussian.")
    return (GROUP,)
