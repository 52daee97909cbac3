"""Which rows have a share: keys at the share are shown as often as stated, and a cut at the share is not."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.mechanisms.counters.floor import FloorRelease
from hushcount.mechanisms.total import TotalRelease, WithTotal
from hushcount.privacy import Budget
from hushcount.releases.share import share_cut
from hushcount.shapes import FloorCounters

EVENTS, SHARE = 10_000, Fraction(1, 20)


def counters(count, floor):
    return FloorCounters(pa.array(["x"]), np.array([count]), floor, 1, 2)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3)])
def test_a_key_just_above_the_share_is_shown_with_its_probability(epsilon, delta):
    """The cut does not depend on the noise, so the probability is a tail of one noise."""
    mechanism = FloorRelease(Budget(epsilon, delta))
    release = mechanism.release(counters(501, 0), SeededBits(1))
    cut = share_cut(release, SHARE, EVENTS)
    assert cut.wanted == 501
    assert float(mechanism.noise.tail(cut.shown - cut.wanted)) >= 0.975
    assert float(mechanism.noise.tail(cut.shown + 1 - cut.wanted)) < 0.975
    at_the_share = float(mechanism.noise.tail(0))  # the published code of Holland 2025 cuts there
    assert at_the_share < 0.75


def test_a_noisy_total_is_taken_at_its_lower_end():
    mechanism = TotalRelease(Budget(1.0, 1e-6), counters(501, 0).public(), "floor", 0.05)
    release = mechanism.release(WithTotal(counters(501, 0), EVENTS), SeededBits(1))
    cut = share_cut(release, SHARE, None)
    width = mechanism.noise.two_sided(2 * 0.05 / 3)
    assert cut.wanted == (release.total.value - width) // 20 + 1
    assert float(mechanism.noise.tail(width + 1)) <= 0.05 / 3


def test_sentences():
    mechanism = FloorRelease(Budget(1.0, 1e-6))
    sure = share_cut(mechanism.release(counters(600, 0), SeededBits(1)), SHARE, EVENTS)
    assert sure.sentences == (
        f"Shown are noisy counts of at least {sure.shown}. A key with more than a share of 0.05 of"
        " max_events, 501 events or more, is shown with probability 0.95.",
    )
    unsure = share_cut(mechanism.release(counters(600, 490), SeededBits(1)), SHARE, EVENTS)
    assert unsure.sentences == (
        f"Shown are noisy counts of at least {unsure.shown}, for keys with more than a share of 0.05 of"
        " max_events.",
        "A key with more than a share of 0.05 of max_events, 501 events or more, may be missing, of which"
        f" {unsure.reliable} are needed; more counters or a larger share would change this.",
    )
