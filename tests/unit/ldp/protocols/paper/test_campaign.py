"""Hashtogram: its manifest, the median by hand, all items of a small domain, wide items."""

import numpy as np
import pytest
from experiments.ldp.lemmas import HashtogramConstants, explicit_error, hashtogram_proof
from tests.ldp_population import answered
from tests.unit.ldp.protocols.paper.paper_cases import COUNTS, EXPIRES, HEAVY, USERS, WORDS, by_key

from hushcount import ldp
from hushcount.errors import ParameterError
from hushcount.ldp.protocols.paper.medians import whole_items
from hushcount.ldp.server.tallies import to_words
from hushcount.ldp.wire.questions import Prefix


def test_manifest_by_default():
    manifest = ldp.Hashtogram(WORDS, epsilon=2, users=10_000_000, expires=EXPIRES).manifest
    assert manifest.protocol == "hashtogram"
    assert [list(group.questions) for group in manifest.groups] == [[Prefix(30, 285, 12)]]
    assert manifest.parameters == {"threshold": 47435}


def test_cells_are_items_where_these_are_short():
    manifest = ldp.Hashtogram(ldp.Integers(8), epsilon=2, users=10_000_000).manifest
    assert manifest.groups[0].questions == (Prefix(8, 285, 8),)


def test_the_estimate_is_the_median_of_rows_without_their_share_of_the_others():
    """R a_r(h_r(v)) in every row, less n / T, stretched; then the median."""
    campaign = ldp.Hashtogram(WORDS, epsilon=2, users=USERS, rows=5, cell_bits=4)
    aggregator = answered(campaign.manifest, COUNTS, 4)
    collected = aggregator.collected()
    tally = collected.groups[0][0]
    value = WORDS.encode("tea")
    rows = []
    for row in range(5):
        cell, _ = tally.question.cell(value, tally.at(row))
        signs = [(-1) ** (mask & cell).bit_count() for mask in range(16)]
        raw = 5 / tally.response.gain * float(np.dot(tally.tables[row], signs))
        rows.append((raw - USERS / 16) / (1 - 1 / 16))
    oracle = whole_items(collected)
    assert np.allclose(oracle.rows(to_words([value], 30))[:, 0], rows)
    assert np.isclose(oracle.estimate([value])[0], np.median(rows))


def test_frequencies_of_words():
    aggregator = answered(ldp.Hashtogram(WORDS, epsilon=4, users=USERS, rows=9).manifest, COUNTS, 5)
    words = [*HEAVY, "absent", "never"]
    found = ldp.frequencies(aggregator, words)
    truth = np.array([COUNTS.get(word, 0) for word in words])
    assert (np.abs(found.estimates - truth) < 4 * found.deviations).all()
    assert (found.deviations < 600).all()


def test_wide_items_cannot_all_be_asked_about():
    aggregator = answered(ldp.Hashtogram(WORDS, epsilon=4, users=100, rows=1).manifest, {"tea": 100}, 5)
    with pytest.raises(ParameterError) as error:
        aggregator.heavy_hitters()
    assert str(error.value) == (
        "hashtogram can list items of at most 20 bits, got 30; ask about some of them with"
        " hushcount.ldp.frequencies."
    )


def test_small_domains_are_asked_about_as_a_whole():
    counts = {7: 4000, 1000: 3000, 4095: 2000} | dict.fromkeys(range(100, 150), 10)
    campaign = ldp.Hashtogram(ldp.Integers(12), epsilon=4, users=9500, rows=5, cell_bits=10)
    found = by_key(answered(campaign.manifest, counts, 6).heavy_hitters(1500))
    assert set(found) == {7, 1000, 4095}
    assert all(abs(found[value] - counts[value]) < 500 for value in found)


@pytest.mark.parametrize("rows", [0, -3, 2.5, True, 4])
def test_rows(rows):
    with pytest.raises(ParameterError, match=r"^rows must be .*\.$"):
        ldp.Hashtogram(WORDS, epsilon=1, users=1000, rows=rows)


def test_even_rows_say_why():
    with pytest.raises(ParameterError) as error:
        ldp.Hashtogram(WORDS, epsilon=1, users=1000, rows=4)
    assert str(error.value) == "rows must be odd, so that one of them is the median, got 4."


def test_what_the_lemmas_ask_for():
    proved = hashtogram_proof(10_000_000, 2.0, 3162)
    assert (proved.rows, proved.cells) == (8898, 1214)
    assert 0.3 * 10_000_000 < proved.error < 0.4 * 10_000_000
    halved = hashtogram_proof(10_000_000, 2.0, 3162, constants=HashtogramConstants(150, 12, 200))
    assert halved.rows == pytest.approx(proved.rows / 2, abs=1)
    assert halved.error == pytest.approx(proved.error / 2)
    assert explicit_error(10_000_000, 2.0, 3162) < 20_000


@pytest.mark.parametrize("beta", [0, 1, -1, float("nan")])
def test_beta(beta):
    with pytest.raises(ParameterError) as error:
        hashtogram_proof(1000, 1.0, 10, beta)
    assert str(error.value) == f"beta must be strictly between 0 and 1, got {beta!r}."
