"""The measured envelope: its lemma and its release over all hashes and noises, and twins that are refuted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from tests.privacy.envelope_reference import Stream, counts, streams, tracked

from hushcount.mechanisms.linear.noisy_rows import OWN, NoisyRows

SMALL = {-1: 0.2, 0: 0.6, 1: 0.2}  # the noise of a cell
Outcome = tuple[tuple[int, ...], int]  # sizes of the cells of a row in order, and the error of the key


def row_law(width: int, own: int, others: tuple[int, ...]) -> dict[Outcome, float]:
    """What one noisy row shows, and by how much it errs for a key of count `own`, over hash and noise."""
    law: dict[Outcome, float] = defaultdict(float)
    places = list(product(range(width), (1, -1)))
    noises = [(noise, math.prod(SMALL[z] for z in noise)) for noise in product(SMALL, repeat=width)]
    for hashed in product(places, repeat=len(others)):
        rest = [0] * width
        for (place, sign), count in zip(hashed, others, strict=True):
            rest[place] += sign * count
        for noise, chance in noises:
            noisy = [cell + z for cell, z in zip(rest, noise, strict=True)]
            for place, sign in places:
                whole = list(noisy)
                whole[place] += sign * own
                sizes = tuple(sorted(map(abs, whole)))
                law[sizes, sign * noisy[place]] += chance / len(places) ** (len(others) + 1)
    return law


@cache
def bound(rows: tuple[tuple[int, ...], ...], failure: float, more: int) -> int | None:
    return NoisyRows(np.array(rows)).bound(failure, more)


def misses(law: dict[Outcome, float], depth: int, failure: float, more: int = OWN) -> float | None:
    """P[the median of the errors exceeds what the rows say]; None if they cannot say so rare a thing."""
    total = 0.0
    for rows in combinations_with_replacement(law.items(), depth):
        shown = bound(tuple(sorted(sizes for (sizes, _), _ in rows)), failure, more)
        if shown is None:
            return None
        if sorted(error for (_, error), _ in rows)[depth // 2] > shown:
            orders = math.factorial(depth)
            for times in Counter(shown_by for shown_by, _ in rows).values():
                orders //= math.factorial(times)
            total += orders * math.prod(chance for _, chance in rows)
    return total


@pytest.mark.parametrize("others", [(), (1,), (3,), (2, 1), (5, 5), (4, -3)])
@pytest.mark.parametrize("own", [0, 1, 4, -2])
def test_one_row_bounds_its_error(own: int, others: tuple[int, ...]) -> None:
    law, told = row_law(4, own, others), 0
    for failure in (1 / 8, 0.2, 0.25, 3 / 8, 0.45):
        found = misses(law, 1, failure + 1e-9)
        assert found is not None
        assert found <= failure + 1e-9
        told += found > 0
    assert told or not any(others)


@pytest.mark.parametrize("others", [(), (3,)])
@pytest.mark.parametrize("own", [0, 2, 4, -2])
def test_three_rows_bound_the_error_of_their_median(own: int, others: tuple[int, ...]) -> None:
    law = row_law(2, own, others)
    for failure in (0.16, 0.3, 0.45):
        found = misses(law, 3, failure)
        assert found is not None
        assert found <= failure


def test_so_rare_an_error_that_no_row_can_tell() -> None:
    assert misses(row_law(4, 1, ()), 1, 1 / 8 - 1e-6) is None


# The release, with one row of four cells

WIDTH, COUNTERS, EVENTS, EPSILON = 4, 2, 3, 1.0
LAPLACE = {z: math.exp(-EPSILON * abs(z)) for z in (-1, 0, 1)}
NOISE = {z: weight / sum(LAPLACE.values()) for z, weight in LAPLACE.items()}
FAILURE = 1 / 8 + 1e-9
Measure = Any


def noisy_threshold(cells: np.ndarray, noisy: np.ndarray) -> int:
    """The threshold of the release: from the noisy cells."""
    found = bound((tuple(sorted(np.abs(noisy).tolist())),), FAILURE, OWN)
    assert found is not None
    return EVENTS // COUNTERS + 1 + found


def exact_threshold(cells: np.ndarray, noisy: np.ndarray) -> int:
    """A twin that looks at the cells without noise."""
    return noisy_threshold(cells, cells)


def low_threshold(cells: np.ndarray, noisy: np.ndarray) -> int:
    """A twin that forgets what is not tracked, and half of what the rows say."""
    return (noisy_threshold(cells, noisy) - EVENTS // COUNTERS - 1) // 2


def release_law(stream: Stream, hashed: dict[int, tuple[int, int]], measure: Measure) -> dict[Any, float]:
    """What is published of a stream, for one hash."""
    law: dict[Any, float] = defaultdict(float)
    cells = np.zeros(WIDTH, int)
    for key, count in counts(stream).items():
        place, sign = hashed[key]
        cells[place] += sign * count
    shown = sorted(tracked(stream, COUNTERS))
    for noise in product(NOISE, repeat=WIDTH):
        noisy = cells + np.array(noise)
        threshold = measure(cells, noisy)
        estimates = [(key, int(hashed[key][1] * noisy[hashed[key][0]])) for key in shown]
        output = threshold, tuple(each for each in estimates if each[1] > threshold)
        law[output] += math.prod(NOISE[z] for z in noise)
    return law


def divergence(stream: Stream, other: Stream, measure: Measure) -> float:
    """HS of the release and the hash together; the first key may lie anywhere, by symmetry."""
    keys = sorted({key for key, _ in stream + other})
    free = list(product(range(WIDTH), (1, -1)))
    total = 0.0
    for rest in product(free, repeat=len(keys) - 1):
        hashed = dict(zip(keys, ((0, 1), *rest), strict=True))
        left, right = (release_law(one, hashed, measure) for one in (stream, other))
        apart = sum(max(p - math.exp(EPSILON) * right.get(out, 0.0), 0.0) for out, p in left.items())
        total += apart / len(free) ** (len(keys) - 1)
    return total


def worst(measure: Measure) -> float:
    """The largest HS over streams of up to three additions and their neighbours, both ways."""
    largest = 0.0
    for keys in streams(EVENTS, 3):
        for removed in range(EVENTS):
            stream = tuple((key, 1) for key in keys)
            other = stream[:removed] + stream[removed + 1 :]
            pairs = (stream, other), (other, stream)
            largest = max(largest, *(divergence(*pair, measure) for pair in pairs))
    return largest


BETA = EVENTS * FAILURE
CELLS = NOISE[1]  # the noise is cut at 1, so that a cell that changes by 1 tells with this probability


def test_the_release_keeps_its_budget() -> None:
    assert 0 < worst(noisy_threshold) <= CELLS + BETA


def test_a_threshold_from_the_exact_cells_is_refuted() -> None:
    assert worst(exact_threshold) > CELLS + BETA


def test_a_threshold_that_forgets_untracked_keys_is_refuted() -> None:
    assert worst(low_threshold) > CELLS + BETA
