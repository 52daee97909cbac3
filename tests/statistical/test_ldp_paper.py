"""The oracles of Bassily et al. 2020 are unbiased and deviate as their formulas say.

Every campaign has a seed of its own, so that hashes are averaged over too. The checks refuse estimates
scaled by 0.9 or 1.1, and deviations that are wrong by a tenth.
"""

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount import ldp
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.protocols.paper.medians import MedianOracle, whole_items
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.server.tallies import bucket_of, cells_of, to_words
from hushcount.ldp.wire.manifest import Manifest

CAMPAIGNS = 240
USERS = 3000
KINDS = {"absent": 40, "rare": 20, "heavy": 6}  # how many items of each kind
COUNT = {"absent": 0, "rare": 20, "heavy": 350}
SINGLES = 500  # items of one user each
INTEGERS = ldp.Integers(12)


def population(width):
    """Random different items by kind, and the count of each."""
    drawn = np.random.default_rng(width).permutation(1 << width)[: sum(KINDS.values()) + SINGLES].tolist()
    kinds, counts = {}, {}
    for kind, size in KINDS.items():
        kinds[kind], drawn = drawn[:size], drawn[size:]
        counts |= dict.fromkeys(kinds[kind], COUNT[kind])
    return kinds, counts | dict.fromkeys(drawn, 1)


PROTOCOLS = {
    "ExplicitHist": ldp.ExplicitHist(INTEGERS, epsilon=2, users=USERS),
    "Hashtogram": ldp.Hashtogram(INTEGERS, epsilon=2, users=USERS, rows=5, cell_bits=11),
    "SuccinctHist": ldp.SuccinctHist(INTEGERS, epsilon=4, users=USERS, bucket_bits=5),
    "TreeHistPaper": ldp.TreeHistPaper(INTEGERS, epsilon=4, users=USERS, rows=5, cell_bits=9),
    "BitstogramPaper": ldp.BitstogramPaper(
        ldp.Integers(10), epsilon=4, users=USERS, bucket_bits=3, repetitions=1, rows=5, cell_bits=9
    ),
}


def collected(protocol, seed):
    """All reports of one campaign."""
    bits = SeededBits(seed)
    asked = protocol.manifest
    manifest = Manifest(
        asked.protocol,
        asked.encoding,
        asked.epsilon,
        asked.groups,
        USERS,
        asked.expires,
        asked.parameters,
        bits.bytes(32),
    )
    counts = population(asked.encoding.width)[1]
    values = np.repeat(list(counts), list(counts.values()))
    assert len(values) == USERS
    items = Items(to_words(values.tolist(), asked.encoding.width), np.ones(USERS, bool))
    nonces = bits.words(USERS)
    aggregator = Aggregator(manifest).add((nonces, respond_all(manifest, nonces, items, bits)))
    return aggregator.collected()


@pytest.fixture(scope="module", params=PROTOCOLS)
def campaigns(request):
    protocol = PROTOCOLS[request.param]
    return [collected(protocol, seed) for seed in range(CAMPAIGNS)]


def errors_and_formula(oracles, values, count):
    """Estimates minus the count in all campaigns, and the mean of the formula's deviation."""
    found = np.concatenate([oracle.estimate(values) for oracle in oracles])
    deviations = [float(oracle.error().deviation(np.array([float(count)]))[0]) for oracle in oracles]
    return found - count, float(np.mean(deviations))


def is_unbiased(errors):
    return abs(errors.mean()) < 3 * errors.std() / np.sqrt(len(errors))


def deviates_as(errors, deviation):
    return abs(errors.std() / deviation - 1) < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_whole_items(campaigns, kind):
    values = population(campaigns[0].manifest.encoding.width)[0][kind]
    errors, formula = errors_and_formula([whole_items(each) for each in campaigns], values, COUNT[kind])
    assert is_unbiased(errors)
    assert deviates_as(errors, formula)
    assert not deviates_as(errors, 0.9 * formula)
    assert not deviates_as(errors, 1.1 * formula)


def test_a_wrong_scale_is_refused(campaigns):
    values = population(campaigns[0].manifest.encoding.width)[0]["heavy"]
    errors, _ = errors_and_formula([whole_items(each) for each in campaigns], values, COUNT["heavy"])
    for scale in (0.9, 1.1):
        assert not is_unbiased(scale * (errors + COUNT["heavy"]) - COUNT["heavy"])


@pytest.mark.parametrize(("level", "wide"), [(3, False), (10, True)])
def test_prefixes_of_the_tree(level, wide):
    """At every level, hashed or not, also the prefixes are estimated without bias."""
    counts = population(INTEGERS.width)[1]
    truth = {}
    for value, count in counts.items():
        prefix = value >> (INTEGERS.width - level)
        truth[prefix] = truth.get(prefix, 0) + count
    asked = np.random.default_rng(level).permutation(1 << level)[:60].tolist()
    errors, formulas = [], []
    for seed in range(CAMPAIGNS // 2):
        oracle = MedianOracle(collected(PROTOCOLS["TreeHistPaper"], seed), 0, level - 1)
        assert oracle.tally.question.hashed == wide
        estimates = oracle.estimate([prefix << (INTEGERS.width - level) for prefix in asked])
        held = np.array([float(truth.get(prefix, 0)) for prefix in asked])
        errors.append(estimates - held)
        formulas.append(oracle.error().deviation(held))
    standard = np.concatenate(errors) / np.concatenate(formulas)
    assert is_unbiased(standard)
    assert deviates_as(standard, 1.0)


def test_every_row_is_unbiased_with_few_cells():
    """Where many items share a cell the mean over the rows is right, because their part is taken off."""
    protocol = ldp.Hashtogram(INTEGERS, epsilon=2, users=USERS, rows=5, cell_bits=5)
    values = population(INTEGERS.width)[0]["absent"]
    found = []
    for seed in range(CAMPAIGNS):
        oracle = whole_items(collected(protocol, seed))
        found.append(oracle.rows(to_words(values, INTEGERS.width)).mean())
    errors = np.array(found)
    assert is_unbiased(errors)
    assert not is_unbiased(errors + USERS / 32)  # without taking it off


def test_bits_of_codewords_and_of_items():
    """The sums that bits are decided by: in the mean the count of the bucket with a 0 minus that with a 1."""
    for name, pair in {"SuccinctHist": True, "BitstogramPaper": False}.items():
        errors = []
        for seed in range(CAMPAIGNS // 3):
            each = collected(PROTOCOLS[name], seed)
            tally = each.groups[0][0]
            place = tally.at(7 if not pair else 0)
            counts = population(place.width)[1]
            words = to_words(counts, place.width)
            _, flips = cells_of(tally.question, place, words)
            top = np.array([value >> (place.width - 1) for value in counts])
            buckets = bucket_of(place, words, tally.question.bucket_bits)
            turned = np.array(list(counts.values())) * (1 - 2 * (top if pair else flips).astype(int))
            truth = np.bincount(buckets, weights=turned, minlength=1 << tally.question.bucket_bits)
            matches = tally.matches[7 if not pair else 0]
            sums = matches[0::2] - matches[1::2] if pair else matches
            gamma = INTEGERS.width if pair else len(tally.tables)
            errors.append(gamma / tally.response.gain * sums - truth)
        assert is_unbiased(np.concatenate(errors)), name
