"""Numbers and constants of Holland 2025 and of its published code, computed."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from tests.privacy.twins.papers import track

EPSILON, DELTA = 0.1, 1e-3
LENGTH, TRACKED = 2**24, 256  # T and k~ of the published experiments


def margin(delta: float, shares: float = 2) -> float:
    """gamma = ln(2 / delta) / epsilon."""
    return math.log(shares / delta) / EPSILON


def test_the_worked_example_has_another_gamma() -> None:
    """89.87 is ln(8 / delta) / epsilon; the conclusion, 513 counters, is the same."""
    assert margin(DELTA) == pytest.approx(76.01, abs=0.005)
    assert margin(DELTA, shares=8) == pytest.approx(89.87, abs=0.005)
    for gamma in (margin(DELTA), 89.87):
        assert math.ceil(2**28 / (2**28 / 512 - 1 - 2 * gamma)) == 513


# The published code, as it was read (docs/references.md)


def test_a_cut_at_a_share_of_the_length_misses_heavy_hitters() -> None:
    """Theorem 2 promises a key above n/k with probability 1 - delta: true at n/k - gamma, not at n/k."""

    def published(count: float, threshold: float) -> float:
        away = EPSILON * (count - threshold)
        return 1 - math.exp(-away) / 2 if away >= 0 else math.exp(away) / 2

    share = LENGTH / 128
    assert published(share + 1, share - margin(DELTA)) > 1 - DELTA
    assert published(share + 1, share) == pytest.approx(0.5476, abs=5e-5)


@pytest.mark.parametrize("noise", range(-40, 41, 8))
def test_estimates_of_the_last_arrivals_cancel_the_noise_of_a_shared_cell(noise: int) -> None:
    """y, then z, in one cell: their published values differ by the count of z, whatever the noise is."""
    for times in (300, 299):
        stream = ["y"] * 500 + ["z"] * times
        arrived = track(stream, 2, lambda time, _key, _time: time + noise)
        assert arrived["z"] - arrived["y"] == times
        final = len(stream) + noise  # what Algorithm 5 publishes for both
        assert (arrived["z"], final - arrived["y"]) == (final, times)


def test_the_later_code_has_the_threshold_of_the_corrected_lemma() -> None:
    """3 n/k~ + 3 psi is n/k~ + 2 g1 - g2 for g1 = n/k~ + psi, g2 = -psi; printed is n/k~ + 2 g1 + g2."""
    share, psi = LENGTH / TRACKED, 5000.0
    upper, lower = share + psi, -psi
    assert share + 2 * upper - lower == 3 * share + 3 * psi
    assert share + 2 * upper + lower == 3 * share + psi


# Appendix B


def needed() -> float:
    """The failure probability of one estimate that Theorem 3 allows."""
    return DELTA / (2 * (LENGTH + TRACKED))


def test_the_depth_of_appendix_b_is_too_small() -> None:
    """ln for log2: rows of 2 k~ cells fail with probability up to 1/2, not 1/e."""
    depth = math.ceil(math.log(1 / needed()))
    assert depth == 25
    assert 2.0**-depth > 1000 * needed()  # what Markov's inequality gives
    # What 255 keys with a little more than t/k~ events each do: the estimate is too high if one of them is in
    # the cell of every row.
    row = 1 - (1 - 1 / (2 * TRACKED)) ** (TRACKED - 1)
    assert row == pytest.approx(0.3926, abs=5e-5)
    assert row**depth == pytest.approx(2.366 * needed(), rel=1e-3)
    enough = math.ceil(math.log2(1 / needed()))
    assert (enough, 2.0**-enough <= needed()) == (35, True)


@pytest.mark.parametrize(("depth", "outside", "below"), [(25, 0.0124, 0.0062), (35, 0.0173, 0.0087)])
def test_psi_of_appendix_b_covers_one_row_only(depth: int, outside: float, below: float) -> None:
    """Noise Laplace(2d/epsilon) is outside +-psi with probability delta/(4 k~) in each of 2 k~ d cells."""
    cell, cells = DELTA / (4 * TRACKED), 2 * TRACKED * depth
    psi = 2 * depth / EPSILON * math.log(4 * TRACKED / DELTA)
    assert math.exp(-psi * EPSILON / (2 * depth)) == pytest.approx(cell)
    assert 1 - (1 - cell) ** (2 * TRACKED) <= DELTA / 2  # one row
    assert 1 - (1 - cell) ** cells == pytest.approx(outside, abs=5e-5)
    assert 1 - (1 - cell / 2) ** cells == pytest.approx(below, abs=5e-5)
    assert 1 - (1 - cell / depth) ** cells <= DELTA / 2  # with ln(4 d k~ / delta)


def row_error(keys: int, width: int, above: float) -> float:
    """P[error of one CountSketch row > above], with this many other keys of one event each."""
    size = 1 << (2 * keys + 1).bit_length()
    step = np.zeros(size)
    step[[0, 1, -1]] = 1 - 1 / width, 1 / (2 * width), 1 / (2 * width)
    law = np.fft.irfft(np.fft.rfft(step) ** keys, size)
    values = np.fft.fftfreq(size, 1 / size)
    return float(law[values > above].sum())


def median_error(keys: int, width: int, depth: int, bound: float) -> float:
    """P[|median of the rows| > bound], for an odd number of rows."""
    one, half = row_error(keys, width, bound), (depth + 1) // 2
    return 2 * sum(math.comb(depth, j) * one**j * (1 - one) ** (depth - j) for j in range(half, depth + 1))


def test_the_bound_of_lemma_13_lacks_a_factor() -> None:
    """eta = .1, so 300 cells and 5 rows for beta = .01; 3000 other keys of one event each."""
    eta, beta, keys, width = 0.1, 0.01, 3000, 300
    depth = math.ceil(math.log(1 / beta))
    assert (depth, width) == (5, round(3 / eta**2))
    printed, true = eta * math.sqrt(keys / width), eta * math.sqrt(keys)
    assert median_error(keys, width, depth, printed) == pytest.approx(0.763, abs=5e-4)
    assert median_error(keys, width, depth, true) == pytest.approx(0.00124, abs=5e-6)


def test_rows_of_pairwise_independent_signs_say_nothing_of_the_second_moment() -> None:
    """Keys 0..15 with one event each share a cell; signs are (-1)^(<a, x> + b)."""
    keys = range(16)
    signs = [
        [(-1) ** ((a & x).bit_count() + b) for x in keys] for a in keys for b in (0, 1)
    ]  # a row for each hash
    for x, y in combinations(keys, 2):
        pairs = Counter((row[x], row[y]) for row in signs)
        assert set(pairs.values()) == {len(signs) // 4}  # pairwise independent, and fair
    squares = Counter(sum(row) ** 2 for row in signs)
    assert squares == {0: 30, 16**2: 2}  # the second moment is 16, and the mean of both
