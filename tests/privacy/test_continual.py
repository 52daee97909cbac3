"""The gate and the levels, enumerated in both directions, and twins of them that are refuted."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.privacy.continual_law import REACH, Law, adaptive, below, divergence, geometric, pairs_of

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "continual.json").read_text())
EXACT = VECTORS["enumerated_exact_a_half_tau_6"]
FULL = VECTORS["full_transcript_a_half_tau_4"]
CLAIM = float(Fraction(EXACT["L1T3"]["claim"]))
ROOT = 0.5**0.5
TAU_4 = (4, 4, 4, 4)
LEAVES = ((1, 0.5),)
LEVELS = ((1, ROOT), (2, ROOT))
WITH_LEVELS = Law(tau=TAU_4, nodes=LEVELS)
RETIRING = Law(tau=TAU_4, nodes=LEAVES, retire=1)
BACKFILL = Law(a=0.5**0.75, tau=TAU_4, nodes=LEAVES, past=((1, 0.5**0.25),))


def pairs(periods, most, present=False):
    """All small streams, each with one event more in one of its periods."""
    for events in itertools.product(range(most + 1), repeat=periods):
        for period in range(periods if events[0] or not present else 0):
            yield tuple(count + (t == period) for t, count in enumerate(events)), events


def worst(law, periods, most, present=False):
    """The largest divergence over all streams, the larger stream first and the smaller one first."""
    larger = smaller = 0.0
    for more, events in pairs(periods, most, present):
        larger = max(larger, divergence(law, more, events, 2.0))
        smaller = max(smaller, divergence(law, events, more, 2.0))
    return larger, smaller


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize(("periods", "most"), [(1, 7), (2, 7), (3, 5)])
def test_the_gate_spends_its_claim_and_no_more(least, periods, most):
    known = EXACT[f"L{least}T{periods}"]
    larger, smaller = worst(Law(least=least), periods, most)
    assert larger == pytest.approx(float(Fraction(known["claim"])), rel=1e-9)
    assert smaller == pytest.approx(float(Fraction(known["smaller_first"])), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("tau", [(5, 6, 7), (7, 6, 5)])
def test_thresholds_may_rise_and_fall(tau):
    known = EXACT[f"taus{list(tau)}"]
    larger, smaller = worst(Law(tau=tau), 3, 3)
    assert larger == pytest.approx(float(Fraction(known["claim"])), rel=1e-9)
    assert smaller < larger


@pytest.mark.parametrize(
    ("law", "periods", "most", "known"),
    [
        (WITH_LEVELS, 3, 3, "gate+levels"),
        (WITH_LEVELS, 4, 1, "gate+levels T 4"),
        (RETIRING, 3, 3, "gate+levels"),
        (replace(WITH_LEVELS, retire=1), 4, 1, "retire T 4"),
        (BACKFILL, 3, 3, "backfill"),
        (replace(BACKFILL, retire=1), 3, 2, "backfill+retire"),
    ],
)
def test_whole_feeds_spend_their_claim_and_no_more(law, periods, most, known):
    larger, smaller = worst(law, periods, most)
    assert larger == pytest.approx(FULL[known]["claim"], rel=1e-9)
    assert smaller < larger


@pytest.mark.parametrize("law", [WITH_LEVELS, BACKFILL])
def test_of_a_key_that_is_there_from_the_start_nothing_fails(law):
    """Only a key that one stream lacks may cost delta."""
    assert max(worst(law, 3, 3, present=True)) < 1e-12


@pytest.mark.parametrize(
    ("law", "periods", "most", "known"),
    [
        (WITH_LEVELS, 3, 2, "gate+levels"),
        (RETIRING, 3, 2, "gate+levels"),
        (BACKFILL, 3, 2, "backfill"),
    ],
)
def test_streams_that_react_gain_nothing(law, periods, most, known):
    larger = adaptive(law, periods, most, 2.0, larger_first=True)
    assert larger == pytest.approx(FULL[known]["claim"], rel=1e-9)
    assert adaptive(law, periods, most, 2.0, larger_first=False) < larger


def test_two_keys_at_half_of_epsilon():
    """One user has an event of each key: pure parts multiply, and bad events add up."""
    known = VECTORS["two_keys_half_eps_each"]
    law = Law(a=ROOT, tau=(5, 5), nodes=((1, ROOT),))
    laws = [pairs_of(law, *each) for each in pairs(2, 4)]
    larger = smaller = 0.0
    for (p1, q1), (p2, q2) in itertools.product(laws, repeat=2):
        p, q = np.multiply.outer(p1, p2), np.multiply.outer(q1, q2)
        larger = max(larger, np.maximum(p - 2 * q, 0).sum())
        smaller = max(smaller, np.maximum(q - 2 * p, 0).sum())
    assert larger == pytest.approx(known["hs_larger_first"], rel=1e-6)
    assert smaller < larger <= known["claim_sum"]


@pytest.mark.parametrize(
    ("twin", "least_times"),
    [
        (Law(only_events=True), 5.9),
        (Law(plain=True), 5.7),
        (Law(kept_noise=True), 5.4),
        (Law(fresh_secret=True), 3.6),
        (Law(sliding=2), 2.9),
    ],
)
def test_twins_of_the_gate_are_refuted(twin, least_times):
    assert max(worst(twin, 3, 3)) / CLAIM > least_times


@pytest.mark.parametrize(
    ("twin", "more", "events", "least_times"),
    [
        (Law(nodes=LEAVES, recount=True), (0, 6), (0, 5), 3.6),
        (Law(repeated=True), (6, 0), (5, 0), 3.1),
        (Law(nodes=LEAVES, silent=True), (7, 1), (7, 0), 13),
    ],
)
def test_twins_of_the_levels_are_refuted(twin, more, events, least_times):
    """The period of entry is counted again; z is used after it; a known key without events has no row."""
    assert divergence(twin, more, events, 2.0) / CLAIM > least_times


def test_a_threshold_for_one_period_is_refuted():
    assert max(worst(Law(tau=(5, 5, 5)), 3, 2)) / CLAIM == pytest.approx(1.9466, abs=1e-4)


def test_a_period_drawn_twice_is_refuted():
    assert max(worst(Law(draws=2), 1, 8)) * 48 == pytest.approx(13.7143, abs=1e-4)


def test_a_crash_that_depends_on_the_draw_is_refuted():
    """A key that passes makes the program fail before the draw is kept, and it is drawn again."""
    z = np.arange(REACH)
    laws = []
    for r in (7, 6):
        passes = float((geometric(0.5, z) * (1 - below(0.5, 6 + z - r))).sum())
        entries = [
            passes * float((geometric(0.5, z) * geometric(0.5, y + z - r)).sum()) for y in range(6, 60)
        ]
        laws.append(np.array([1 - passes**2, *entries]))
    more, less = laws
    known = VECTORS["redraw_after_outcome_dependent_crash"]
    assert np.log2((more / less).max()) == pytest.approx(known["loss_in_eps"], rel=1e-9)
    assert np.maximum(more - 2 * less, 0).sum() == pytest.approx(1 / 9, rel=1e-9)  # 0 is due


def test_closing_only_periods_with_rows_tells_everything():
    assert divergence(Law(tau=TAU_4, only_rows=True), (1, 0), (0, 0), 2.0) == pytest.approx(1)


@pytest.mark.parametrize(
    ("twin", "right", "more", "events", "least"),
    [
        # r is kept when a key retires.
        (replace(RETIRING, keep_r=True), RETIRING, (4, 0, 0), (3, 0, 0), 0.2),
        # A node counts events from before the entry.
        (replace(WITH_LEVELS, before=True), WITH_LEVELS, (4, 0), (3, 0), 0.114),
        # What an open node has counted becomes r when its key retires.
        (
            Law(tau=TAU_4, nodes=((1, ROOT), (3, ROOT)), retire=1, open_as_r=True),
            Law(tau=TAU_4, nodes=((1, ROOT), (3, ROOT)), retire=1),
            *((4, 1, 3), (4, 0, 3), 0.074),
        ),
        # A backfill reaches into an earlier life.
        (
            replace(BACKFILL, retire=1, all_lives=True),
            replace(BACKFILL, retire=1),
            *((7, 1, 4), (7, 0, 4), 0.033),
        ),
    ],
)
def test_twins_that_lose_where_nothing_may_be_lost(twin, right, more, events, least):
    """The key is known to both streams in each life, so delta is not needed and the divergence must be 0."""
    assert max(divergence(right, more, events, 2.0), divergence(right, events, more, 2.0)) < 1e-12
    assert max(divergence(twin, more, events, 2.0), divergence(twin, events, more, 2.0)) > least
