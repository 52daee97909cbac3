"""The oracle is unbiased and its deviation is the formula's, for absent, rare and heavy items.

Every campaign has a seed of its own, so that hashes are averaged over too. With as many estimates as here a
deviation that is wrong by 10% is far outside the 5% that are allowed.
"""

import math

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.server.frequency import FrequencyOracle
from hushcount.ldp.server.tallies import GroupTallies, to_words
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix, TaggedPrefix

WIDTH = 24
NEVER = 253_402_300_799
USERS = 3000
HEAVY = [(0xABC123 * (i + 1)) % (1 << WIDTH) for i in range(3)]  # 700 users each
RARE = [(0x13579B * (i + 7)) % (1 << WIDTH) for i in range(20)]  # 20 users each
ABSENT = [(0x2468AD * (i + 3)) % (1 << WIDTH) for i in range(40)]
SINGLE = [(0x6F1E37 * (i + 11)) % (1 << WIDTH) for i in range(500)]  # one user each
COUNTS = {**dict.fromkeys(HEAVY, 700), **dict.fromkeys(RARE, 20), **dict.fromkeys(SINGLE, 1)}
CAMPAIGNS = 350
KINDS = {"absent": ABSENT, "rare": RARE, "heavy": HEAVY}

QUESTIONS = {
    "hashed, all asked": ([Prefix(WIDTH, 4, 9)], [ALL_SHARES], [0]),
    "hashed, half asked": ([Prefix(8, 1, 8), Prefix(WIDTH, 4, 9)], [ALL_SHARES // 2] * 2, [1]),
    "levels pooled": ([TaggedPrefix(8, 5, 4, 9), Prefix(WIDTH, 4, 9)], [ALL_SHARES // 2] * 2, [0, 1]),
}


def campaign(case, symbol_bits, seed):
    questions, shares, asked = QUESTIONS[case]
    bits = SeededBits(seed)
    group = Group("2" if symbol_bits > 1 else "1", symbol_bits, tuple(questions), tuple(shares))
    manifest = Manifest("tree_hist", Integers(WIDTH), "2", (group,), USERS, NEVER, {}, bits.bytes(32))
    values = np.repeat(list(COUNTS), list(COUNTS.values()))
    assert len(values) == USERS
    items = Items(to_words(values.tolist(), WIDTH), np.ones(USERS, bool))
    nonces = bits.words(USERS)
    tallies = GroupTallies(manifest, 0)
    tallies.add(nonces, respond_all(manifest, nonces, items, bits))
    return FrequencyOracle([tallies.question(number) for number in asked], USERS)


def second_moment(item):
    return sum(count**2 for value, count in COUNTS.items() if value != item)


def formula(oracle, kind):
    item = KINDS[kind][0]
    count = COUNTS.get(item, 0)
    return float(oracle.error(second_moment(item)).deviation(np.array([count]))[0])


def siblings_deviation(oracle, kind):
    """What items with the same prefix add at a level with tags, in the mean over the tags."""
    tagged = [tally for tally in oracle.tallies if isinstance(tally.question, TaggedPrefix)]
    total = 0.0
    for tally in tagged:
        for item in KINDS[kind]:
            shift = WIDTH - tally.question.bits
            others = (c**2 for v, c in COUNTS.items() if v >> shift == item >> shift and v != item)
            total += oracle.weight(tally) ** 2 * sum(others) / 2**tally.question.tag_bits / len(KINDS[kind])
    return math.sqrt(total)


@pytest.fixture(scope="module", params=[(case, bits) for case in QUESTIONS for bits in (1, 3)], ids=str)
def estimates(request):
    case, symbol_bits = request.param
    oracles = [campaign(case, symbol_bits, seed) for seed in range(CAMPAIGNS)]
    asked = sum(oracle.asked for oracle in oracles) / CAMPAIGNS
    found = {kind: np.array([oracle.estimate(KINDS[kind]) for oracle in oracles]) for kind in KINDS}
    return oracles, asked, found


@pytest.mark.parametrize("kind", list(KINDS))
def test_mean_and_deviation(estimates, kind):
    oracles, _, found = estimates
    count = COUNTS.get(KINDS[kind][0], 0)
    errors = found[kind] - count
    means = errors.mean(axis=1)  # of one campaign, whose items share users
    assert abs(errors.mean()) <= 3 * means.std() / math.sqrt(CAMPAIGNS)
    expected = math.hypot(
        math.sqrt(np.mean([formula(oracle, kind) ** 2 for oracle in oracles[:50]])),
        siblings_deviation(oracles[0], kind),
    )
    assert errors.std() == pytest.approx(expected, rel=0.05)
