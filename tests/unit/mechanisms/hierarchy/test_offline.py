import random
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import NotProvedError, ParameterError
from hushcount.hierarchies.addresses import Ipv4
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.mechanisms.hierarchy import offline as module
from hushcount.mechanisms.hierarchy.offline import HierarchyRelease
from hushcount.mechanisms.hierarchy.totals import NEAR, TotalError, stepped, sum_within
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import EVENT, USER, Budget, PrivacyUnit
from hushcount.shapes import Histogram, LeafCounts, Public
from hushcount.sketches.leaves import count_leaves, leaf_batches

LOOSE = Budget(2.0, 1e-3)


def noises(law, seed, block):
    """The noise of a release, value by value."""
    bits = SeededBits(seed)
    while True:
        yield from law.sample(block, bits).tolist()


def recursive(hierarchy, counts, threshold, noise):
    """The obvious release: rows (label, level, parent label, residual, total) of a dict leaf -> count."""
    rows = []

    def visit(leaves, level):
        """(what goes up, rows at the top of this subtree) of the node that holds these sorted leaves."""
        if level == hierarchy.height:
            residual, tops = sum(counts[leaf] for leaf in leaves), []
        else:
            residual, tops = 0, []
            for child in children(leaves, level + 1):
                up, below = visit(child, level + 1)
                residual, tops = residual + up, tops + below
        if residual == 0:
            return 0, tops
        value = residual + next(noise)
        if value < threshold:
            return residual, tops
        label = hierarchy.labels(pa.array(leaves[:1], hierarchy.leaf_type), [level])[0].as_py()
        row = [label, level, None, value, value + sum(top[4] for top in tops)]
        for top in tops:
            top[2] = label
        rows.append(row)
        return 0, [row]

    def children(leaves, level):
        nodes = hierarchy.nodes(pa.array(leaves, hierarchy.leaf_type), level).to_pylist()
        return [
            [leaf for leaf, own in zip(leaves, nodes, strict=True) if own == node]
            for node in dict.fromkeys(nodes)
        ]

    if counts:
        visit(sorted(counts), 0)
    return {tuple(row) for row in rows}


def shape_of(hierarchy, counts, batch=10**6):
    leaves = pa.array(sorted(counts), hierarchy.leaf_type)
    numbers = np.array([counts[leaf] for leaf in sorted(counts)], dtype=np.int64)
    parts = [(leaves[i : i + batch], numbers[i : i + batch]) for i in range(0, len(leaves), batch)]
    return LeafCounts(hierarchy, partial(leaf_batches, hierarchy, parts))


def random_counts(hierarchy, seed, keys):
    """A tree with dense and sparse parts, and counts on both sides of the threshold."""
    dice = random.Random(seed)
    drawn = pa.array([keys(dice) for _ in range(dice.choice([0, 1, 5, 60]))], pa.string())
    return {leaf: dice.choice([1, 1, 2, 5, 10, 20, 60]) for leaf in hierarchy.leaves(drawn).to_pylist()}


def address(dice):
    return ".".join(str(dice.choice([0, 1, 2, 255])) for _ in range(4))


def path_key(dice):
    return "/" + "/".join(dice.choice("abc") for _ in range(dice.randint(1, 5)))


@pytest.mark.parametrize("block", [1, 7, 1 << 15])
@pytest.mark.parametrize(
    ("text", "keys"),
    [("ipv4/8", address), ("ipv4/1", address), ("path/3", path_key)],
    ids=["bytes", "bits", "path"],
)
@pytest.mark.parametrize("seed", range(6))
def test_kernel_equals_the_obvious_release(monkeypatch, block, text, keys, seed):
    monkeypatch.setattr(module, "BLOCK", block)
    hierarchy = parse_hierarchy(text)
    counts = random_counts(hierarchy, seed, keys)
    mechanism = HierarchyRelease(LOOSE, Public(height=hierarchy.height))
    expected = recursive(hierarchy, counts, mechanism.threshold, noises(mechanism.noise, seed, block))
    for batch in (1, 3, 10**6):
        release = mechanism.release(shape_of(hierarchy, counts, batch), SeededBits(seed))
        table = release.table.drop_columns(["lower", "upper"])
        columns = table.select(["node", "level", "parent", "residual", "total"]).to_pydict().values()
        assert set(zip(*columns, strict=True)) == expected


def test_every_published_node_holds_what_reached_the_threshold():
    hierarchy = Ipv4(8)
    places = product(range(3), range(4), range(5))
    counts = {(a << 24) + (b << 16) + c: 43 if c == b else 3 for a, b, c in places}
    release = HierarchyRelease(LOOSE, Public(height=4)).release(shape_of(hierarchy, counts), SeededBits(1))
    assert len(release) > 5
    assert min(release.residuals.to_pylist()) >= release.threshold
    totals = dict(zip(release.nodes.to_pylist(), release.totals.to_pylist(), strict=True))
    sums = dict(zip(release.nodes.to_pylist(), release.residuals.to_pylist(), strict=True))
    for node, parent in zip(release.nodes.to_pylist(), release.parents.to_pylist(), strict=True):
        if parent is not None:
            sums[parent] += totals[node]
    assert sums == totals


def test_nothing_comes_of_nothing():
    shape = count_leaves(Ipv4(8), pa.array([], pa.string()))
    release = HierarchyRelease(LOOSE, Public(height=4)).release(shape, SeededBits(1))
    assert len(release) == 0
    assert release.table.schema.field("node").type == pa.string()


