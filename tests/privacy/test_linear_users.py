"""Users in linear sketches: what one user changes, the noise for it, and plain cells, which are refuted."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.privacy.envelope_reference import cells_divergence

import hushcount as hc
from hushcount.audit.moved import gaussian_divergence as exact_divergence
from hushcount.errors import ParameterError
from hushcount.jobs.request import Request
from hushcount.keys.row_hash import COUNT_MIN, RowHash
from hushcount.mechanisms.linear.calibration import gaussian_sigma
from hushcount.mechanisms.linear.cells import CellSizes, NoisyCells
from hushcount.noise.gaussian import DiscreteGaussian
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget, unwarned
from hushcount.sketches.linear import CountMin
from hushcount.sketches.users import UserCountMin
from hushcount.sources.duckdb.bounding import DistinctPairs

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "users.json").read_text())
LINEAR, SIGMA = VECTORS["linear_l2_squared"], VECTORS["linear_sigma"]


def pairs(users, keys):
    return pa.StructArray.from_arrays([pa.array(users), pa.array(keys)], ["user", "key"])


@pytest.mark.parametrize("vector", LINEAR, ids=str)
def test_what_one_user_changes_over_all_placements_of_the_keys(vector):
    """All ways to place m keys in d rows of w cells: the largest l2 and l1, plain and once per cell."""
    keys, width, depth = vector["max_keys"], vector["width"], vector["depth"]
    plain, once, total = 0, 0, 0
    for places in product(range(width), repeat=keys * depth):
        counts = [np.bincount(places[row * keys : (row + 1) * keys], minlength=width) for row in range(depth)]
        plain = max(plain, sum(int((row**2).sum()) for row in counts))
        once = max(once, sum(int((row > 0).sum()) for row in counts))
        total = max(total, sum(int(row.sum()) for row in counts))
    assert (plain, once, total) == (vector["plain"], vector["once_per_cell"], vector["l1"])
    assert once == depth * min(keys, width)
    if width >= 2:  # and so says the sketch
        hashing = RowHash(COUNT_MIN, depth, 2, bytes(32))
        assert UserCountMin(hashing, keys).public().moved == depth * min(keys, 2)


def test_the_noise_is_that_of_the_reference():
    moved = SIGMA["depth"] * SIGMA["max_keys"]
    sigma = gaussian_sigma(moved, SIGMA["epsilon"], SIGMA["delta"])
    assert sigma == pytest.approx(SIGMA["least_once_per_cell"], rel=3e-4)
    assert exact_divergence(DiscreteGaussian(sigma), moved, 1.0) <= 1e-6
    assert exact_divergence(DiscreteGaussian(0.999 * sigma), moved, 1.0) > 1e-6
    laplace = DiscreteLaplace.shared(1.0, moved, "cells")
    assert laplace.variance**0.5 == pytest.approx(56.6, abs=0.05)


def test_plain_cells_with_that_noise_are_refuted():
    """The twin: eight keys of one user share a cell in each of five rows, which changes it by 8."""
    law = DiscreteGaussian(SIGMA["least_once_per_cell"])
    depth, most = SIGMA["depth"], SIGMA["max_keys"]
    spent = exact_divergence_of(law, [most] * depth)
    print(f"plain cells at sigma {float(law.sigma)}: divergence {spent:.4f} for a claimed 1e-6")
    assert spent == pytest.approx(SIGMA["plain_at_26.72"], rel=2e-3)
    assert exact_divergence_of(law, [1] * depth * most) <= 1.0002e-6
    assert exact_divergence_of(DiscreteGaussian(SIGMA["least_plain"]), [most] * depth) == pytest.approx(
        1e-6, rel=1e-3
    )


def exact_divergence_of(law: DiscreteGaussian, changes: list[int]) -> float:
    """The divergence of cells that change by whole numbers: the loss depends on one weighted sum."""
    span = law.two_sided(1e-25)
    pmf = np.asarray(law.pmf(np.arange(-span, span + 1)))
    total = np.ones(1)
    for change in changes:
        spread = np.zeros(2 * span * change + 1)
        spread[::change] = pmf
        total = np.convolve(total, spread)
    reach = len(total) // 2
    square = sum(change**2 for change in changes)
    loss = (2 * np.arange(-reach, reach + 1) + square) / (2 * float(law.sigma) ** 2)
    return float(np.sum(total * -np.expm1(np.minimum(1.0 - loss, 0.0))))


@pytest.mark.parametrize(("depth", "keys"), [(1, 2), (2, 2), (3, 1)])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-2), unwarned(1.0, 0.0)], ids=str)
def test_cells_of_every_number_of_common_keys_keep_the_budget(depth, keys, budget):
    hashing = RowHash(COUNT_MIN, depth, 4, bytes(32))
    sketch = UserCountMin(hashing, keys)
    mechanism = NoisyCells(budget, sketch.public(), CellSizes(COUNT_MIN, depth, 1))
    law = mechanism.noise(COUNT_MIN, depth, 1)
    for changed in range(1, depth * keys + 1):
        assert cells_divergence(law, [1] * changed, 1.0, 60) <= max(budget.delta, 1e-12)
    if keys > 1 and budget.delta:  # plain cells; discrete Laplace noise would be enough for them too
        assert cells_divergence(law, [keys] * depth, 1.0, 60) > budget.delta


def random_rows(generator: random.Random) -> list[tuple[object, object]]:
    rows: list[tuple[object, object]] = []
    for user in range(60):
        many = 4000 if user == 7 else generator.choice((1, 2, 6, 30))
        for _ in range(many):
            key = generator.choice((None, "a", "a", "b", f"k{generator.randrange(5000)}"))
            rows.append((generator.choice((user, user, user, None)), key))
    generator.shuffle(rows)
    return rows


def counted(rows, max_keys, hashing):
    table = pa.table({"user": pa.array([r[0] for r in rows], pa.int64()), "key": [r[1] for r in rows]})
    request = Request(table, column="key", user="user", bound=DistinctPairs(max_keys), with_users=True)
    sketch = UserCountMin(hashing, max_keys)
    for batch in request.open().batches():
        sketch.update(batch.keys)
    return sketch.shape().cells


def test_cells_lie_between_the_truth_and_plain_cells():
    rows = random_rows(random.Random(2))
    hashing = RowHash(COUNT_MIN, 4, 64, bytes(32))
    held = {(user, key) for user, key in rows if user is not None and key is not None}
    plain = CountMin.with_hash(hashing, 1)
    plain.update([key for _, key in held])
    cells = counted(rows, 10_000, hashing)
    assert (cells <= plain.cells).all()
    assert (cells < plain.cells).any()
    by_hand = np.zeros_like(cells)
    owners: dict[object, list[str]] = {}
    for user, key in held:
        owners.setdefault(user, []).append(key)
    for keys in owners.values():
        one = CountMin.with_hash(hashing, 1)
        one.update(keys)
        by_hand += one.cells > 0
    assert (cells == by_hand).all()


@pytest.mark.parametrize("max_keys", [1, 3, 200])
def test_removing_one_user_changes_what_the_theorem_says(max_keys, monkeypatch):
    """On the real engine, with repeated keys, nulls and a user of thousands of keys."""
    monkeypatch.setattr("hushcount.sources.duckdb.bounding.fresh_key", lambda: b"k" * 16)
    rows = random_rows(random.Random(3))
    hashing = RowHash(COUNT_MIN, 3, 64, bytes(32))
    whole = counted(rows, max_keys, hashing)
    for user in (0, 7, 31, 59):
        rest = counted([row for row in rows if row[0] != user], max_keys, hashing)
        changed = whole - rest
        assert set(np.unique(changed).tolist()) <= {0, 1}
        assert changed.sum() <= 3 * min(max_keys, 64)
        if user == 7:
            assert changed.sum() > 0.5 * 3 * min(max_keys, 64)


def test_signs_and_envelopes_are_refused_with_the_way_out():
    table = pa.table({"user": [1], "key": ["a"]})
    asked = {"user": "user", "max_keys": 2, "column": "key", "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ParameterError) as caught:
        hc.oracle(table, kind="count-sketch", **asked)
    assert str(caught.value) == (
        "kind must be count-min with user: the signs of count-sketch would cancel within a user."
    )
    with pytest.raises(ParameterError, match="mechanism must be one of"):
        hc.top(table, mechanism="count-min-envelope", max_events=10, **asked)
