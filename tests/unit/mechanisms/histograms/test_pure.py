"""Releases over a public domain: what is said about their counts (whole texts)."""

from tests.seeded_bits import SeededBits

import hushcount as hc
from hushcount.jobs.release import release


def sentences(**public):
    sketch = hc.SpaceSaving(counters=9)
    sketch.update([1] * 400 + [2] * 300)
    made = release(sketch, epsilon=1.0, delta=0, domain="0..99", bits=SeededBits(1), **public)
    return made.accuracy().sentences


def test_counts_are_said_to_be_lower_estimates():
    """Before, only the interval showed that they lack what the sketch left out."""
    unknown = "count is a lower estimate; max_events would bound what the sketch left out of it."
    assert sentences()[1] == unknown
    assert sentences(max_events=1000)[1] == (
        "count is a lower estimate; the sketch may have left out up to 111 of it, by max_events and its"
        " counters."
    )
