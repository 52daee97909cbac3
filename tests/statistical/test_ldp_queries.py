"""Estimates of chosen items are unbiased, with the standard deviation that is stated beside them.

All users hold short words, so their last chunks are equal, and most share a prefix: what such items add by
chance is most of the error that is not noise. A background that takes items for evenly
spread, as without the alternatives, is refuted by the same test.
"""

import math
import string

import numpy as np
import pytest
from tests.ldp_population import answered

from hushcount import ldp
from hushcount.ldp.server.frequency import FrequencyOracle
from hushcount.ldp.wire.questions import Chunk

WORDS = ldp.Words(string.ascii_lowercase, 6)
CAMPAIGNS = 60
LETTERS = string.ascii_lowercase
HELD = {"tea": 300, "ten": 300, **{f"te{a}{b}": 75 for a in LETTERS[:20] for b in LETTERS[:25]}}
USERS = sum(HELD.values())
ABSENT = [f"{a}{b}x" for a in "teao" for b in LETTERS[5:15]]
ASKED = [*ABSENT, "tea", "ten"]
TRUTH = np.array([HELD.get(word, 0) for word in ASKED])


@pytest.fixture(scope="module", params=[ldp.TreeHist, ldp.Bitstogram, ldp.BitstogramBinary])
def campaigns(request):
    manifest = request.param(WORDS, epsilon=6.0, users=USERS).manifest
    return [answered(manifest, HELD, seed) for seed in range(CAMPAIGNS)]


def bias(estimates):
    """How many standard errors the mean of the absent items lies from 0, campaign by campaign."""
    means = estimates[:, : len(ABSENT)].mean(axis=1)
    return means.mean() / (means.std() / math.sqrt(CAMPAIGNS))


def test_mean_and_deviation(campaigns):
    found = [ldp.frequencies(each, ASKED) for each in campaigns]
    estimates = np.array([each.estimates for each in found])
    assert abs(bias(estimates)) < 4
    errors, stated = estimates - TRUTH, np.array([each.deviations for each in found])
    ratio = math.sqrt(np.square(errors).mean() / np.square(stated).mean())
    assert ratio == pytest.approx(1, rel=0.06)
    inside = np.abs(errors) <= 1.96 * stated
    assert inside.mean() > 0.94


def test_items_that_are_not_spread_evenly(campaigns):
    """The oracle that takes chunks for evenly spread counts too much for short words."""
    if not any(isinstance(question, Chunk) for question in campaigns[0].manifest.groups[0].questions):
        return
    values = [WORDS.encode(word) for word in ASKED]
    collected = (each.collected() for each in campaigns)
    plain = [FrequencyOracle(each.groups[0], each.reports).estimate(values) for each in collected]
    assert bias(np.array(plain)) > 5  # where the estimates above must stay below 4
