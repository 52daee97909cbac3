"""Estimates of chosen items by TreeHist and Bitstogram."""

import string

import numpy as np
import pytest
from tests.ldp_population import answered, random_words

from hushcount import ldp
from hushcount.errors import DataError, ParameterError
from hushcount.ldp.server import queries
from hushcount.ldp.server.frequency import FrequencyOracle
from hushcount.ldp.server.tallies import to_words
from hushcount.ldp.wire.questions import Chunk, CodeBit

WORDS = ldp.Words(string.ascii_lowercase, 6)
COUNTS = {"tea": 4000, "teapot": 300, "milk": 700, **dict.fromkeys(random_words(120, 8), 40)}
USERS = sum(COUNTS.values())
ASKED = [*COUNTS, *random_words(60, 9), "team", "te"]
PROTOCOLS = [ldp.TreeHist, ldp.Bitstogram, ldp.BitstogramBinary]


def campaign(protocol, encoding=WORDS):
    return protocol(encoding, epsilon=4.0, users=USERS).manifest


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counts_lie_near_the_estimates(protocol):
    aggregator = answered(campaign(protocol), COUNTS, 1)
    found = ldp.frequencies(aggregator, ASKED)
    far = (found.estimates - [COUNTS.get(word, 0) for word in ASKED]) / found.deviations
    assert np.abs(far).max() < 6
    assert 0.85 < np.sqrt(np.square(far).mean()) < 1.15
    assert (found.estimates < 0).any()  # unbiased, so not clipped


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_items_asked_a_few_at_a_time(protocol, monkeypatch):
    aggregator = answered(campaign(protocol), COUNTS, 2)
    whole = ldp.frequencies(aggregator, ASKED[:40])
    monkeypatch.setattr(queries, "_TOGETHER", 1 << 15)
    parts = ldp.frequencies(aggregator, ASKED[:40])
    assert np.allclose(whole.estimates, parts.estimates, atol=1e-6)
    assert np.allclose(whole.deviations, parts.deviations, atol=1e-6)
    assert [len(each) for each in ldp.frequencies(aggregator, [])] == [0, 0]


def test_tags_give_the_estimates_of_the_oracle_that_peels():
    """Two ways to subtract what other tags have: by the count of the prefix, and by their mean."""
    aggregator = answered(campaign(ldp.TreeHist), COUNTS, 3)
    collected = aggregator.collected()
    values = [WORDS.encode(word) for word in ASKED]
    oracle = FrequencyOracle(collected.groups[0], collected.reports)
    assert np.allclose(ldp.frequencies(aggregator, ASKED).estimates, oracle.estimate(values), atol=1e-6)


@pytest.mark.parametrize("protocol", [ldp.Bitstogram, ldp.BitstogramBinary])
def test_buckets_one_by_one(protocol):
    """The obvious loop: an item's own bucket, less the mean of all others with its chunk or its signs."""
    collected = answered(campaign(protocol), COUNTS, 4).collected()
    tallies = collected.groups[0]
    for word in ("tea", "teapot", "nobody"):
        value, total = WORDS.encode(word), 0.0
        for tally in tallies:
            question, matches = tally.question, tally.matches / tally.response.gain
            if not isinstance(question, Chunk | CodeBit):
                cells = [question.cell(value, tally.at(row))[0] for row in range(question.rows)]
                chance = 2.0**-question.cell_bits
                raw = sum(matches[row, cell] for row, cell in enumerate(cells))
                total += (raw - chance * tally.reports) / (1 - chance)
                continue
            for table in range(question.tables):
                cell, flip = question.cell(value, tally.at(table))
                step = 1 << question.bits if isinstance(question, Chunk) else 1
                places = range(cell % step, matches.shape[1], step)
                others = [matches[table, place] for place in places if place != cell]
                total += (1 - 2 * flip) * (matches[table, cell] - np.mean(others))
        total += queries._never_met(tallies, collected.reports, to_words([value], WORDS.width))[0]
        assert queries.pooled(collected, [value]).estimates[0] == pytest.approx(total, abs=1e-6)


def test_items_that_never_share_a_bucket(monkeypatch):
    """All users hold one item, and items with its lower bits are asked about: they never meet it."""
    users, held, bits = 60_000, 0x2ABCDEF, 12
    manifest = ldp.Bitstogram(ldp.Integers(26), epsilon=20.0, users=users).manifest
    assert manifest.groups[0].questions[0].quotient_bits == bits
    aggregator = answered(manifest, {held: users}, 6)
    asked = [held ^ top << (26 - bits) for top in range(1, 1 << 9)]
    mended = ldp.frequencies(aggregator, asked).estimates.mean()
    monkeypatch.setattr(queries, "_never_met", lambda tallies, users, words: np.zeros(len(words)))
    plain = ldp.frequencies(aggregator, asked).estimates.mean()
    share = 1 - manifest.groups[0].shares[-1] / (1 << 32)
    assert mended - plain == pytest.approx(share * users / ((1 << bits) - 1), rel=0.1)
    noise = np.sqrt(users * manifest.groups[0].response.absent / len(asked))
    assert abs(mended) < 5 * noise < abs(plain)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_narrow_items_are_cells(protocol):
    counts = dict.fromkeys(range(100), 100)
    manifest = campaign(protocol, ldp.Integers(8))
    aggregator = answered(manifest, counts, 5)
    found = ldp.frequencies(aggregator, range(256))
    noise = np.sqrt(aggregator.reports * manifest.groups[0].response.absent)
    assert found.deviations[200] == pytest.approx(noise)
    assert abs(found.estimates[:100].mean() - 100) < 5 * noise / 10
    assert found.estimates.sum() == pytest.approx(aggregator.reports, abs=30 * noise)


def test_refused_items():
    aggregator = answered(campaign(ldp.Bitstogram), {"tea": 3}, 1)
    with pytest.raises(ParameterError) as refused:
        ldp.frequencies(aggregator, ["tea", "Tea!"])
    assert str(refused.value) == "every item must be one that the campaign's encoding can encode."
    with pytest.raises(DataError, match=r"^No report belongs to this campaign"):
        ldp.frequencies(ldp.Aggregator(campaign(ldp.TreeHist)), ["tea"])
