"""Which nodes make up some time."""

import itertools

import pytest

from hushcount.jobs.feed.summing import chain
from hushcount.jobs.watch.calendar import Calendar

CALENDAR = Calendar.of("1h", "2026-10-01T00", "2026-10-01T17", ["1h", "2h", "6h"])


@pytest.mark.parametrize(("first", "stop"), list(itertools.combinations(range(18), 2)))
def test_a_chain_is_whole_and_the_shortest(first, stop):
    found = chain(CALENDAR, first, stop)
    assert [node.start for node in found] == [first, *(node.stop for node in found[:-1])]
    assert found[-1].stop == stop
    # Nodes by their ends: all that lie within; the last of a level may be cut by the end of the watch.
    nodes = [
        (start, min(start + length, 17)) for length in CALENDAR.lengths for start in range(0, 17, length)
    ]
    fewest = {first: 0}
    for at in range(first + 1, stop + 1):
        ways = [fewest[start] + 1 for start, end in nodes if end == at and start in fewest]
        if ways:
            fewest[at] = min(ways)
    assert len(found) == fewest[stop]
