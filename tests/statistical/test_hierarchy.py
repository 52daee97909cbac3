"""Whole releases of a hierarchy, many nodes at once: noise, chances to be published, and intervals."""

from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.seeded_bits import SeededBits
from tests.statistical.test_noise import FALSE_ALARM, fits_law

from hushcount.hierarchies.addresses import Ipv4
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.shapes import LeafCounts, Public
from hushcount.sketches.leaves import leaf_batches

LEAVES = 60_000


def shape_of(step, counts, places=None):
    """Leaf i has counts[i], and is the i-th address, or the one at its place."""
    leaves = np.arange(len(counts)) if places is None else places
    hierarchy = Ipv4(step)
    rows = (pa.array(leaves.astype(np.uint64)), counts)
    return LeafCounts(hierarchy, partial(leaf_batches, hierarchy, [rows]))


def released(step, count, seed):
    """The mechanism, and a release of leaves that all have `count` above the threshold."""
    mechanism = HierarchyRelease(Budget(1.0, 1e-6), Public(height=Ipv4(step).height))
    counts = np.full(LEAVES, mechanism.threshold + count, dtype=np.int64)
    return mechanism, mechanism.release(shape_of(step, counts), SeededBits(seed))


def scaled(law, factor):
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.exact_epsilon / factor)
    return DiscreteGaussian(law.exact_sigma * factor)


@pytest.mark.parametrize(("step", "seed"), [(8, 1), (4, 2), (1, 3)])
def test_published_residuals_have_the_noise_and_no_other(step, seed):
    mechanism, release = released(step, 1000, seed)
    assert len(release) == LEAVES
    samples = release.rows.residuals - mechanism.threshold - 1000
    assert fits_law(samples, mechanism.noise)
    assert not fits_law(samples, scaled(mechanism.noise, Fraction(9, 10)))
    assert not fits_law(samples, scaled(mechanism.noise, Fraction(11, 10)))


@pytest.mark.parametrize("above", [-15, -1, 0, 10])
def test_leaves_are_published_as_often_as_the_noise_says(above):
    mechanism, release = released(4, above, above + 20)
    published = int(np.count_nonzero(release.rows.levels == 8))

    def plausible(chance):
        tails = binom.cdf(published, LEAVES, chance), binom.sf(published - 1, LEAVES, chance)
        return min(tails) > FALSE_ALARM / 2

    assert plausible(mechanism.noise.tail(-above))
    assert not plausible(mechanism.noise.tail(-above + 1))
    assert not plausible(mechanism.noise.tail(-above - 1))


@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_intervals_of_totals_cover_as_often_as_they_say(confidence):
    """2048 parents of 1 to 40 heavy leaves and of 150 light ones: totals of up to 41 noises, none near by."""
    mechanism = HierarchyRelease(Budget(1.0, 1e-6), Public(height=4))
    block, place = np.divmod(np.arange(2048 * 256), 256)
    heavy = place >= 255 - block % 40
    counts = np.where(heavy, mechanism.threshold + 500, 2 * (place < 150))
    shape = shape_of(8, counts[counts > 0], np.flatnonzero(counts))
    release = mechanism.release(shape, SeededBits(7)).at_confidence(confidence)
    table = release.table.filter(pa.array(release.rows.levels == 3))
    true = np.add.reduceat(counts, np.arange(0, len(counts), 256))
    true = true[[_block(node) for node in table["node"].to_pylist()]]
    inside = (table["lower"].to_numpy() <= true) & (true <= table["upper"].to_numpy())
    assert len(inside) == 2048
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], len(inside), confidence)
    assert low <= np.count_nonzero(inside) <= high + 0.02 * len(inside)  # whole numbers cover a little more


def _block(node):
    """The number of a /24 prefix."""
    parts = [int(part) for part in node.split("/")[0].split(".")]
    return (parts[1] << 8) + parts[2]
