"""What trees spend on their worst neighbouring data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hushcount.audit import laws
from hushcount.audit import moved as changes
from hushcount.audit.cases import VANISHING, Spent, pure_spent
from hushcount.audit.laws import NoisyThreshold
from hushcount.audit.loss_grid import down, levels_divergence
from hushcount.audit.neighbours import STATES, neighbours
from hushcount.compiled.arrays import Counts, Floats
from hushcount.mechanisms.hierarchy.known import KnownNodeRelease
from hushcount.mechanisms.hierarchy.streaming import LevelFloorRelease
from hushcount.noise.gaussian import Distribution
from hushcount.noise.laplace import DiscreteLaplace


def path(law: Distribution, threshold: int, tests: int, epsilon: float, weight: int = 1) -> Iterator[Spent]:
    """One leaf whose whole path is tested at the same residual, or a new leaf; an event has this weight."""
    spent = changes.path_divergence(law, threshold, tests, epsilon, weight)
    yield Spent(spent, f"one path of {tests} nodes and an event of weight {weight}")


def every_node(mechanism: KnownNodeRelease) -> Iterator[Spent]:
    """Counts of known nodes, of which several change by 1: from 0, near the threshold or far above it."""
    law, threshold, moved = mechanism.noise, mechanism.threshold, mechanism.needed("moved")
    for count in (0, threshold - 1, 4 * threshold):
        values = np.arange(threshold, count + 1 + law.two_sided(VANISHING))
        pair = (_known_count(law, values, count + 1), _known_count(law, values, count))
        for sides in (pair, pair[::-1]):
            both = laws.together([laws.merged(sides)] * moved)
            yield pure_spent(both, mechanism.budget.epsilon, f"{moved} nodes of {count + 1} and {count}")


def _known_count(law: DiscreteLaplace, values: Counts, count: int) -> Floats:
    """Return how likely a node of this count is not published, and published with each of these values."""
    return np.concatenate(([1 - float(law.tail(values[0] - count))], law.pmf(values - count)))


def levels(mechanism: LevelFloorRelease) -> Iterator[Spent]:
    """All levels in one state: every count changed, or every node isolated."""
    found, budget, height = mechanism.levels, mechanism.budget, mechanism.height
    release = NoisyThreshold(found.noise.distribution, found.threshold, budget.epsilon, budget.delta)
    for state in STATES:
        pair = next(neighbours(state, release.threshold, 0))
        for sides, step in ((pair, 1), (pair[::-1], -1)):
            spent = levels_divergence(release, [(sides[0], sides[1])] * height, down, step)
            yield Spent(spent, f"{height} levels in {state}")
