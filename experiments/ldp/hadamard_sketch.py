"""The Hadamard count mean sketch (HCMS), simulated user by user.

Differential Privacy Team, Apple: Learning with Privacy at Scale, Apple Machine Learning Journal 1 (8), 2017.
A user draws one of the rows and one coordinate of the Hadamard transform of a row that is 1 at the hash of
the item and 0 elsewhere, and sends this one sign, flipped with probability 1/(exp(epsilon) + 1). The server
can only ask for candidates from a list. The numbers of rows and cells are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from experiments.ldp.baselines import threshold


@dataclass(frozen=True)
class HadamardSketch:
    """So many rows of so many cells (a power of two); hashes are independent over rows and items."""

    epsilon: float
    rows: int = 1024
    cells: int = 1024

    @property
    def scale(self) -> float:
        """By what a noisy sign is multiplied to be unbiased."""
        return (math.exp(self.epsilon) + 1) / (math.exp(self.epsilon) - 1)

    def estimate(self, held: Any, candidates: Any, rng: np.random.Generator) -> Any:
        """Estimates of the counts of candidates (positions in `held`)."""
        hashes = rng.integers(0, self.cells, (len(held), self.rows), dtype=np.uint16)
        table = np.zeros((self.rows, self.cells))
        for start in range(0, len(held), 4096):
            part = slice(start, start + 4096)
            _reports(table, hashes[part], held[part], math.exp(self.epsilon), rng)
        sums = _sums(_transform(table), hashes[candidates]) * self.scale
        users = int(held.sum())
        return (sums - users / self.cells) * self.cells / (self.cells - 1)

    def variance(self, held: Any, second_moment: float, users: int) -> Any:
        """Variance of the estimate of an item; second_moment is the sum of all squared counts.

        A report adds a sign times `scale`: second moment scale^2, mean 1 for a holder, and for another item
        the part of the rows where it collides, which itself varies with the hashes.
        """
        mean = 1 / self.cells
        spread = mean * (1 - mean) / self.rows
        square = self.scale**2
        others = (users - held) * (square - mean**2 - spread) + spread * (second_moment - held**2)
        return (others + held * (square - 1)) / (1 - mean) ** 2

    def from_list(self, held: Any, tau: float, rng: np.random.Generator) -> dict[int, float]:
        """Positions in the list whose estimates are accepted, and the estimates."""
        users = int(held.sum())
        estimates = self.estimate(held, np.arange(len(held)), rng)
        deviation = math.sqrt(self.variance(0, float((held.astype(float) ** 2).sum()), users))
        accepted = np.flatnonzero(estimates >= threshold(tau, deviation, len(held)))
        return dict(zip(accepted.tolist(), estimates[accepted].tolist(), strict=True))


def _reports(table: Any, hashes: Any, held: Any, odds: float, rng: np.random.Generator) -> None:
    users = int(held.sum())
    if users:
        rows = rng.integers(0, table.shape[0], users, dtype=np.uint16)
        coordinates = rng.integers(0, table.shape[1], users, dtype=np.uint16)
        flipped = rng.random(users) < 1 / (odds + 1)
        _add(table, hashes, held, (rows, coordinates, flipped))


@numba.njit
def _add(table: Any, hashes: Any, held: Any, drawn: Any) -> None:
    rows, coordinates, flipped = drawn
    user = 0
    for item in range(len(held)):
        for _ in range(held[item]):
            row, coordinate = rows[user], coordinates[user]
            bits = hashes[item, row] & coordinate
            bits ^= bits >> 8
            bits ^= bits >> 4
            bits ^= bits >> 2
            bits ^= bits >> 1
            table[row, coordinate] += 1.0 - 2.0 * ((bits & 1) ^ flipped[user])
            user += 1


def _transform(table: Any) -> Any:
    """The Walsh-Hadamard transform of every row."""
    rows, cells = table.shape
    width = 1
    while width < cells:
        pairs = table.reshape(rows, cells // (2 * width), 2, width)
        table = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        width *= 2
    return table.reshape(rows, cells)


@numba.njit
def _sums(table: Any, hashes: Any) -> Any:
    sums = np.zeros(len(hashes))
    for item in range(len(hashes)):
        for row in range(hashes.shape[1]):
            sums[item] += table[row, hashes[item, row]]
    return sums