def test_guarantee():
    shape = count_leaves(Ipv4(1), pa.array(["10.0.0.1"] * 500))
    row = PrivacyUnit("row", "one row")
    release = HierarchyRelease(Budget(1.0, 1e-6), Public(height=32)).release(
        replace(shape, unit=row), SeededBits(1)
    )
    guarantee = release.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.unit) == (1.0, 1e-6, row)
    assert dict(guarantee.parameters) == {
        "hierarchy": "ipv4/1",
        "height": 32,
        "threshold": 84,
        "noise": "discrete Gaussian",
        "sigma": pytest.approx(15.2, abs=0.05),
    }
    assert (release.threshold, release.hierarchy, release.height) == (84, "ipv4/1", 32)
    laplace = HierarchyRelease(Budget(1.0, 1e-6), Public(height=1)).promise(Ipv4(8)).parameters
    assert (laplace["noise"], laplace["scale"]) == ("discrete Laplace", 2.0)
    assert shape.public().unit == EVENT


def test_the_unit_of_the_data_stands():
    hierarchy = Ipv4(8)
    shape = LeafCounts(hierarchy, count_leaves(hierarchy, pa.array(["10.0.0.1"])).batches, USER)
    assert HierarchyRelease(LOOSE, Public(height=4)).release(shape, SeededBits(1)).guarantee.unit == USER


def test_refusals():
    shape = count_leaves(Ipv4(8), pa.array(["10.0.0.1"]))
    text = r"^threshold must be at least 84 for epsilon = 1, delta = 1e-06 and height 32, got 50\.$"
    with pytest.raises(ParameterError, match=text):
        HierarchyRelease(Budget(1.0, 1e-6), Public(height=32), 50)
    with pytest.raises(ParameterError, match=r"^height must be at least 1, got 0\.$"):
        HierarchyRelease(LOOSE, Public(height=0))
    with pytest.raises(ParameterError, match=r"^threshold must be a whole number, got '9'\.$"):
        HierarchyRelease(LOOSE, Public(height=4), "9")
    with pytest.raises(ParameterError, match=r"^height must be 32 as calibrated, got 4\.$"):
        HierarchyRelease(LOOSE, Public(height=32)).release(shape, SeededBits(1))
    with pytest.raises(NotProvedError) as caught:
        HierarchyRelease(LOOSE, Public(height=4)).release(
            Histogram(pa.array(["a"]), np.array([1])), SeededBits(1)
        )
    assert str(caught.value) == (
        "hierarchy-offline is proved for the exact leaf counts of a hierarchy, not for exact counts;"
        " give the data to hc.tree, or count with HierarchySketch."
    )


def test_counts_close_to_the_largest():
    counts = {1: (1 << 62), 2: (1 << 61)}
    release = HierarchyRelease(LOOSE, Public(height=4), 1 << 60).release(
        shape_of(Ipv4(8), counts), SeededBits(1)
    )
    assert len(release) == 2


@pytest.mark.parametrize("law", [DiscreteLaplace(0.3), DiscreteGaussian(4.2), DiscreteGaussian(0.4)], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 10])
@pytest.mark.parametrize("p", [0.5, 0.05, 1e-6])
def test_widths_of_sums_are_the_least(law, count, p):
    reach = law.two_sided(1e-20)
    each = np.asarray(law.pmf(np.arange(-reach, reach + 1)))
    total = np.ones(1)
    for _ in range(count):
        total = np.convolve(total, each)
    width, middle = sum_within(law, count, p), count * reach
    assert total[: middle - width].sum() + total[middle + width + 1 :].sum() <= p
    if width:
        assert total[: middle - width + 1].sum() + total[middle + width :].sum() > p * (1 - 1e-5)


@pytest.mark.parametrize("law", [DiscreteLaplace(1e-6), DiscreteGaussian(1e6)], ids=str)
def test_widths_of_sums_that_are_spread_too_far(law):
    for count in (2, 100):
        width = sum_within(law, count, 0.05) / np.sqrt(count * law.variance)
        assert 1.9 < width < 3.7


def test_steps_of_widths():
    assert [stepped(count) for count in (1, 2, 32)] == [1, 2, 32]
    for count in (33, 100, 12345):
        assert count <= stepped(count) <= 1.021 * count + 1
    law = DiscreteGaussian(15)
    assert sum_within(law, 10_000, 0.05) == pytest.approx(1.96 * 15 * 100, rel=1e-3)


def test_sentences():
    own = (
        "If you pick a node before you see the table, then with probability 0.95 its true residual lies"
        " within 29 of its residual. A total sums the residuals of its subtree, and their noises.",
        NEAR,
    )
    assert TotalError(DiscreteGaussian(15), 84).sentences(0.95) == own  # of a file without the height
    small = TotalError(DiscreteGaussian(15), 84, 4, 100_000).sentences(0.95)
    assert small == (
        *own,
        "For all nodes at once, with probability 0.95, every residual is within 73 of the truth, every total"
        " within 73 for each row of its subtree, and every node with a true residual of at least 144 is"
        " published; one that is not has a residual of at most 143.",
    )
    large = TotalError(DiscreteGaussian(15), 10_000, 4).sentences(0.95)
    assert large[2:] == (
        "For all nodes at once (of at most 1,000,000,000,000 events), with probability 0.95, every residual"
        " is within 97 of the truth, every total within 97 for each row of its subtree, and every node with a"
        " true residual of at least 10,093 is published; one that is not has a residual of at most 10,092.",
        "Then every total is within 1% of the truth; the published residuals below an unpublished node, c of"
        " them, add up to its total within 1% + 102% / c of the truth.",
    )


def test_near_says_that_selection_is_not_corrected():
    assert NEAR == (
        "Rows marked near_threshold (* where intervals are shown) are the exception: so close to the"
        " threshold a node is published only if its noise was high, so their numbers are too high on average"
        " and their intervals miss the truth more often."
    )
