"""Past nodes at entry: which there are, and tables of times that begin before the entry."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.errors import ParameterError
from hushcount.jobs.watch.start import watch
from hushcount.secure import drawn_from

TERMS = {
    "period": "1h",
    "start": "2026-10-01",
    "until": "2026-10-02",
    "levels": ["1h", "2h"],
    "epsilon": 20,
    "delta": 1e-7,
    "dataset": "site",
    "backfill": "3h",
}


@pytest.fixture
def make(tmp_path):
    hc.Ledger(tmp_path / "spent.db").init("site", epsilon=20, delta=1e-6, slack=0)
    return lambda **terms: watch(tmp_path / "site.hw", **TERMS | {"ledger": tmp_path / "spent.db"} | terms)


def closed(made, folder, stream, seed=1):
    """Add the keys of each period and close it."""
    with drawn_from(SeededBits(seed)):
        for period, keys in enumerate(stream):
            made.add(keys, label=str(period))
            made.close(folder, f"2026-10-01T{period:02}")


def past(folder, period):
    """The past nodes that a period publishes: level, hours and hundreds, which noise does not reach."""
    rows = pq.read_table(folder / f"2026-10-01T{period:02}.parquet").to_pylist()
    return [
        (row["level"], row["start"].hour, row["end"].hour, round(row["value"] / 100), row["partial"])
        for row in rows
        if row["kind"] == "past"
    ]


def test_past_nodes_reach_back_as_far_as_asked_and_no_further_than_the_life(make, tmp_path):
    """Retired after period 5, so that the second life begins with period 6."""
    made = make(min_events=800, retire_below=3)
    closed(made, tmp_path, [["a"] * 100 * count for count in (1, 2, 3, 4, 0, 0, 5, 6, 0)])
    # Three hours back from the end of period 3 is period 1, which the first node of two hours has too.
    assert past(tmp_path, 3) == [
        ("1h", 1, 2, 2, False),
        ("1h", 2, 3, 3, False),
        ("1h", 3, 4, 4, False),
        ("2h", 0, 2, 3, False),
        ("2h", 2, 4, 7, False),
    ]
    assert past(tmp_path, 7) == [
        ("1h", 6, 7, 5, False),
        ("1h", 7, 8, 6, False),
        ("2h", 6, 8, 11, False),
    ]
    assert all(past(tmp_path, period) == [] for period in (0, 1, 2, 4, 5, 6, 8))


def test_a_node_that_is_open_at_the_entry_is_cut_there(make, tmp_path):
    closed(make(min_events=700), tmp_path, [["a"] * 100 * count for count in (0, 3, 6, 5)])
    assert past(tmp_path, 2) == [
        ("1h", 0, 1, 0, False),
        ("1h", 1, 2, 3, False),
        ("1h", 2, 3, 6, False),
        ("2h", 0, 2, 3, False),
        ("2h", 2, 3, 6, True),
    ]
    nodes = pq.read_table(tmp_path / "2026-10-01T03.parquet").to_pylist()
    assert [(row["level"], row["partial"]) for row in nodes] == [("1h", False), ("2h", True)]


def test_tables_that_begin_before_the_entry_count_what_is_in_them(make, tmp_path):
    """A key enters in period 4; what was before the time is left out, exactly but for noise of nearly 0."""
    stream = [["a"] * 100 * count for count in (5, 1, 2, 3, 4, 6)]
    closed(make(min_events=1200), tmp_path / "feed", stream)
    feed = hc.feed(tmp_path / "feed")
    for last, count in (("6h", 2100), ("4h", 1500), ("3h", 1300), ("2h", 1000), ("1h", 600)):
        (row,) = feed.top(last=last)
        assert abs(row["count"] - count) <= 20, last
        assert row["count"] - 20 <= row["lower"] <= row["count"] <= row["upper"] <= row["count"] + 20
    # Times that ended before the entry; further back than the past nodes reach nothing is known.
    for period, count in ((2, 200), (3, 300)):
        (row,) = feed.top(period=f"2026-10-01T{period:02}")
        assert abs(row["count"] - count) <= 20
        assert row["lower"] <= count <= row["upper"]
    assert len(feed.top(period="2026-10-01T01")) == 0
    # Further back than the past nodes reach, and behind the beginning of the life: the entry bounds it.
    (row,) = feed.top(last="5h")
    assert row["lower"] <= 1600 <= row["upper"]


@pytest.mark.parametrize("last", ["20h", "9h", "8h", "5h"])
def test_intervals_hold_with_their_probability(make, tmp_path, last):
    keys, stream = 400, [2] * 20
    made = make(epsilon=1, delta=1e-8, backfill="8h", retire_below=4, key_type="int")
    closed(made, tmp_path / "feed", [np.repeat(np.arange(keys), count) for count in stream], seed=7)
    truth = 2 * int(last[:-1])
    table = hc.feed(tmp_path / "feed").top(None, last=last).table
    lower, upper = table["lower"].to_numpy(), table["upper"].to_numpy()
    assert len(table) > keys / 2
    # Of 400 keys 10 fail on each side on average; 40 do with less than 1e-12.
    assert (lower > truth).sum() <= 40
    assert (upper < truth).sum() <= 40


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("90m", "backfill must be a length such as 1h, 1d or 4w, got 90m."),
        ("0h", "backfill must be a length such as 1h, 1d or 4w, got 0h."),
    ],
)
def test_backfill_is_a_length(make, given, said):
    with pytest.raises(ParameterError) as refused:
        make(backfill=given)
    assert str(refused.value) == said


def test_backfill_is_a_whole_number_of_periods(make):
    with pytest.raises(ParameterError) as refused:
        make(period="2h", levels=["2h"], backfill="3h")
    assert str(refused.value) == "backfill must be a whole number of periods."
