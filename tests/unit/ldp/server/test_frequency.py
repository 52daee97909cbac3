"""The response of a response, estimates without noise, and the error of an estimate."""

import math

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ManifestError
from hushcount.ldp.client.simulation import Items, respond_all
from hushcount.ldp.server.aggregator import Aggregator
from hushcount.ldp.server.frequency import FrequencyOracle
from hushcount.ldp.server.tallies import GroupTallies
from hushcount.ldp.wire.encodings import Integers
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix, TaggedPrefix
from hushcount.ldp.wire.response import OracleError, ResponseDistribution

NEVER = 253_402_300_799


@pytest.mark.parametrize(
    ("epsilon", "symbol_bits", "absent"), [("1", 2, 3.692), ("2", 3, 0.7246), ("4", 5, 0.0823)]
)
def test_variance_of_absent_items(epsilon, symbol_bits, absent):
    response = Group(epsilon, symbol_bits, (Prefix(8, 1, 8),), (ALL_SHARES,)).response
    assert response.absent == pytest.approx(absent, rel=1e-3)
    p, q = response.truthful, response.symbols
    assert response.absent == pytest.approx((1 / q) * (1 - 1 / q) / (p - 1 / q) ** 2)
    assert response.present == pytest.approx(p * (1 - p) / (p - 1 / q) ** 2)
    assert response.gain == pytest.approx(q * p - 1)


def test_the_formula_of_the_variance():
    response = ResponseDistribution(8, 0.5)
    expected = 4 * ((1000 - 30) * response.absent + 30 * response.present) + 30 * 3
    assert response.variance(30, 1000, 250) == pytest.approx(expected)
    error = OracleError(response, 1000, 250, 17.0)
    assert error.deviation(np.array([30.0]))[0] == pytest.approx(math.sqrt(expected + 17))
    assert error.of_absent == pytest.approx(math.sqrt(4000 * response.absent + 17))
    assert (error.deviation(np.array([-5.0, 5000.0])) == error.deviation(np.array([0.0, 1000.0]))).all()


def truthful_campaign(questions, values):
    """A campaign at epsilon = 20, where hardly any response is replaced."""
    share = ALL_SHARES // len(questions)
    shares = (*[share] * (len(questions) - 1), ALL_SHARES - share * (len(questions) - 1))
    group = Group("20", 5, tuple(questions), shares)
    manifest = Manifest("tree_hist", Integers(40), "20", (group,), 1000, NEVER, {}, bytes(range(32)))
    bits = SeededBits(1)
    nonces = bits.words(len(values))
    tallies = GroupTallies(manifest, 0)
    tallies.add(nonces, respond_all(manifest, nonces, Items.of(values, manifest.encoding), bits))
    return tallies.questions()


def test_estimates_come_near_without_noise():
    values = [7 << 20] * 3000 + [9 << 20] * 1000
    tallies = truthful_campaign([TaggedPrefix(18, 6, 4, 12), Prefix(40, 4, 12)], values)
    oracle = FrequencyOracle(tallies, 4000)
    assert oracle.asked == 4000
    found = oracle.estimate([7 << 20, 9 << 20, 11 << 20])
    assert found == pytest.approx([3000, 1000, 0], abs=60)
    single = FrequencyOracle(tallies[1:], 4000)
    assert single.asked == tallies[1].reports
    assert single.estimate([7 << 20])[0] == pytest.approx(3000, abs=150)


def test_chances_of_collisions():
    tallies = truthful_campaign([Prefix(8, 1, 8), TaggedPrefix(18, 6, 4, 12), Prefix(40, 4, 12)], [1] * 50)
    assert [tally.question.collision_chance for tally in tallies] == [0.0, 2**-12, 2**-12]
    oracle = FrequencyOracle(tallies, 50)
    shares = [tally.reports / 50 for tally in tallies]
    expected = 900 * (shares[1] ** 2 + shares[2] ** 2) / (4 * 2**12)
    assert oracle.error(900).collisions == pytest.approx(expected)


def test_items_that_fit_nothing_add_nothing():
    tallies = truthful_campaign([Prefix(40, 4, 12)], [None] * 3000)
    noise = math.sqrt(3000 / 31)
    assert abs(FrequencyOracle(tallies, 3000).estimate([5])[0]) < 5 * noise


def test_tables_that_would_be_too_large():
    group = Group("2", 3, (Prefix(40, 4, 30),), (ALL_SHARES,))
    manifest = Manifest("tree_hist", Integers(40), "2", (group,), 10, NEVER, {}, bytes(32))
    with pytest.raises(ManifestError) as caught:
        Aggregator(manifest)
    assert str(caught.value) == (
        "the manifest asks the collector for 4,294,967,296 cells, and at most 134,217,728 are allowed."
    )
