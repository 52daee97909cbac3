"""The gate and the levels as they are drawn: laws, calendar, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.seeded_bits import SeededBits

from hushcount.errors import ParameterError
from hushcount.mechanisms.continual.gate import Gate, Levels, Node, Watching
from hushcount.privacy import Budget

KEYS = 300_000
SIGMAS = 6.2  # a false alarm of 1e-9


def near(hits, trials, probability):
    return (
        abs(hits - trials * probability) <= SIGMAS * math.sqrt(trials * probability * (1 - probability)) + 1
    )


@pytest.mark.parametrize("events", [1, 4, 6, 9])
def test_an_entry_has_the_law_of_its_definition(events):
    """r + v - z with a z and a v: discrete Laplace noise around r, from tau on."""
    gate, bits = Gate(Fraction(1, 2), 6), SeededBits(events)
    entries = gate.entries(np.full(KEYS, events), gate.secrets(KEYS, bits), bits)
    a = math.exp(-1 / 2)
    for y in range(6, 16):
        mass = (1 - a) / (1 + a) * a ** abs(y - events)
        assert near((entries.values == y).sum(), KEYS, mass)
    assert entries.values.min() >= 6


def test_a_secret_decides_over_every_period():
    """Given z, entries of different periods are independent: v >= tau + z - r."""
    gate, bits = Gate(Fraction(1, 2), 6), SeededBits(9)
    z = gate.secrets(KEYS, bits)
    first = np.zeros(KEYS, bool)
    first[gate.entries(np.full(KEYS, 5), z, bits).places] = True
    second = np.zeros(KEYS, bool)
    second[gate.entries(np.full(KEYS, 5), z, bits).places] = True
    a = math.exp(-1 / 2)
    both = sum((1 - a) * a**k * a ** (2 * (1 + k)) for k in range(200))
    assert near((first & second).sum(), KEYS, both)


def test_nodes_end_by_the_calendar():
    levels = Levels((1, 3), (Fraction(1, 2),) * 2, 5)
    assert [list(levels.ending(period)) for period in range(5)] == [
        [Node(0, 0, 1)],
        [Node(0, 1, 2)],
        [Node(0, 2, 3), Node(1, 0, 3)],
        [Node(0, 3, 4)],
        [Node(0, 4, 5), Node(1, 3, 5)],
    ]


def test_noise_of_a_level():
    levels = Levels((1,), (Fraction(1),), 1)
    drawn = levels.noisy(0, np.zeros(KEYS, np.int64), SeededBits(3))
    assert near((drawn == 0).sum(), KEYS, math.tanh(0.5))


def test_a_watch_is_calibrated_from_public_numbers():
    watching = Watching(Budget(1.0, 1e-8), 365, (1, 28))
    assert (watching.gate.tau, watching.reliable) == (26, 28)
    assert sum(watching.levels.epsilons) == watching.gate.epsilon == 1
    assert watching.past is None


def test_backfill_shares_epsilon():
    for periods, tau, burst in ((24, 30, 33), (365, 33, 36), (8760, 38, 41)):
        watching = Watching(Budget(1.0, 1e-8), periods, (1,), backfill=True)
        assert (watching.gate.tau, watching.reliable) == (tau, burst)
        assert watching.gate.epsilon + sum(watching.past.epsilons) == 1


@pytest.mark.parametrize(
    "wrong", [{"periods": 0}, {"periods": 3, "lengths": (1, 1)}, {"periods": 3, "least": 0}]
)
def test_what_is_no_watch_is_refused(wrong):
    with pytest.raises(ParameterError, match="a watch needs"):
        Watching(Budget(1.0, 1e-8), **wrong)


def test_a_watch_needs_a_delta():
    with pytest.raises(ParameterError, match="delta above 0"):
        Watching(Budget.pure(1.0), 3)
