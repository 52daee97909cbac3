"""Intervals of sums of a feed hold with their probability, for streams that make it hard."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits

from hushcount.jobs.feed.bounds import FeedBounds, Summed
from hushcount.jobs.feed.summing import chain
from hushcount.jobs.watch.calendar import Calendar
from hushcount.mechanisms.continual.gate import Watching
from hushcount.privacy import Budget

KEYS = 30_000
PERIODS = 24
CALENDAR = Calendar.of("1h", "2026-10-01", "2026-10-02", ["1h", "4h"])
ALARM = 1e-10


@dataclass
class Simulated:
    """Many keys with the same stream: what is published of each, summed from a first period on."""

    first: int
    retire: int | None = None
    watching: Watching = field(default_factory=lambda: Watching(Budget(1.0, 1e-8), PERIODS, (1, 4)))

    def run(self, stream, seed):
        """Return the sums of all keys, and which of them are published at all within the time."""
        bits, zeros = SeededBits(seed), np.zeros(KEYS, np.int64)
        gate, levels = self.watching.gate, self.watching.levels
        ends = {(node.level, node.stop) for node in chain(CALENDAR, self.first, PERIODS)}
        total = Summed(*(zeros.copy() for _ in Summed.__slots__))
        known, r, z = np.zeros(KEYS, bool), zeros.copy(), gate.secrets(KEYS, bits)
        since, counts = zeros.copy(), [zeros.copy(), zeros.copy()]
        for t, events in enumerate(stream):
            for count in counts:
                count[known] += events
            r[~known] += events
            retired = np.zeros(KEYS, bool)
            for node in levels.ending(t):
                noisy = levels.noisy(node.level, counts[node.level], bits)
                if (node.level, t + 1) in ends:
                    total.nodes[known] += noisy[known]
                    total.draws[known] += 1
                if node.level == 1 and self.retire is not None:
                    retired = known & (since <= node.start) & (noisy < self.retire)
                counts[node.level][:] = 0
            tested = np.flatnonzero(~known & (r >= gate.least))
            passed = gate.entries(r[tested], z[tested], bits)
            entered = tested[passed.places]
            if t >= self.first:
                whole = since[entered] >= self.first
                total.entries[entered[whole]] += passed.values[whole]
                total.whole[entered[whole]] += 1
                total.reached[entered[~whole]] += passed.values[~whole]
                total.cut[entered[~whole]] += 1
                total.retired[retired] += 1
            known[entered], since[entered] = True, t + 1
            for count in counts:
                count[entered] = 0
            known[retired], since[retired], r[retired] = False, t + 1, 0
            z[retired] = gate.secrets(int(retired.sum()), bits)
        return total, (total.draws + total.whole + total.cut + total.retired) > 0


STREAMS = {
    "burst": [0] * 20 + [40] + [3] * 3,
    "waits below the threshold": [20] + [0] * 22 + [1],
    "waits four below": [19] + [0] * 23,
    "steady": [2] * 24,
    "known for long": [100] + [5] * 23,
    "comes and goes": [60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 30],
}


@pytest.mark.parametrize("first", [0, 9, 20])
@pytest.mark.parametrize("retire", [None, 6])
@pytest.mark.parametrize("name", STREAMS)
def test_intervals_hold_with_their_probability(name, retire, first):
    """For a key of any stream each side fails with at most its share, whether it is published or not."""
    summed, seen = Simulated(first, retire).run(STREAMS[name], seed=len(name))
    truth = sum(STREAMS[name][first:])
    bounds = FeedBounds(Watching(Budget(1.0, 1e-8), PERIODS, (1, 4)), 0.025, PERIODS // 4 if retire else 0)
    worst = binom.isf(ALARM, KEYS, 0.025)
    assert int((seen & (bounds.lower(summed) > truth)).sum()) <= worst
    assert int((seen & (bounds.upper(summed) < truth)).sum()) <= worst
    assert np.all(bounds.lower(summed) <= bounds.estimates(summed).clip(min=0))
    assert np.all(bounds.estimates(summed) <= bounds.upper(summed).clip(min=bounds.estimates(summed)))


def test_an_interval_that_took_the_period_of_entry_for_the_horizon_would_fail():
    """The key waits four below the threshold, so it enters by its largest noise."""
    stream = [19] + [0] * 23
    summed, _ = Simulated(0).run(stream, seed=5)
    entered = summed.whole > 0
    over = summed.entries[entered] - 19
    assert entered.sum() > 100
    assert np.all(over >= 4)  # so with k = 3, that of one period, all of them fail


def test_widths_are_those_of_the_page():
    """One entry, no node: y - k to y + 3, and k grows with all periods of the watch."""
    one = Summed(*(np.array([each]) for each in (0, 0, 50, 0, 1, 0, 0, 0, 0, 0)))
    for periods, over in ((1, 3), (24, 6), (365, 9), (8760, 12)):
        bounds = FeedBounds(Watching(Budget(1.0, 1e-8), periods), 0.05, 0)
        assert (int(bounds.lower(one)[0]), int(bounds.upper(one)[0])) == (50 - over, 53)
    known = Summed(*(np.array([each]) for each in (50, 1, 0, 0, 0, 0, 0, 0, 0, 0)))
    bounds = FeedBounds(Watching(Budget(1.0, 1e-8), 24), 0.025, 0)
    a = math.exp(-1)
    width = next(k for k in range(99) if a ** (k + 1) / (1 + a) <= 0.025)
    assert (int(bounds.lower(known)[0]), int(bounds.upper(known)[0])) == (50 - width, 50 + width)
