"""What a watch keeps of users, against the rule that is proved, and what it asks of the ledger."""

import itertools
from collections import Counter

import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import DataError, LedgerError, ParameterError
from hushcount.jobs.watch.start import watch
from hushcount.jobs.watch.state import open_state
from hushcount.secure import drawn_from

TERMS = {
    "period": "1h",
    "start": "2026-10-01",
    "until": "2026-10-05",
    "epsilon": 20,
    "delta": 1e-7,
    "dataset": "site",
    "column": "url",
    "time": "ts",
    "user": "who",
}
DAILY = {"max_keys": 2, "cell": "1d"}


@pytest.fixture
def make(tmp_path):
    def made(name="site", protects=("user", None), **terms):
        book, (unit, cell) = tmp_path / f"{name}.db", protects
        length, _, zone = (cell or "").partition(" ")
        budget = {"epsilon": 20, "delta": 1e-6, "slack": 0, "unit": unit}
        hc.Ledger(book).init("site", cell=length or None, time_zone=zone or None, **budget)
        return watch(tmp_path / f"{name}.hw", **TERMS | {"ledger": book} | terms)

    return made


@pytest.fixture
def daily(make):
    return lambda name="site", **terms: make(name, ("user-window", "1d"), **DAILY | terms)


def frame(rows, day=1):
    """A table of users and keys, one row per pair."""
    who, urls = zip(*rows, strict=True) if rows else ((), ())
    times = [f"2026-10-{day:02}T05:00:00"] * len(rows)
    return pa.table({"who": list(who), "url": list(urls), "ts": times})


def counted(made, table="pending"):
    """What the state has in a table."""
    with open_state(made._path) as state:
        if table == "pending":
            rows = state.connection.sql("SELECT k0, sum(n)::BIGINT FROM pending GROUP BY k0").fetchall()
            return dict(rows)
        return sorted(state.connection.sql("SELECT owner, k0 FROM seen").fetchall())


def next_period(made, seed):
    with drawn_from(SeededBits(seed)), open_state(made._path) as state:
        state.close(SeededBits(seed))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_of_every_user_the_first_keys_count_once(make, most):
    """One user for each sequence of sets of keys; new keys join, as many as there is room for."""
    made = make(max_pairs=most)
    sets = ["", "a", "b", "ab", "bc", "abc"]
    users = {str(n): rows for n, rows in enumerate(itertools.product(sets, repeat=3))}
    before = dict.fromkeys(users, frozenset())
    for period in range(3):
        rows = [(who, key) for who, several in users.items() for key in several[period] * 2]
        made.add(frame(rows), label=str(period))
        seen = Counter()
        found = dict.fromkeys(users, frozenset())
        for who, key in counted(made, "seen"):
            found[who] |= {key}
        for who, several in users.items():
            joined, new = found[who] - before[who], set(several[period]) - before[who]
            assert before[who] <= found[who]
            assert joined <= new
            assert len(joined) == min(len(new), most - len(before[who]))
            seen.update(joined)
        assert counted(made) == {key: n for key, n in seen.items() if n}
        before = found
        next_period(made, period)


def test_without_a_user_all_others_count_the_same(make):
    rows = [(str(who), key) for who in range(40) for key in "abcdef"[: 1 + who % 6]]
    found = []
    for name, kept in (("all", rows), ("less", [row for row in rows if row[0] != "17"][::-1])):
        made = make(name, max_pairs=2)
        with drawn_from(SeededBits(1)):
            made.add(frame(kept), label="first")
        found.append(counted(made, "seen"))
    assert [pair for pair in found[0] if pair[0] != "17"] == found[1]
    assert len([pair for pair in found[0] if pair[0] == "17"]) == 2


def test_rows_of_other_cells_are_dropped_and_each_cell_begins_anew(daily):
    made = daily()
    made.add(frame([("u", "a")], day=2), label="too early")
    assert counted(made) == {}
    made.add(frame([("u", "a"), ("u", "a"), ("v", "a")]), label="first")
    made.add(frame([("u", "a"), ("u", "b"), ("u", "c")]), label="second")
    assert sum(counted(made).values()) == 3
    for period in range(24):
        assert len(counted(made, "seen")) == 3
        next_period(made, period)
    assert counted(made, "seen") == []
    made.add(frame([("u", "a")], day=1), label="too late")
    assert counted(made) == {}
    made.add(frame([("u", "a"), ("u", "b")], day=2), label="next")
    assert counted(made) == {"a": 1, "b": 1}
    with pytest.raises(ParameterError) as refused:
        made.add(frame([("u", "a")]), label="other", period="2026-10-01T05")
    assert str(refused.value) == (
        "period must lie in the cell in which the open period does; 2026-10-01T05 does not."
    )


