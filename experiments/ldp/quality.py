"""One campaign to be simulated, and how good what was published is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from experiments.ldp import data

TAU = 15  # heavy is a count of at least 15 sqrt(n), as in Bassily et al. 2020, Section 4.2


@dataclass(frozen=True)
class Campaign:
    """Users of a data set, epsilon, and the seed of the simulation."""

    name: str
    users: int
    epsilon: float
    seed: int

    @cached_property
    def truth(self) -> dict[str, int]:
        """How many users hold each item."""
        items, held = data.counts(self.name, self.users)
        return dict(zip(items, held.tolist(), strict=True))

    @property
    def tau(self) -> float:
        """The least count of a heavy item."""
        return TAU * math.sqrt(self.users)

    @property
    def rng(self) -> np.random.Generator:
        """The generator of this simulation, fresh."""
        return np.random.default_rng([self.seed, self.users, round(100 * self.epsilon), len(self.name)])

    def candidates(self) -> tuple[list[str], Any]:
        """The list that the baselines without search ask for (words of both data sets), and the counts."""
        listed = [
            *data.english()[0],
            *(word for word in data.zipf()[0] if word not in set(data.english()[0])),
        ]
        return listed, np.array([self.truth.get(word, 0) for word in listed])


def quality(campaign: Campaign, published: dict[str, float]) -> dict[str, Any]:
    """Precision, recall and F1 against the heavy items, errors of those found, least count published.

    least_count is in units of tau, and 1 if nothing was published.
    """
    truth, tau = campaign.truth, campaign.tau
    heavy = {item for item, count in truth.items() if count >= tau}
    hits = heavy & published.keys()
    errors = np.array([abs(published[item] - truth[item]) for item in sorted(hits)])
    counts = np.array([truth[item] for item in sorted(hits)])
    precision = len(hits) / len(published) if published else 1.0
    recall = len(hits) / len(heavy) if heavy else 1.0
    return {
        "heavy": len(heavy),
        "published": len(published),
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if hits else 0.0,
        "absolute_error": float(errors.mean()) if hits else None,
        "relative_error": float((errors / counts).mean()) if hits else None,
        "least_count": min((truth.get(item, 0) / tau for item in published), default=1.0),
    }
