"""Plans: cuts, shares, what can be found, memory, expected quality; before any data."""

import math
from itertools import pairwise

import pytest

from hushcount.errors import ParameterError
from hushcount.ldp.protocols.campaign import zipf_counts
from hushcount.ldp.protocols.tree_hist.protocol import choose_cuts, plan_tree
from hushcount.ldp.wire.encodings import Bytes, Integers, Words
from hushcount.ldp.wire.groups import ALL_SHARES

WORDS = Words("abcdefghijklmnopqrstuvwxyz", 6)
USERS = 10_000_000
ROOT = math.sqrt(USERS)


@pytest.mark.parametrize("width", range(1, 200))
@pytest.mark.parametrize("symbol_bits", [1, 5, 9, 16])
def test_cuts_go_down_to_the_item(width, symbol_bits):
    cuts = choose_cuts(width, symbol_bits)
    assert cuts[-1] == width
    assert list(cuts) == sorted(set(cuts))
    assert cuts[0] <= 20
    assert all(stop - start <= 15 for start, stop in pairwise(cuts))


@pytest.mark.parametrize("encoding", [WORDS, Words("ab", 3), Bytes(8), Integers(64), Integers(1024)], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 8])
def test_shares_are_whole(encoding, epsilon):
    plan = plan_tree(encoding, epsilon, USERS)
    assert sum(plan.shares) == ALL_SHARES
    assert all(share > 0 for share in plan.shares)
    assert plan.levels[-1].share > 0.4
    assert plan.threshold == plan.least_detectable
    assert plan.noise_limit < plan.threshold


def test_the_plan_of_the_paper_setting():
    plan = plan_tree(WORDS, 2.0, USERS, threshold=15 * ROOT)
    assert [level.question.bits for level in plan.levels] == [15, 30]
    assert plan.deviation == pytest.approx(math.sqrt(0.7246) * ROOT, rel=1e-3)
    assert 7 < plan.least_detectable / ROOT < 8.5
    assert plan.memory < 850_000_000
    assert plan.symbol_bits == 3
    assert plan_tree(WORDS, 2.0, USERS, threshold=15 * ROOT, symbol_bits=1).symbol_bits == 1


def test_what_is_reliably_found():
    plan = plan_tree(WORDS, 2.0, USERS)
    assert plan.chance_of(plan.least_detectable) == pytest.approx(0.5, abs=0.01)
    assert plan.chance_of(plan.least_detectable, plan.noise_limit) > 0.98
    assert plan.chance_of(2 * plan.least_detectable) > 0.9999
    assert plan.chance_of(0) < 1e-9


def test_more_users_or_epsilon_find_more():
    parts = [plan_tree(WORDS, epsilon, USERS).least_detectable / USERS for epsilon in (0.5, 1, 2, 4)]
    assert parts == sorted(parts, reverse=True)
    parts = [plan_tree(WORDS, 1, users).least_detectable / users for users in (10**5, 10**6, 10**7)]
    assert parts == sorted(parts, reverse=True)


def test_expected_quality_of_a_zipf_law():
    plan = plan_tree(WORDS, 2.0, USERS, threshold=15 * ROOT)
    counts = zipf_counts(USERS, 1.5, 93)
    quality = plan.quality(counts)
    assert quality.above_threshold == sum(count >= 15 * ROOT for count in counts) == 19
    assert 0.95 < quality.precision < 1
    assert 0.95 < quality.recall < 1
    assert quality.published == pytest.approx(quality.recall * 19 / quality.precision)
    better = plan_tree(WORDS, 4.0, USERS, threshold=15 * ROOT).quality(counts)
    assert better.precision > quality.precision
    assert better.recall > quality.recall
    assert plan.quality([10.0]).recall == 1.0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0."),
        ({"epsilon": -1}, "epsilon must be a finite number above 0, got -1."),
        ({"epsilon": math.nan}, "epsilon must be a finite number above 0, got nan."),
        ({"users": 0}, "users must be at least 1, got 0."),
        ({"users": True}, "users must be a whole number, got True."),
        ({"threshold": 0}, "threshold must be above 0 and at most users = 1000000, got 0."),
        ({"threshold": math.nan}, "threshold must be above 0 and at most users = 1000000, got nan."),
        ({"threshold": 1e7}, "threshold must be above 0 and at most users = 1000000, got 10000000.0."),
    ],
)
def test_bad_parameters(arguments, text):
    with pytest.raises(ParameterError) as caught:
        plan_tree(WORDS, **{"epsilon": 2.0, "users": 1_000_000, **arguments})
    assert str(caught.value) == text


def test_with_too_few_users_the_plan_says_that_nothing_is_found_reliably():
    plan = plan_tree(WORDS, 0.1, 1000)
    assert plan.threshold == 1000 < plan.least_detectable
    assert plan.chance_of(1000) < 0.01


def test_every_level_asks_enough_holders_of_an_item_at_the_threshold():
    for users, threshold in ((2000, 500), (10_000, 1000), (10_000_000, 47_434)):
        plan = plan_tree(Integers(128), 8.0, users, threshold=threshold)
        levels = len(plan.levels) - 1
        least = min(32, threshold / 2 / levels)
        assert all(level.share * threshold >= least - 1e-9 for level in plan.levels)
