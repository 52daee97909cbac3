"""`top` for users: what may be asked for, which route is taken, and what is counted."""

import numpy as np
import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import DataError, ParameterError
from hushcount.jobs.settings import COUNTERS, ReleaseSettings
from hushcount.jobs.users import UserSettings, plan_users
from hushcount.mechanisms.users import EXACT, user_routes
from hushcount.sources.duckdb.bounding import AllRows, DistinctPairs

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
SURE = 1 - 1e-9


def held(users=3000):
    """Every user holds tea twice, milk and salt once; every tenth one other key as well."""
    rows = [("tea", u) for u in range(users) for _ in range(2)]
    rows += [(key, u) for u in range(users) for key in ("milk", "salt")]
    rows += [("rare", u) for u in range(0, users, 300)]
    keys, owners = zip(*rows, strict=True)
    return pa.table({"key": keys, "user": owners})


def bounds(release, key):
    row = next(row for row in release.at_confidence(SURE).table.to_pylist() if row["key"] == key)
    return row["lower"], row["upper"]


@pytest.mark.parametrize(
    ("options", "route"),
    [
        ({"max_keys": 4}, "exact"),
        ({"max_keys": 4, "counters": 1000}, "group"),
        ({"max_keys": 4, "mechanism": "gaussian"}, "exact"),
        ({"max_keys": 4, "mechanism": "truncated-geometric"}, "exact"),
        ({"max_keys": 4, "exact": True}, "exact"),
        ({"max_keys": 4, "mechanism": "gaussian", "counters": 16}, "pamg"),
        ({"max_keys": 1000, "counters": 16}, "pamg"),
        ({"max_keys": 4, "mechanism": "floor"}, "group"),
    ],
)
def test_count_is_the_number_of_users_on_every_route(options, route):
    release = hc.top(held(), column="key", user="user", **options, **BUDGET)
    assert any(note.startswith(f"Route {route}: ") for note in release.notes)
    assert set(release.keys.column("key").to_pylist()) == {"tea", "milk", "salt"}
    for key in ("tea", "milk", "salt"):
        lower, upper = bounds(release, key)
        assert lower <= 3000
        assert upper is None or 3000 <= upper < 4000
    assert release.guarantee.unit.name == "user"
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    meaning = "count is the number of users who kept this key; at most"
    said = f"{meaning} {options['max_keys']} keys each. Intervals are for this number."
    assert release.accuracy().sentences[0] == said
    assert release.to_dict()["counted"] == said
    assert "Rows without a user or a key are dropped." in release.notes


@pytest.mark.parametrize(
    "options", [{"max_keys": 4, "keep_duplicates": True}, {"count": "events", "max_events_per_user": 4}]
)
def test_rows_are_counted_where_asked_for(options):
    table = held().filter(pa.array([key != "rare" for key in held()["key"].to_pylist()]))
    release = hc.top(table, column="key", user="user", **options, **BUDGET)
    lower, upper = bounds(release, "tea")
    assert lower <= 6000 <= upper
    assert lower > 5000
    assert release.guarantee.mechanism == "floor release for groups of 4 rows"
    said = (
        "count is the number of rows kept, not of users; at most 4 rows of each user. Intervals are for this"
        " number."
    )
    assert release.accuracy().sentences[0] == said
    assert any("rows with probability 0.95" in note for note in release.notes)
    assert not any("users with probability" in note for note in release.notes)


def test_a_user_counts_for_no_more_than_the_bound():
    """One user with a million rows of as many keys, and of one key, is nobody."""
    keys = pa.array([f"mine{i % 50}" for i in range(100_000)])
    table = pa.table({"key": keys, "user": np.zeros(100_000, np.int64)})
    for options in ({"max_keys": 3}, {"max_keys": 3, "keep_duplicates": True}):
        release = hc.top(table, column="key", user="user", **options, **BUDGET)
        assert len(release) == 0


@pytest.mark.parametrize("max_keys", [1, 8, 100, 1000])
@pytest.mark.parametrize(("exact", "counters"), [(False, 1000), (False, None), (True, None)])
def test_the_route_is_a_function_of_public_numbers(max_keys, exact, counters):
    """The best sketch if counters are given, else exact counts."""
    user = UserSettings(user="user", max_keys=max_keys, exact=exact)
    plan = plan_users(ReleaseSettings(**BUDGET), user, counters)
    routes = user_routes(1.0, 1e-6, max_keys, counters or COUNTERS, exact=counters is None)
    open_to = [route for route in routes if counters is not None or route.name == EXACT]
    assert plan.route == min(open_to, key=lambda route: route.reliable)
    assert set(plan.others) == set(routes) - {plan.route}
    taken, *others = plan.notes()
    assert taken == f"Route {plan.route.name}: {plan.route.said('users')}."
    assert all(str(other.reliable) in note for other, note in zip(plan.others, others, strict=True))


