"""The output law of the floor release of all levels on neighbouring streams; Biswas et al. 2024, Algorithm
3 refuted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.privacy.test_space_saving import summary

from hushcount.audit import laws as hs
from hushcount.audit.loss_grid import down, kind_of, levels_divergence, up
from hushcount.audit.moved import gaussian_divergence
from hushcount.audit.neighbours import STATES, neighbours
from hushcount.mechanisms.hierarchy import levels as calibration
from hushcount.mechanisms.hierarchy.levels import GaussianLevels, LaplaceLevels, LevelNoise
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget
from hushcount.sketches.levels import HierarchySketch

Pair = tuple[hs.Summary, hs.Summary]


def tight(noise: LevelNoise, epsilon: float, height: int, threshold: int) -> hs.NoisyThreshold:
    """The budget that the theorem just allows for this noise and threshold."""
    delta = calibration.spent(noise, noise.divergences(height + 1, epsilon), threshold)
    assert delta < 0.2
    return hs.NoisyThreshold(noise.distribution, threshold, epsilon, delta)  # type: ignore[arg-type]


LAPLACE, GAUSSIAN = LaplaceLevels(0.75), GaussianLevels(2.25)
CASES = [tight(LAPLACE, 1.5, 2, 11), tight(GAUSSIAN, 1.5, 2, 12), tight(LaplaceLevels(0.5), 1.5, 2, 14)]


def keeps(release: hs.NoisyThreshold, pairs: Sequence[Pair]) -> bool:
    backwards = [(less, more) for more, less in pairs]
    worst = max(levels_divergence(release, pairs, up), levels_divergence(release, backwards, up, step=-1))
    return worst <= release.delta


@pytest.mark.parametrize("release", CASES, ids=str)
def test_every_pair_of_states_keeps_the_budget(release: hs.NoisyThreshold) -> None:
    for states in combinations_with_replacement(STATES, 2):
        own = [list(neighbours(state, release.threshold, 0)) for state in states]
        for pairs in product(*(choices[:3] for choices in own)):
            assert keeps(release, pairs)


@pytest.mark.parametrize("release", CASES, ids=str)
def test_unmoved_nodes_beside_them_keep_the_budget(release: hs.NoisyThreshold) -> None:
    for state in STATES:
        pairs = list(neighbours(state, release.threshold, 1))
        assert keeps(release, (pairs[1], pairs[-1]))


def leaf_pairs() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All streams of up to five events over six leaves in three branches, with one event removed."""
    for length in range(1, 6):
        for stream in product(range(6), repeat=length):
            if stream[0] == 0 and max(stream) < 2 * len(set(stream)):  # up to renaming
                for place in range(length):
                    yield stream, stream[:place] + stream[place + 1 :]


