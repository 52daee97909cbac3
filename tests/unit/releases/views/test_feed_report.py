"""The report of a feed: what it shows, and that no key can become markup."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from hushcount.releases.feeds.table import Change, FeedHistory, FeedTable
from hushcount.releases.views.feed_report import feed_report, path, ranks

START, END = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 10, 2, tzinfo=UTC)
SHAPES = [[None, 5, 9], [8, 7, None]]


def history(keys, shapes, changes=()):
    numbers = list(range(len(keys), 0, -1))
    columns = {"key": pa.array(keys, pa.string())}
    columns |= {name: pa.array(numbers, pa.int64()) for name in ("count", "lower", "upper")}
    table = FeedTable(pa.table(columns), START, END, 0.95, "All is private.", shapes)
    return FeedHistory(table, 3, list(changes), len(keys))


def test_it_says_what_is_published():
    changes = [Change(END, "a", "retired", 0), Change(START, "a", "entry", 31)]
    page = feed_report(history(["a", "b"], SHAPES, changes))
    for words in (
        "All is private.",
        "2 entries published · 1 October 2026 to 2 October 2026 (UTC)",
        "entered with 31 counted since it became unknown",
        "<td>retired</td>",
        "3 to either side",
        "95% interval",
    ):
        assert words in page
    assert "script-src &#x27;none&#x27;" in page
    assert "<script" not in page


def test_no_key_is_markup():
    page = feed_report(history(["<b>\x1b&"], [[1]], [Change(END, "</td><script>", "entry", 30)]))
    assert "<b>" not in page
    assert "<script" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize(("keys", "shapes"), [([], []), (["a"], [[]]), (["a"], [[None]]), (["a"], [[-4]])])
def test_small_feeds_have_a_report(keys, shapes):
    assert feed_report(history(keys, shapes)).startswith("<!DOCTYPE html>")


def test_ranks_are_broken_where_a_key_is_unknown():
    picture = ranks(["a", "b"], [[3, None, 8], [1, 2, 4]])
    lines = [part.split('"')[0] for part in picture.split('d="')[1:]]
    assert [line.count("M") for line in lines] == [2, 1]


def test_a_path_goes_on_from_point_to_point():
    assert path([(0, 1), (2, 3), None, (4, 5)]) == "M0.0 1.0 L2.0 3.0 M4.0 5.0"