def test_a_pair_counts_once_over_all_lives_of_its_key(make):
    made = make(max_pairs=1, retire_below=3)
    for period, users in enumerate([range(9), [], [], range(9), range(9, 12)]):
        made.add(frame([(f"u{who}", "a") for who in users]), label=str(period))
        assert counted(made).get("a", 0) == (len(users) if period != 3 else 0)
        next_period(made, period)
    with open_state(made._path) as state:
        kinds = [row["kind"] for place in range(5) for row in state.answer(place).to_pylist()]
    assert kinds[:3] == ["entry", "node", "retired"]


def test_numbers_and_text_are_one_user(make):
    made = make(max_pairs=1)
    made.add(frame([(7, "a")]), label="numbers")
    made.add(frame([("7", "b")]), label="text")
    assert counted(made, "seen") == [("7", "a")]


def test_the_feed_says_who_is_protected(daily, tmp_path):
    made = daily()
    assert made.sentences[2:4] == (
        "Of each user at most 2 keys count in each cell of 1d, each once: the first that are seen.",
        "Each of them has epsilon 10, by epsilon divided by the keys.",
    )
    made.add(frame([(f"u{who}", "a") for who in range(60)]), label="first")
    made.close(tmp_path / "feed")
    feed = hc.feed(tmp_path / "feed")
    assert (
        " for the rows of one user in one cell of 1d. Counts are of users: of each user at most 2 keys"
        in (feed.statement)
    )
    table = feed.top(period="2026-10-01T00")
    assert [row["key"] for row in table] == ["a"]
    assert hc.Ledger(tmp_path / "site.db").verify() == []


@pytest.mark.parametrize(
    ("protects", "terms", "said"),
    [
        (
            ("event", None),
            DAILY,
            "Dataset site protects one event. A release that protects the rows of one user",
        ),
        (
            ("event", None),
            {"max_pairs": 4},
            "Dataset site protects one event. A release that protects one user",
        ),
        (("user", None), DAILY, "Dataset site protects one user with all of their rows, over all windows."),
        (("user-window", "6h"), DAILY, "Dataset site protects the rows of a user in one cell of 6h, and"),
        (("user-window", "1d Europe/Zurich"), DAILY, "window must begin and end where cells of 1d do"),
        (("user", None), {"user": None}, "Dataset site protects one user with all of their rows"),
    ],
)
def test_the_ledger_and_the_watch_protect_the_same(make, tmp_path, protects, terms, said):
    with pytest.raises((LedgerError, ParameterError)) as refused:
        make(protects=protects, **terms)
    assert str(refused.value).startswith(said)
    assert not (tmp_path / "site.hw").exists()


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"user": None, "max_keys": 2}, "max_keys, cell and max_pairs limit what each user contributes"),
        ({}, "user needs max_keys and cell, to protect what a user does in one cell of time, or max_pairs."),
        ({"max_keys": 2}, "user needs max_keys and cell"),
        (DAILY | {"max_pairs": 3}, "user needs max_keys and cell"),
        ({"max_pairs": 0}, "max_pairs must be at least 1, got 0."),
        (DAILY | {"max_keys": True}, "max_keys must be a whole number, got True."),
        (DAILY | {"cell": "36h"}, "cell must be a whole number of periods, and start and until"),
        (DAILY | {"cell": "1x"}, "cell must be a length such as 6h, 1d or 1w, got 1x."),
        (DAILY | {"time": None}, "cell needs time, the column that tells in which cell a row is."),
        ({"max_pairs": 3, "column": None}, "column must be named with user, got None."),
    ],
)
def test_terms_of_users_are_checked(make, terms, said):
    with pytest.raises(ParameterError) as refused:
        make(**terms)
    assert str(refused.value).startswith(said)


def test_a_batch_that_fails_counts_no_pair(make):
    made = make(max_pairs=2)

    def tables():
        yield pa.table({"key": ["a", "b"], "owner": ["u", "u"]})
        raise DataError("The rest cannot be read.")

    with open_state(made._path) as state, pytest.raises(DataError):
        state.add("first", tables())
    assert counted(made, "seen") == []
    assert made.add(frame([("u", "c"), ("u", "d")]), label="first")
    assert counted(made) == {"c": 1, "d": 1}


def test_a_log_of_users_is_run_day_by_day(daily, tmp_path):
    """Closed late, by one call: each row counts under its own day, of each user two keys a day."""
    made = daily()
    rows = [(f"u{who}", key, day) for day in (1, 2, 4) for who in range(60) for key in ("a", "b", "c")]
    text = "".join(f"{who},{key},2026-10-{day:02}T05:00:00\n" for who, key, day in rows)
    (tmp_path / "log.csv").write_text("who,url,ts\n" + text)
    made.run(tmp_path / "log.csv", tmp_path / "feed", once=True)
    assert made.closed == 96
    # Of 60 users two of three keys on three days: 360 pairs, of which entries and nodes count nearly all.
    counts = [row["count"] for row in hc.feed(tmp_path / "feed").top()]
    assert len(counts) == 3
    assert abs(sum(counts) - 360) <= 12
