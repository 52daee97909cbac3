"""A watch from rows to feed: what is published, nothing twice, old copies."""

import math
import os
import shutil
import signal
import stat
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.privacy.continual_law import below, geometric
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import BudgetExceeded, DataError, LedgerError, ParameterError
from hushcount.jobs.watch.start import watch
from hushcount.jobs.watch.state import open_state
from hushcount.jobs.watch.watch import Watch
from hushcount.secure import drawn_from

SIGMAS = 6.2  # a false alarm of 1e-9
TERMS = {
    "period": "1h",
    "start": "2026-10-01",
    "until": "2026-10-02",
    "epsilon": 20,  # nearly no noise: a key enters with its second event
    "delta": 1e-7,
    "dataset": "site",
}


@pytest.fixture
def make(tmp_path):
    hc.Ledger(tmp_path / "spent.db").init("site", epsilon=20, delta=1e-6, slack=0)
    return lambda **terms: watch(tmp_path / "site.hw", **TERMS | {"ledger": tmp_path / "spent.db"} | terms)


def rows(folder, period):
    """The rows of a period, with hours in place of times."""
    table = pq.read_table(Path(folder, f"2026-10-01T{period:02}.parquet"))
    return [
        tuple(each.hour if hasattr(each, "hour") else each for each in row.values())
        for row in table.to_pylist()
    ]


def close(made, folder, period, seed=None):
    """Close a period, with seeded noise if there is a seed."""
    if seed is None:
        made.close(folder, f"2026-10-01T{period:02}")
        return
    with drawn_from(SeededBits(seed)):
        made.close(folder, f"2026-10-01T{period:02}")


def test_a_key_enters_once_and_is_then_counted_from_the_next_period_on(make, tmp_path):
    made = make(levels=["1h", "2h"])
    for period, keys in enumerate([["b"], ["b", "a"], ["b"] * 5 + ["a"], []]):
        made.add(keys, label=str(period))
        close(made, tmp_path / "feed", period, seed=1)
    assert rows(tmp_path / "feed", 0) == []
    assert rows(tmp_path / "feed", 1) == [("b", "entry", None, 0, 2, 2, False)]
    assert rows(tmp_path / "feed", 2) == [
        ("a", "entry", None, 0, 3, 2, False),
        ("b", "node", "1h", 2, 3, 5, False),
    ]
    assert rows(tmp_path / "feed", 3) == [
        ("a", "node", "1h", 3, 4, 0, False),
        ("a", "node", "2h", 3, 4, 0, True),
        ("b", "node", "1h", 3, 4, 0, False),
        ("b", "node", "2h", 2, 4, 5, False),
    ]


def test_a_retired_key_begins_anew(make, tmp_path):
    made = make(levels=["1h", "2h"], retire_below=3)
    for period, count in enumerate((9, 9, 1, 1, 1, 1)):
        made.add(["a"] * count, label=str(period))
        close(made, tmp_path / "feed", period, seed=2)
    # The node of periods 0 and 1 is partial, so that it retires nobody.
    assert [row[1] for row in rows(tmp_path / "feed", 1)] == ["node", "node"]
    assert rows(tmp_path / "feed", 3)[-1] == ("a", "retired", None, 1, 4, 0, False)
    assert rows(tmp_path / "feed", 4) == []
    assert rows(tmp_path / "feed", 5) == [("a", "entry", None, 4, 6, 2, False)]


def test_the_end_of_the_watch_retires_no_key(make, tmp_path):
    """Its last node is shorter than the others."""
    made = make(levels=["1h", "2h"], retire_below=3, until="2026-10-01T05")
    for period, count in enumerate((9, 9, 9, 9, 1)):
        made.add(["a"] * count, label=str(period))
        close(made, tmp_path / "feed", period, seed=2)
    assert [row[1] for row in rows(tmp_path / "feed", 4)] == ["node", "node"]


def test_a_label_counts_once(make, tmp_path):
    made = make()
    assert made.add(["a"], label="first")
    assert not made.add(["a"], label="first")
    close(made, tmp_path / "feed", 0, seed=3)
    assert not made.add(["a"], label="first")
    close(made, tmp_path / "feed", 1, seed=3)
    assert rows(tmp_path / "feed", 1) == []
    with pytest.raises(ParameterError) as refused:
        made.add(["a"])
    assert str(refused.value) == (
        "label must name the batch, because data in memory have no name of their own."
    )


def test_a_batch_that_fails_counts_nothing(make, tmp_path):
    made = make()
    with open_state(tmp_path / "site.hw") as state:

        def tables():
            import pyarrow as pa

            yield pa.table({"key": ["a", "a"]})
            raise DataError("The rest cannot be read.")

        with pytest.raises(DataError):
            state.add("first", tables())
    assert made.add([], label="first")
    close(made, tmp_path / "feed", 0, seed=4)
    assert rows(tmp_path / "feed", 0) == []


def test_rows_are_of_the_time_of_the_watch(make, tmp_path):
    file = tmp_path / "rows.csv"
    lines = [f"{key},2026-{day}T05:00:00" for key, day in [("in", "10-01"), ("out", "10-02")] for _ in "abc"]
    file.write_text("\n".join(["url,ts", *lines, ""]))
    made = make(column="url", time="ts")
    assert made.add(file)
    assert not made.add(file)
    close(made, tmp_path / "feed", 0, seed=5)
    assert rows(tmp_path / "feed", 0) == [("in", "entry", None, 0, 1, 3, False)]
    made.run(file, tmp_path / "feed", once=True)
    assert made.closed == 24
    assert ("in", "node", "1h", 5, 6, 3, False) in rows(tmp_path / "feed", 5)