def test_the_number_of_keys_is_chosen_from_the_data():
    release = hc.top(held(), column="key", user="user", max_keys="auto", **BUDGET)
    chosen = release.guarantee.parameters["max_keys"]
    assert chosen in {1, 2, 4, 8, 16, 32, 64, 128, 256}
    assert set(release.keys.column("key").to_pylist()) == {"tea", "milk", "salt"}
    assert any(note.startswith(f"max_keys = {chosen} was chosen from the data.") for note in release.notes)
    assert "max_keys is chosen for 4% of epsilon, and what it kept is said for 1%." in release.notes
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)


def test_bounds():
    assert UserSettings(user="u", max_keys=3).bound() == DistinctPairs(3)
    assert UserSettings(user="u", max_keys=3, keep_duplicates=True).bound() == AllRows(3)
    assert UserSettings(user="u", count="events", max_events_per_user=2).bound() == AllRows(2)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"user": "user"}, "max_keys must be given with user to count users; it has no default."),
        ({"user": "user", "max_keys": 0}, "max_keys must be at least 1, got 0."),
        ({"user": "user", "max_keys": 0, "keep_duplicates": True}, "max_keys must be at least 1, got 0."),
        (
            {"user": "user", "count": "events", "max_events_per_user": 0},
            "max_events_per_user must be at least 1, got 0.",
        ),
        (
            {"user": "user", "max_keys": 3, "exact": True, "domain": ["tea"], "delta": 0},
            "exact cannot be combined with a public domain; leave out one of them.",
        ),
        (
            {"user": "user", "max_keys": 3, "mechanism": "gaussian", "epsilon": 1e-7, "counters": 131072},
            "epsilon is too small for mechanism gaussian, got 1e-07.",
        ),
        ({"user": "user", "max_keys": True}, "max_keys must be a whole number, got True."),
        ({"max_keys": 3}, "max_keys limits what each user contributes, so it needs user, a column."),
        (
            {"exact": True, "counters": 100},
            "counters cannot be combined with exact counts, which are made on disk.",
        ),
        (
            {"exact": True, "checkpoint": "run.hc"},
            "checkpoint cannot be combined with exact counts, which are made on disk.",
        ),
        (
            {"exact": True, "domain": ["tea"], "delta": 0},
            "exact cannot be combined with a public domain; leave out one of them.",
        ),
        (
            {"user": "user", "max_keys": "auto", "keep_duplicates": True},
            "max_keys = auto cannot be combined with keep_duplicates; give a number.",
        ),
        (
            {"user": "user", "max_keys": "auto", "domain": ["tea"], "delta": 0},
            "domain cannot be combined with max_keys = auto; leave out one of them.",
        ),
        (
            {"user": "user", "max_keys": "auto", "counters": 100},
            "counters cannot be combined with max_keys = auto; leave out one of them.",
        ),
        (
            {"user": "user", "max_keys": "auto", "mechanism": "gaussian"},
            "mechanism cannot be combined with max_keys = auto; leave out one of them.",
        ),
        (
            {"user": "user", "max_keys": "auto", "epsilon": 1e-5},
            "epsilon must be at least 0.0002048 for max_keys = auto, got 1e-05.",
        ),
        ({"user": "user", "max_keys": "many"}, "max_keys must be a whole number, got 'many'."),
        ({"min_users": 5}, "min_users limits what each user contributes, so it needs user, a column."),
        ({"user": "user", "max_keys": 3, "min_users": 0}, "min_users must be at least 1, got 0."),
        (
            {"user": "user", "max_keys": 3, "min_users": 5, "keep_duplicates": True},
            "min_users is for counting users; leave out keep_duplicates and events.",
        ),
        (
            {"user": "user", "max_keys": 3, "min_users": 5, "mechanism": "floor"},
            'min_users cannot be combined with mechanism="floor", which asks for a sketch; leave one out.',
        ),
        (
            {"user": "user", "max_keys": 3, "min_users": 5, "counters": 100},
            "min_users cannot be combined with counters, which asks for a sketch; leave one out.",
        ),
        (
            {"user": "user", "max_keys": 100, "exact": True, "counters": 100},
            "exact cannot be combined with counters, which asks for a sketch; leave one out.",
        ),
        *(
            (
                {"user": "user", "max_keys": 3, "exact": True, "mechanism": name},
                f'exact cannot be combined with mechanism="{name}", which asks for a sketch; leave one out.',
            )
            for name in ("floor", "correlated")
        ),
        (
            {"user": "user", "max_keys": 3, "min_users": 5, "domain": ["tea"], "delta": 0},
            "min_users cannot be combined with a public domain; leave out one of them.",
        ),
        (
            {"count": "events"},
            "max_keys, max_events_per_user and count are for users, so they need user, a column.",
        ),
        ({"count": "clicks"}, "count must be one of users, events, got clicks."),
        (
            {"user": "user", "count": "events", "max_keys": 3},
            "max_events_per_user must be given with user to count events; it has no default.",
        ),
        (
            {"user": "user", "count": "events", "max_keys": 3, "max_events_per_user": 3},
            "max_keys cannot be combined with counting events; give max_events_per_user.",
        ),
        (
            {"user": "user", "max_keys": 3, "max_events_per_user": 3},
            "max_events_per_user cannot be combined with counting users; give max_keys.",
        ),
        (
            {"user": "user", "max_keys": 3, "exact": True, "keep_duplicates": True},
            "exact is for counting each user once; leave out keep_duplicates and events.",
        ),
        ({"user": "who", "max_keys": 3}, "Column 'who' is not in the table; it has: key, user."),
        (
            {"user": "user", "max_keys": 3, "mechanism": "pmg"},
            "mechanism must be one of floor, gaussian, correlated, truncated-geometric with user, got pmg.",
        ),
        (
            {"user": "user", "max_keys": 3, "mechanism": "gaussian", "keep_duplicates": True},
            "mechanism must be floor if rows of users are counted, got gaussian.",
        ),
        (
            {"user": "user", "max_keys": 3, "checkpoint": "run.hc"},
            "checkpoint cannot be combined with user: rows are first sorted by user, and the sort "
            "cannot be resumed.",
        ),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ParameterError) as refused:
        hc.top(held(2), column="key", **{**BUDGET, **options})
    assert str(refused.value) == sentence


