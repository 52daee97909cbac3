"""The curves of Lebeda and Tětek 2023: natural logarithms, beta the probability of failure."""

from __future__ import annotations

import math


def pmg_noise(k: int, epsilon: float, delta: float, beta: float) -> float:
    """Return the largest error of PMG against its sketch, but for beta (Lemma 13)."""
    return 2 * math.log((k + 1) / beta) / epsilon + 1 + 2 * math.log(3 / delta) / epsilon


def pmg_error(events: int, k: int, epsilon: float, delta: float, beta: float) -> float:
    """Return the largest error of PMG against the truth, but for beta (Theorem 14)."""
    return pmg_noise(k, epsilon, delta, beta) + events / (k + 1)


def chan_noise(k: int, epsilon: float, delta: float, beta: float) -> float:
    """Return the same for noise k/epsilon and a threshold (introduction)."""
    return 1 + k * (math.log(k / beta) + math.log(k / delta)) / epsilon


def pure_error(events: int, k: int, epsilon: float, bits: float, beta: float) -> float:
    """Return the largest error with delta = 0, of noise of scale 2/epsilon on 2^bits keys (Section 6)."""
    return events / (k + 1) + 2 * (bits * math.log(2) - math.log(beta)) / epsilon


def chan_pure_error(events: int, k: int, epsilon: float, bits: float, beta: float) -> float:
    """Return the same for noise of scale k/epsilon."""
    return events / (k + 1) + k * (bits * math.log(2) - math.log(beta)) / epsilon


def untrusted_error(events: int, k: int, epsilon: float, delta: float, machines: int) -> float:
    """Return what thresholds of all machines can add up to, and what their sketches leave out (Section 7)."""
    return machines * (1 + 2 * math.log(3 / delta) / epsilon) + events / (k + 1)


def group_noise(keys: int, k: int, budget: tuple[float, float], beta: float) -> float:
    """Return the largest error of PMG for users with up to m keys: Lemma 13 with the budget of Lemma 20."""
    epsilon, delta = budget
    return pmg_noise(k, epsilon / keys, delta / (keys * math.exp(epsilon)), beta)


def gaussian_noise(k: int, epsilon: float, delta: float) -> float:
    """Return the largest error of k counters with Gaussian noise (Theorem 30), at the scale of Lemma 24."""
    sigma = math.sqrt(2 * k * math.log(2.5 / delta)) / epsilon
    return 2 * sigma * math.sqrt(2 * math.log(2 * k / delta)) + 1
