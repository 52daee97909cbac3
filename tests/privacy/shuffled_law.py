"""The exact distribution of shuffled responses: how often each symbol occurs, for given items."""

from __future__ import annotations

import math
from collections import defaultdict

Histogram = tuple[int, ...]
Law = dict[Histogram, float]


def response(item: int | None, symbols: int, truthful: float) -> list[float]:
    """The distribution of the response of one user; without an item it is uniform."""
    if item is None:
        return [1 / symbols] * symbols
    other = (1 - truthful) / (symbols - 1)
    return [truthful if symbol == item else other for symbol in range(symbols)]


def shuffled(items: list[int | None], symbols: int, truthful: float) -> Law:
    """The distribution of the histogram of all responses."""
    law: Law = {(0,) * symbols: 1.0}
    for item in items:
        grown: Law = defaultdict(float)
        for histogram, mass in law.items():
            for symbol, chance in enumerate(response(item, symbols, truthful)):
                grown[(*histogram[:symbol], histogram[symbol] + 1, *histogram[symbol + 1 :])] += mass * chance
        law = grown
    return law


def divergence(first: dict, second: dict, epsilon: float) -> float:
    """The smallest delta for which the first is covered by the second."""
    ratio = math.exp(epsilon)
    return math.fsum(max(mass - ratio * second.get(outcome, 0.0), 0.0) for outcome, mass in first.items())


def truthful_probability(local: float, symbols: int) -> float:
    return math.exp(local) / (math.exp(local) + symbols - 1)


def clones(local: float, symbols: int, users: int, first: bool) -> dict:
    """A pair that hides the number of clones: only how often the two items of the victim are reported.

    Each other user is a clone of either item with probability 1 / (e^local + q - 1) each, and is otherwise
    left out, as is a victim that reports another symbol.
    """
    truthful = truthful_probability(local, symbols)
    other = (1 - truthful) / (symbols - 1)
    up, down = (truthful, other) if first else (other, truthful)
    law: dict = defaultdict(float)
    for number in range(users):
        mass = math.comb(users - 1, number) * (2 * other) ** number * (1 - 2 * other) ** (users - 1 - number)
        for heads in range(number + 1):
            part = mass * math.comb(number, heads) / 2**number
            law[heads + 1, number - heads] += part * up
            law[heads, number - heads + 1] += part * down
            law[heads, number - heads] += part * (1 - up - down)
    return dict(law)
