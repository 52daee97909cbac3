"""The central guarantee of shuffled reports: what is left of the loss once reports cannot be linked to users.

A response with q symbols is uniform with probability g = q / (e^local + q - 1), and truthful otherwise. Of
the other users, those with a uniform response hide the victim's: M of them, binomial. The bound is the mean
over M of the divergence between two possible items of the victim among M uniform responses (the blanket of
Balle et al. 2019). Theorem and proof: docs/proofs/shuffling.md. Checked by: tests/privacy/test_shuffling.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hushcount.compiled.arrays import Floats
from hushcount.errors import ParameterError
from hushcount.ldp.wire.response import check_symbol_bits
from hushcount.ldp.wire.versions import DRAWN
from hushcount.noise import binomial
from hushcount.privacy import LARGEST_EPSILON, check_count, check_delta, check_epsilon

MOST_USERS = 10_000_000  # more users only hide better, so their bound is that of so many
_BUCKETS = 32  # numbers of uniform responses that are told apart; each is rounded down
_SLACK = 1 + 1e-6  # far above the rounding errors of the sums
_NEGLIGIBLE = 1e-28  # more than what all windows leave out
_STEPS = 60
_PRECISE = 1e-6


def shuffled_divergence(local: float, *, symbol_bits: int, users: int, epsilon: float) -> float:
    """Return the delta for which shuffled reports are (epsilon, delta)-private, rounded up.

    Theorem: the reports of one shuffled batch are (epsilon, delta)-DP for replacing the item of one user.
    Assumes: `users` honest reports in the batch, with nonces that their clients drew, one group of questions.
    Proof: docs/proofs/shuffling.md. Checked by: tests/privacy/test_shuffling.py

    Parameters
    ----------
    local:
        Privacy loss of one report.
    symbol_bits:
        Bits of a response, 1 to 10.
    users:
        Honest reports in one shuffled batch.
    epsilon:
        Privacy loss of the batch that the probability is for; at least 0.

    Examples
    --------
    >>> shuffled_divergence(1.0, symbol_bits=2, users=1000, epsilon=0.2) < 1e-9
    True
    """
    check_epsilon(local)
    check_symbol_bits(symbol_bits)
    check_count("users", users)
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 <= epsilon < math.inf:
        raise ParameterError(f"epsilon must be a finite number of at least 0, got {epsilon!r}.")
    if epsilon >= local:
        return 0.0
    return _divergence(local, symbol_bits, users, epsilon)


def central_epsilon(local: float, *, symbol_bits: int, users: int, delta: float) -> float:
    """Return the smallest epsilon for which shuffled reports are (epsilon, delta)-private, rounded up.

    Parameters
    ----------
    local:
        Privacy loss of one report; the result is never larger.
    symbol_bits:
        Bits of a response, 1 to 10.
    users:
        Honest reports in one shuffled batch.
    delta:
        Probability with which the loss may be larger.

    Examples
    --------
    >>> round(central_epsilon(1.0, symbol_bits=2, users=100_000, delta=1e-9), 4)
    0.015
    """
    check_epsilon(local)
    check_symbol_bits(symbol_bits)
    check_count("users", users)
    check_delta(delta)
    if _divergence(local, symbol_bits, users, 0.0) <= delta:
        return 0.0
    return _bracket(lambda epsilon: _divergence(local, symbol_bits, users, epsilon) <= delta, local)[1]


class CentralPlan(NamedTuple):
    """How a campaign reaches a central guarantee: the local epsilon and the bits of a response."""

    local: float
    symbol_bits: int


def plan_central(epsilon: float, delta: float, users: int, symbol_bits: int | None = None) -> CentralPlan:
    """Return the local epsilon and symbol bits of the smallest error among those that reach a central target.

    Parameters
    ----------
    epsilon, delta:
        The central target.
    users:
        Honest reports in one shuffled batch.
    symbol_bits:
        Bits of a response; by default those of the smallest error.

    Examples
    --------
    >>> plan_central(0.5, 1e-6, 1000, symbol_bits=4)
    CentralPlan(local=2.799, symbol_bits=4)
    """
    check_epsilon(epsilon)
    check_delta(delta)
    most = DRAWN.most_symbol_bits
    allowed = range(1, most + 1) if symbol_bits is None else (check_symbol_bits(symbol_bits),)
    people = check_count("users", users)
    plans = [CentralPlan(_largest_local(epsilon, delta, people, bits), bits) for bits in allowed]
    return min(plans, key=lambda plan: absent_variance(plan.local, plan.symbol_bits))


def absent_variance(local: float, symbol_bits: int) -> float:
    """Return V0, the variance that the report of another item adds to an estimate.

    >>> round(absent_variance(6.0, 5), 4), round(absent_variance(6.0, 9), 4)
    (0.0376, 0.0101)
    """
    symbols = 1 << symbol_bits
    truthful = math.exp(local) / (math.exp(local) + symbols - 1)
    return (symbols - 1) / (symbols * truthful - 1) ** 2


def _largest_local(epsilon: float, delta: float, users: int, symbol_bits: int) -> float:
    """Return the largest local epsilon, rounded down to three places, that reaches a central target."""
    if epsilon >= LARGEST_EPSILON:
        return LARGEST_EPSILON
    low, _ = _bracket(
        lambda local: _divergence(local, symbol_bits, users, epsilon) > delta, LARGEST_EPSILON, epsilon, 1e-4
    )
    return max(math.floor(low * 1000) / 1000, epsilon)


def _bracket(
    reached: Callable[[float], bool], high: float, low: float = 0.0, precise: float = _PRECISE
) -> tuple[float, float]:
    """Return numbers close together, of which the upper has reached what is monotone, and the lower not."""
    for _ in range(_STEPS):
        if high - low <= precise * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low, high


def _divergence(local: float, symbol_bits: int, users: int, epsilon: float) -> float:
    """Return the mean over M of the divergence among M uniform responses, rounded up."""
    symbols = 1 << symbol_bits
    uniform = symbols / (math.exp(local) * (1 + 1e-12) + symbols - 1)
    others = binomial.window(min(users, MOST_USERS) - 1, uniform)
    starts = np.unique(np.linspace(0, len(others.values), _BUCKETS + 1).astype(np.int64)[:-1])
    masses = np.add.reduceat(others.masses, starts)
    hidden = [_among(int(others.values[start]), symbols, uniform, math.exp(epsilon)) for start in starts]
    return min(float(masses @ np.array(hidden)) * _SLACK + _NEGLIGIBLE, 1.0)


def _among(others: int, symbols: int, uniform: float, ratio: float) -> float:
    """Return the divergence for one M: E[max(a (u - e^epsilon v) - (e^epsilon - 1) g, 0)].

    Of M + 1 uniform responses, s are one of the two true symbols, u of them the first and v the second;
    a = (1 - g) q / (M + 1). Given s, u is the number of heads of s fair coins, and the mean has closed form.
    """
    either = binomial.window(others + 1, 2 / symbols)
    s = either.values
    cut = (ratio - 1) * uniform * (others + 1) / ((1 - uniform) * symbols)
    least = np.ceil((cut + ratio * s) / (1 + ratio))
    gained = (1 + ratio) * s / 2 * binomial.upper(least - 1, s - 1)
    excess: Floats = gained - (ratio * s + cut) * binomial.upper(least, s)
    factor = (1 - uniform) * symbols / (others + 1)
    return factor * float(either.masses @ np.maximum(excess, 0.0))