def test_a_route_whose_noise_is_too_large_to_draw_is_no_route():
    release = hc.top(held(2), column="key", user="user", max_keys=3, epsilon=1e-7, delta=1e-6)
    assert len(release) == 0
    assert [note for note in release.notes if "pamg" in note] == []


def test_more_rows_than_the_public_bound():
    with pytest.raises(DataError) as refused:
        hc.top(held(100), column="key", user="user", max_keys=3, max_events=10, **BUDGET)
    assert str(refused.value) == (
        "The data hold more than max_events = 10 events, so nothing was released;"
        " this message itself reveals that, outside the guarantee."
    )


def test_a_public_bound_closes_the_interval():
    options = {"user": "user", "max_keys": 3, "mechanism": "gaussian", "counters": 16, "max_events": 100_000}
    release = hc.top(held(), column="key", **options, **BUDGET)
    assert bounds(release, "tea")[1] is not None


def test_a_user_split_over_batches_counts_once(monkeypatch):
    """Rows of one user that DuckDB hands out in two batches are still one user's."""
    from hushcount.sources.duckdb import out_of_core

    monkeypatch.setattr(out_of_core, "ROWS", 2048)
    owners = np.repeat(np.arange(5), 3000)
    table = pa.table({"key": np.tile(np.arange(3000), 5), "user": owners})
    for options in ({"exact": True}, {"mechanism": "gaussian", "counters": 4000}):
        release = hc.top(table, column="key", user="user", max_keys=3000, epsilon=20.0, delta=1e-2, **options)
        assert len(release) < 300  # each key has five users


def test_delta_zero_for_users():
    release = hc.top(
        held(),
        column="key",
        user="user",
        max_keys=4,
        epsilon=1.0,
        delta=0,
        domain=["tea", "milk", "jam"],
        counters=8,
    )
    assert release.guarantee.delta == 0.0
    assert release.guarantee.unit.name == "user"
    assert set(release.keys.column("key").to_pylist()) <= {"tea", "milk", "jam"}


def test_intervals_are_for_what_is_counted():
    """Users of twenty keys keep three of them: no interval held the number of users."""
    users, keys = np.repeat(np.arange(6000), 20), np.tile(np.arange(20), 6000)
    table = pa.table({"key": pa.array([f"key{key}" for key in keys]), "user": users})
    release = hc.top(table, column="key", user="user", max_keys=3, confidence=0.999, **BUDGET)
    assert len(release) == 20
    rows = release.table.to_pylist()
    assert sum(row["lower"] for row in rows) <= 3 * 6000 <= sum(row["upper"] for row in rows)
    assert all(row["upper"] < 6000 for row in rows)
    assert release.accuracy().sentences[0] == (
        "count is the number of users who kept this key; at most 3 keys each. Intervals are for this number."
    )
    assert "A key of at least" in release.accuracy().sentences[-1]
    assert "users is published with probability 0.95 or more." in release.accuracy().sentences[-1]