@pytest.mark.parametrize("counters", [2, 3])
@pytest.mark.parametrize("release", CASES[:2], ids=str)
def test_all_short_streams_over_a_small_tree_keep_the_budget(
    release: hs.NoisyThreshold, counters: int
) -> None:
    """From the leaves to the output law of root, branches and leaves, nothing assumed in between."""
    seen = set()
    for stream, shorter in leaf_pairs():
        pairs = [
            (summary(tuple(leaf // width for leaf in stream), counters),
             summary(tuple(leaf // width for leaf in shorter), counters))
            for width in (2, 1)
        ]  # fmt: skip
        kind = tuple(kind_of(*pair) for pair in pairs)
        if kind not in seen:
            seen.add(kind)
            assert keeps(release, pairs)
    assert len(seen) > 40


@pytest.mark.parametrize("height", [1, 2, 4])
@pytest.mark.parametrize("budget", [Budget(2.0, 1e-6), Budget(3.0, 1e-4)], ids=str)
def test_the_chosen_noise_keeps_its_budget_with_all_levels_in_one_state(budget: Budget, height: int) -> None:
    found = calibration.calibrated_levels(budget.epsilon, budget.delta, height)
    release = hs.NoisyThreshold(found.noise.distribution, found.threshold, budget.epsilon, budget.delta)  # type: ignore[arg-type]
    for state in STATES:
        pair = next(neighbours(state, release.threshold, 0))
        assert keeps(release, [pair] * height)


@pytest.mark.parametrize("height", [1, 3])
def test_a_threshold_one_lower_is_refuted(height: int) -> None:
    """Basic composition, all levels in S6: only the root moves, and all of delta hides isolated nodes."""
    noise = LaplaceLevels(1 / (height + 1))
    release = tight(noise, 1.0, height, 12 * (height + 1))
    pairs = [next(neighbours("S6", release.threshold, 0))] * height
    assert levels_divergence(release, pairs, down) > 0.9 * release.delta
    lower = hs.NoisyThreshold(release.law, release.threshold - 1, release.epsilon, release.delta)
    assert levels_divergence(lower, pairs, down) > release.delta


@pytest.mark.parametrize("height", [2, 4])
def test_the_threshold_of_one_level_alone_is_refuted_for_several(height: int) -> None:
    found = calibration.calibrated_levels(1.0, 1e-6, height)
    spare = 1e-6 - float(found.noise.divergences(height + 1, 1.0)[-1])
    alone = 1
    while found.noise.isolated_tail(alone) > 1.5 * spare:
        alone += 1
    assert alone < found.threshold
    twin = hs.NoisyThreshold(found.noise.distribution, alone, 1.0, 1e-6)  # type: ignore[arg-type]
    assert levels_divergence(twin, [next(neighbours("S6", alone, 0))] * height, down) > 1e-6


@pytest.mark.parametrize("height", [4, 32])
def test_noise_for_the_levels_without_the_root_is_refuted(height: int) -> None:
    """The number of events moves too: with all floors moved that is one count more."""
    found = calibration.calibrated_levels(1.0, 1e-6, height)
    assert isinstance(found.noise, GaussianLevels)
    assert gaussian_divergence(found.noise.distribution, height + 1, 1.0) <= 1e-6
    without = calibration.gaussian.least_sigma(1.0, 1e-6, height)
    assert gaussian_divergence(DiscreteGaussian(without), height + 1, 1.0) > 1e-6


@pytest.mark.parametrize(
    "noise", [LAPLACE, LaplaceLevels(0.1), GAUSSIAN, GaussianLevels(0.8), GaussianLevels(9.6)]
)
def test_tails_are_bounds_and_close(noise: LevelNoise) -> None:
    span = noise.distribution.two_sided(1e-18)
    pmf = np.asarray(noise.distribution.pmf(np.arange(-span, span + 1)))
    difference = np.convolve(pmf, pmf)
    sds = math.sqrt(noise.distribution.variance)
    for least in (1, 2, 5, math.ceil(3 * sds), math.ceil(6 * sds)):
        exact = float(difference[2 * span + least :].sum())
        assert exact * (1 - 1e-9) <= noise.difference_tail(least) <= 1.3 * exact
        assert isolated(noise, least) * (1 - 1e-9) <= noise.isolated_tail(least)
    far = math.ceil(6 * sds)
    assert noise.isolated_tail(far) <= 1.2 * isolated(noise, far)


def isolated(noise: LevelNoise, threshold: int) -> float:
    """P[max(1 + z1 - z0, z2 - z0) >= threshold], summed over z0."""
    shared = np.arange(-noise.distribution.two_sided(1e-18), noise.distribution.two_sided(1e-18) + 1)
    one, two = (np.asarray(noise.distribution.tail(shared + threshold - up)) for up in (1, 0))
    return float((np.asarray(noise.distribution.pmf(shared)) * (one + two - one * two)).sum())


# Biswas et al. 2024, Algorithm 3


KAPPA, HEIGHT, EPSILON = 1000, 4, 1.0


def together_moved(coordinates: int, scale: float) -> float:
    """HS, bounded below: each count + Laplace(scale) is looked at only for whether it is above the middle."""
    above = 1 - math.exp(-1 / (2 * scale)) / 2
    ups = np.arange(coordinates + 1)
    p, q = stats.binom.pmf(ups, coordinates, above), stats.binom.pmf(ups, coordinates, 1 - above)
    return hs.hockey_stick((p, q), EPSILON)


def streams() -> tuple[pa.Array, pa.Array]:
    """A thousand paths of four levels that share no node, each a thousand times; one more event, or not."""
    paths = np.repeat(np.arange(KAPPA), KAPPA)
    names = pa.array([f"d.c.b.t{path}" for path in range(KAPPA + 1)])
    shorter = names.take(pa.array(paths))
    return pa.concat_arrays([shorter, names[KAPPA:]]), shorter


def test_one_event_moves_all_counters_of_every_level() -> None:
    more, less = (HierarchySketch("domain/4", KAPPA + 1) for _ in range(2))
    longer, shorter = streams()
    more.update(longer)
    less.update(shorter)
    for one, other in zip(more.shape().levels, less.shape().levels, strict=True):
        assert (one.floor, other.floor) == (1, 0)
        assert one.keys.equals(other.keys)
        heights, others = one.counts - one.floor, other.counts - other.floor
        assert len(heights) == KAPPA
        assert (heights == others - 1).all()


def test_the_printed_algorithm_3_is_refuted() -> None:
    """Line 8 publishes count + Laplace(4h / epsilon), fresh for each; counts of 1000 pass the threshold."""
    threshold = 1 + 6 * HEIGHT / EPSILON * math.log(3 * HEIGHT / 1e-6)
    missed = KAPPA * HEIGHT * math.exp(-(999 - threshold) / (8 * HEIGHT / EPSILON))
    assert missed < 1e-3  # by a union bound over both noises of all counts
    assert together_moved(KAPPA, 4 * HEIGHT / EPSILON) - missed > 0.4  # one level alone
    assert together_moved(KAPPA * HEIGHT, 4 * HEIGHT / EPSILON) - missed > 0.9


def test_the_printed_algorithm_3_is_refuted_on_the_integers_too() -> None:
    law = DiscreteLaplace(EPSILON / (4 * HEIGHT))
    ups = np.arange(KAPPA + 1)
    up = float(law.tail(0))
    p, q = stats.binom.pmf(ups, KAPPA, up), stats.binom.pmf(ups, KAPPA, 1 - up)
    assert hs.hockey_stick((p, q), EPSILON) > 0.4


def test_ours_keeps_its_budget_where_all_counters_move_together() -> None:
    """Given the noisy floor, a node with the same count is published alike: only the floors move."""
    found = calibration.calibrated_levels(EPSILON, 1e-6, HEIGHT)
    assert isinstance(found.noise, GaussianLevels)
    assert gaussian_divergence(found.noise.distribution, HEIGHT + 1, EPSILON) <= 1e-6
    release = hs.NoisyThreshold(found.noise.distribution, found.threshold, EPSILON, 1e-6)  # type: ignore[arg-type]
    counts = {f"n{index}": KAPPA for index in range(3)}
    pairs = [(hs.Summary(1, counts), hs.Summary(0, counts))] * HEIGHT
    assert keeps(release, pairs)
