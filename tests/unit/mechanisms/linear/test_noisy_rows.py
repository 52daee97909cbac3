"""Bounds that noisy rows show: against slow ones, against the second moment, and the public bound on them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from hushcount.errors import ParameterError
from hushcount.mechanisms.linear.noisy_rows import (
    RARE,
    STEPS,
    NoisyRows,
    farthest,
    half_of,
    measured_bounds,
    plan_measured,
    usual_share,
)
from hushcount.privacy import Budget


def noisy(seed: int, depth: int, width: int, heavy: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = rng.normal(0, 20, (depth, width)).round().astype(np.int64)
    cells[:, :heavy] += rng.choice([-1, 1], (depth, heavy)) * rng.integers(100, 100_000, heavy)
    return cells


def test_half_of_independent_rows() -> None:
    chances = [0.1, 0.4, 0.25, 0.9, 0.03]
    slow = 0.0
    for hits in product((0, 1), repeat=5):
        if sum(hits) >= 3:
            slow += math.prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
    assert half_of(np.array(chances)) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("more", [1, 3])
@pytest.mark.parametrize("failure", [0.4, 1e-2, 1e-6])
def test_a_bound_is_the_least_that_the_rows_allow(failure: float, more: int) -> None:
    cells = noisy(1, 21, 256, 5)

    def allowed(bound: int) -> bool:
        shares = ((np.abs(cells) > bound).sum(axis=1) + more) / 512
        return half_of(shares) <= failure

    found = NoisyRows.of(cells).bound(failure, more)
    assert found is not None
    assert found > 0
    assert allowed(found)
    assert not allowed(found - 1)


@pytest.mark.parametrize("heavy", [0, 5, 100])
@pytest.mark.parametrize("failure", [0.1, 1e-4, 1e-9])
def test_a_bound_by_the_second_moment_is_never_lower(failure: float, heavy: int) -> None:
    """Chebyshev's inequality with the sum of squares of each row, Holland 2025, Section 5."""
    cells = noisy(2, 31, 1024, heavy)
    squares = (cells.astype(float) ** 2).sum(axis=1)

    def allowed(bound: int) -> bool:
        return half_of(np.minimum((squares / (bound + 1) ** 2 + 1) / 2048, 1.0)) <= failure

    by_moment = next(bound for bound in range(0, 10**7, 5) if allowed(bound))
    counted = NoisyRows.of(cells).bound(failure)
    assert counted is not None
    assert counted <= by_moment
    assert heavy == 0 or 5 * counted < by_moment


def test_rows_that_cannot_tell() -> None:
    assert NoisyRows.of(noisy(3, 3, 4)).bound(1e-6) is None
    assert NoisyRows.of(np.zeros((5, 256), np.int64)).bound(0.1) == 0


@pytest.mark.parametrize(("width", "most"), [(256, 0), (256, 9), (4096, 700), (64, 64)])
def test_a_usual_share_is_exceeded_rarely(width: int, most: int) -> None:
    share = usual_share(width, most, 1e-6)
    assert binom.sf(most, width, share) <= 1e-6
    assert most == 64 or binom.sf(most, width, min(2 * share + 1e-4, 1)) > 1e-9


@pytest.mark.parametrize("events", [1000, 10**6])
def test_streams_show_no_more_than_the_public_bound(events: int) -> None:
    """All events in as few keys as hurt most, all in one key, and none."""
    plan = plan_measured(events, 256, Budget(1.0, 1e-6))
    rng, failure = np.random.default_rng(4), plan.beta / events
    for keys in (0, 1, 20, 200, max(events // (plan.collisions + 1), 1)):
        cells = plan.distribution.sample(plan.depth * plan.width, _bits()).reshape(plan.depth, plan.width)
        for row in cells:
            places = rng.integers(0, plan.width, keys)
            np.add.at(row, places, rng.choice([-1, 1], keys) * (events // max(keys, 1)))
        found = NoisyRows.of(cells).bound(failure)
        assert found is not None
        assert found <= plan.collisions + plan.noise
    assert RARE < 1e-8


def _bits() -> object:
    from tests.seeded_bits import SeededBits

    return SeededBits(7)


def test_what_is_read_off_rows() -> None:
    plan = plan_measured(20_000, 100, Budget(1.0, 1e-6))
    measured = measured_bounds(plan, 20_000, noisy(5, plan.depth, plan.width))
    assert len(measured) == STEPS + 2
    assert measured[0] <= measured[1]
    assert list(measured[2:]) == sorted(measured[2:])
    assert measured_bounds(plan, 20_000, np.zeros((0, plan.width), np.int64)) == (0,) * (STEPS + 2)
    assert farthest(plan, 20_000, 1e-9) > 20_000


def test_a_delta_that_fingerprints_use_up_is_refused() -> None:
    with pytest.raises(ParameterError) as refused:
        plan_measured(10**9, 2, Budget(1.0, 1e-20))
    assert str(refused.value).startswith(
        "max_events must be smaller for an error envelope at this delta, got"
    )


def test_the_smallest_delta_that_fingerprints_leave_has_a_plan() -> None:
    assert plan_measured(2, 2, Budget(1.0, 1e-26)).threshold > 0
