"""What is spent by what is no mechanism of one summary: protocols of the local model, and watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from hushcount.audit import cases, laws
from hushcount.audit.cases import Spent
from hushcount.compiled.arrays import Floats
from hushcount.ldp.registry import CAMPAIGNS
from hushcount.ldp.wire.encodings import Integers
from hushcount.mechanisms.continual.gate import WATCHES, Gate, Watching
from hushcount.mechanisms.continual.users import divided
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.privacy import Budget

PERIODS = 3
REACH = 45  # values of the noise beyond REACH / epsilon have a probability of exp(-REACH)
NEW, NEAR, KNOWN = "that nobody else has", "near the threshold", "that is known"


def names() -> list[str]:
    """Return what can be audited besides the mechanisms."""
    return [*(name.replace("_", "-") for name in CAMPAIGNS), *WATCHES]


def spent_by(
    name: str, budget: Budget, tightened: Callable[[Callable[[Budget], object], Budget], Budget]
) -> tuple[Budget, Spent]:
    """Return the strongest claim of one of `names()`, and what its worst neighbours spend.

    Parameters
    ----------
    name : str
        A protocol or a watch.
    budget : Budget
        The budget for which it is calibrated.
    tightened : callable
        Returns the smallest delta with the same calibration.
    """
    if name in WATCHES:
        keys = WATCHES[name]

        def made(each: Budget) -> Watching:
            return Watching(divided(each, keys), PERIODS)

        own = tightened(made, budget)
        return own, max(_watches(made(own), keys, own.epsilon), key=lambda spent: spent.delta)
    protocol: Any = CAMPAIGNS[name.replace("-", "_")]
    manifest = protocol(Integers(8), epsilon=budget.epsilon, users=100_000).manifest
    found = cases.reports(manifest.groups, manifest.epsilon)
    return budget, max(found, key=lambda spent: spent.epsilon or 0)


def _watches(watching: Watching, keys: int, epsilon: float) -> Iterator[Spent]:
    """Yield what a user with one more event in each of so many keys spends, in both directions."""
    gate, still = watching.gate, [0] * (PERIODS - 1)
    noise = DiscreteLaplace(watching.levels.epsilons[0])
    counts = np.arange(-REACH * 10, REACH * 10)
    single = {
        NEW: (_entries(gate, [1, *still]), _entries(gate, [0, *still])),
        NEAR: (_entries(gate, [gate.tau, *still]), _entries(gate, [gate.tau - 1, *still])),
        KNOWN: (noise.pmf(counts - 1), noise.pmf(counts)),
    }
    for chosen in combinations_with_replacement(single, keys):
        more, less = laws.together([laws.merged(single[each]) for each in chosen])
        for pair in ((more, less), (less, more)):
            spent = laws.hockey_stick(pair, epsilon + cases.ROUNDING)
            yield Spent(spent, f"one event more or less of a key {', and of one '.join(chosen)}")


def _entries(gate: Gate, events: list[int]) -> Floats:
    """Return the probabilities of every period and number of an entry, and of none, for one stream."""
    rate = float(gate.epsilon)
    z = np.arange(int(REACH / rate))
    y = gate.tau + np.arange(int(REACH / rate))[:, None]
    weights, found = -np.expm1(-rate) * np.exp(-rate * z), []
    for r in np.cumsum(events):
        tested = weights * (r >= gate.least)
        found += [_geometric(rate, y + z - r) @ tested, [_reached(rate, y[-1] + 1 + z - r) @ tested]]
        weights = weights - _reached(rate, gate.tau + z - r) * tested
    return np.concatenate([*found, [weights.sum()]])


def _geometric(rate: float, value: Floats) -> Floats:
    """Return P[v = value]."""
    return np.where(value >= 0, -np.expm1(-rate) * np.exp(-rate * np.maximum(value, 0)), 0.0)


def _reached(rate: float, value: Floats) -> Floats:
    """Return P[v >= value]."""
    return np.exp(-rate * np.maximum(value, 0))