def test_periods_are_closed_in_order_empty_ones_too(make, tmp_path):
    made = make()
    with pytest.raises(ParameterError) as refused:
        close(made, tmp_path / "feed", 1)
    assert str(refused.value) == "Periods are closed in order; the next one is 2026-10-01T00."
    made.close(tmp_path / "feed")
    assert len(list((tmp_path / "feed").glob("*.parquet"))) == made.closed == 24
    close(made, tmp_path / "feed", 7)
    assert hc.Ledger(tmp_path / "spent.db").verify() == []


def test_a_period_that_has_not_ended_is_refused(make, tmp_path):
    made = make(start="2126-10-01", until="2126-10-02")
    with pytest.raises(ParameterError) as refused:
        made.close(tmp_path / "feed", "2126-10-01T00")
    assert str(refused.value) == (
        "Period 2126-10-01T00 has not ended; close it after 2126-10-01T01:00:00+00:00."
    )


def test_the_whole_feed_is_charged_once(make, tmp_path):
    made = make(time="ts", column="url")
    ledger = hc.Ledger(tmp_path / "spent.db")
    assert ledger.show("site")[0]["spent"]["epsilon"] == "20"
    made.close(tmp_path / "feed")
    assert ledger.show("site")[0]["spent"]["epsilon"] == "20"
    # Another day has a budget of its own, the same day has none left.
    make_again = {"ledger": tmp_path / "spent.db", "time": "ts", "column": "url", "name": "again"}
    with pytest.raises(BudgetExceeded):
        watch(tmp_path / "again.hw", **TERMS | make_again)
    assert not (tmp_path / "again.hw").exists()
    other_day = {"start": "2026-10-02", "until": "2026-10-03"}
    watch(tmp_path / "again.hw", **TERMS | make_again | other_day)
    assert ledger.verify() == []


def test_the_state_is_private(make, tmp_path):
    make().add(["a"], label="first")
    assert stat.S_IMODE(os.stat(tmp_path / "site.hw").st_mode) == 0o700
    for file in (tmp_path / "site.hw").iterdir():
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_a_state_that_is_in_use_is_refused(make, tmp_path):
    made = make()
    child = os.fork()
    if child == 0:
        with open_state(tmp_path / "site.hw"):
            Path(tmp_path, "opened").touch()
            signal.pause()
    while not Path(tmp_path, "opened").exists():
        os.sched_yield()
    try:
        with pytest.raises(DataError) as refused:
            made.close(tmp_path / "feed")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert str(refused.value).startswith("Another process uses ")
    made.close(tmp_path / "feed")


OLD = "The ledger knows a later state of this watch: "


def test_an_old_copy_is_refused(make, tmp_path):
    made = make()
    made.add(["a"] * 9, label="first")
    shutil.copytree(tmp_path / "site.hw", tmp_path / "copy.hw")
    close(made, tmp_path / "feed", 0)
    before = rows(tmp_path / "feed", 0)
    copy = Watch(tmp_path / "copy.hw")
    with pytest.raises(LedgerError) as refused:
        close(copy, tmp_path / "other", 0)
    assert str(refused.value).startswith(OLD)
    assert not list((tmp_path / "other").glob("*.parquet"))
    with open_state(tmp_path / "copy.hw") as state:  # a copy that was drawn, and asked the ledger too late
        state.close(SeededBits(6))
    with pytest.raises(LedgerError) as refused:
        copy.close(tmp_path / "other")
    assert str(refused.value).startswith(OLD)
    assert not list((tmp_path / "other").glob("*.parquet"))
    close(made, tmp_path / "feed", 1)
    assert rows(tmp_path / "feed", 0) == before


def test_a_feed_belongs_to_one_watch(make, tmp_path):
    make().close(tmp_path / "feed")
    hc.Ledger(tmp_path / "spent.db").grant("site", epsilon=20, delta=1e-6, slack=0)
    terms = TERMS | {"ledger": tmp_path / "spent.db", "name": "other"}
    with pytest.raises(ParameterError) as refused:
        watch(tmp_path / "other.hw", **terms).close(tmp_path / "feed")
    assert str(refused.value) == (f"{tmp_path / 'feed'} is the feed of another watch; name another folder.")


@pytest.mark.parametrize("events", [(20, 0, 3), (1, 1, 25)])
def test_entries_have_the_law_that_is_proved(make, tmp_path, events):
    """Many keys with one stream: period and value of the entry, summed over the secret."""
    keys = 20_000
    made = make(epsilon=1, delta=1e-8, start="2026-10-01T00", until="2026-10-01T03", key_type="int")
    a, tau, z = math.exp(-1), made.terms.watching.gate.tau, np.arange(60)
    weights, r = geometric(a, z), 0
    for period, count in enumerate(events):
        made.add(np.repeat(np.arange(keys), count), label=str(period))
        close(made, tmp_path / "feed", period, seed=period + sum(events))
        values = np.array([row[5] for row in rows(tmp_path / "feed", period) if row[1] == "entry"])
        r += count
        for y in range(tau, tau + 8):
            mass = float((weights * geometric(a, y + z - r)).sum())
            spread = SIGMAS * math.sqrt(keys * mass * (1 - mass)) + 1
            assert abs((values == y).sum() - keys * mass) <= spread
        weights = weights * below(a, tau + z - r)
