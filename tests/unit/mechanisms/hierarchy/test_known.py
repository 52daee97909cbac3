"""Noise on every known node: thresholds, sizes, what is stated."""

import numpy as np
import pytest

from hushcount.errors import NotProvedError, ParameterError
from hushcount.mechanisms.hierarchy.known import KnownError, KnownNodeRelease
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.releases.trees.nodes import Tops
from hushcount.shapes import LeafCounts, Public
from hushcount.testing import SeededBits

BUDGET, PUBLIC = Budget.pure(1.0), Public(height=2, moved=3, candidates=1000)


def test_without_a_threshold_noise_alone_publishes_one_node_or_fewer():
    mechanism = KnownNodeRelease(BUDGET, PUBLIC)
    assert (
        1000 * mechanism.noise.tail(mechanism.threshold)
        <= 1
        < 1000 * mechanism.noise.tail(mechanism.threshold - 1)
    )
    assert mechanism.foretold(PUBLIC.unit).parameters["nodes"] == 1000


def test_a_threshold_at_which_noise_alone_fills_the_table_is_refused():
    many = Public(height=4, moved=5, candidates=1 << 32)
    with pytest.raises(ParameterError) as caught:
        KnownNodeRelease(BUDGET, many, 10)
    least = DiscreteLaplace(0.2).least_tail(100_000 / (1 << 32))
    assert str(caught.value) == (
        f"threshold must be at least {least}, or noise alone would publish more than 100,000 of 4,294,967,296"
        " nodes, got 10."
    )
    assert KnownNodeRelease(BUDGET, many, least).threshold == least


def test_rho_and_other_summaries_are_refused():
    with pytest.raises(ParameterError, match="hierarchy-known needs candidates, a public bound, got None"):
        KnownNodeRelease(BUDGET, Public(height=2, moved=3))
    with pytest.raises(
        NotProvedError, match="is proved for the counts of all nodes of a known hierarchy, not for"
    ):
        KnownNodeRelease(BUDGET, PUBLIC).release(LeafCounts(None, lambda: iter(())), SeededBits(1))


def test_it_costs_epsilon_and_nothing_else():
    event = KnownNodeRelease(BUDGET, PUBLIC).event()
    assert (float(event.epsilon), float(event.delta)) == (1, 0)


@pytest.mark.parametrize("by_level", [False, True])
def test_what_is_stated(by_level):
    error = KnownError(DiscreteLaplace(0.5), 40, by_level, 2, 1000)
    width = DiscreteLaplace(0.5).two_sided(0.05 / 1000)
    everything = error.all_nodes(0.95)
    assert (everything.below, everything.above) == (width, width)
    assert everything.unpublished == (39 + width,) * 3
    taken = 0 if by_level else 150
    tops = Tops(np.array([1, 1]), np.array([100, 50]), 2)
    assert error.unpublished(0, tops, 0.95) == (100, 100 - width, 39 + width + taken)
    said = error.sentences(0.95)
    assert said[0].startswith(
        f"For all 1,000 nodes at once, with probability 0.95, every total is within {width} of"
    )
    assert ("beyond the totals" in said[0]) is not by_level
    assert said[2].endswith("at most about 1.3e-06 are published on average, with 0 as their lower end.")
