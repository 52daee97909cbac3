"""The number of keys that count of each user, chosen from the data, and what that choice left out.

Proof: docs/proofs/histograms/users.md, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.errors import ParameterError
from hushcount.mechanisms.base import Block, Claim, Mechanism
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.histograms.gaussian import GaussianSparseHistogram
from hushcount.mechanisms.histograms.laplace import TOGETHER
from hushcount.mechanisms.histograms.truncated_geometric import TruncatedGeometric
from hushcount.mechanisms.users import Route, best_for_exact
from hushcount.noise.bits import Bits
from hushcount.noise.expansions import exponential, settle
from hushcount.noise.laplace import LEAST_EPSILON, DiscreteLaplace
from hushcount.noise.lattice import typed
from hushcount.privacy import USER, Budget, Guarantee, PrivacyUnit, unwarned
from hushcount.releases.release import Release
from hushcount.secure import below
from hushcount.shapes import NOTHING_PUBLIC, ExactCounts, Public

LARGEST_BOUND = 256
WIDER = 8  # keys of a user are counted up to this many times the bound, to say what it left out
CHOICE, STATEMENT = Fraction(4, 100), Fraction(1, 100)  # of epsilon
UNIT = 1 << 20  # weights of bounds are whole numbers, in units of 1 / UNIT
MECHANISMS: dict[str, type[TruncatedGeometric | GaussianSparseHistogram]] = {
    kind.name: kind for kind in (TruncatedGeometric, GaussianSparseHistogram)
}


def bounds() -> tuple[int, ...]:
    """Return the numbers of keys from which one is chosen: powers of two."""
    return tuple(1 << place for place in range(LARGEST_BOUND.bit_length()))


@dataclass(frozen=True, slots=True)
class RankedCounts:
    """Exact counts of every key, a column for each bound.

    Column i counts the users who have the key among their first `bounds[i]` keys. One user raises up to
    `bounds[i]` counts of column i by 1. `pairs[j]` is the number of users with more than j keys. `blocks()`
    starts again from the first key.
    """

    blocks: Callable[[], Iterator[Block]]
    pairs: Counts
    bounds: tuple[int, ...]
    unit: PrivacyUnit = USER
    words: ClassVar[str] = "counts of users for several numbers of keys"

    def public(self) -> Public:
        """Return the largest bound."""
        return Public(unit=self.unit, moved=self.bounds[-1], shape=RankedCounts)


class ChosenBound(Mechanism[RankedCounts, Release]):
    """Exact counts of users, cut to a number of keys that permute-and-flip chooses from the data.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one user.
    Assumes: keys of a user have places by a keyed hash; count number i is of users whose place is in bound i.
    Parameters: permute-and-flip over powers of two at 4% of epsilon; what the bound kept at 1%; the table at
        95% of epsilon and all of delta.
    Proof: docs/proofs/histograms/users.md, section 4. Checked by: tests/privacy/test_chosen.py
    """

    name = "chosen-bound"
    accepts = (RankedCounts,)
    sketch = "exact"
    way_out = 'count users with max_keys="auto"'
    claim = Claim(
        "exact counts of users, cut to a chosen number of keys",
        "Permute-and-flip (McKenna and Sheldon 2020) chooses the number of keys, a noisy statement says what"
        " it kept, and the table is released with the rest: (epsilon, delta)-DP by adaptive composition.",
        "docs/proofs/histograms/users.md",
        TOGETHER,
    )

    def __init__(self, budget: Budget, public: Public = NOTHING_PUBLIC, chosen: int | None = None) -> None:
        self.chosen = chosen
        super().__init__(budget, public)

    def calibrate(self) -> None:
        """Set the weight of each bound, or raise if epsilon is too small for the choice and the statement."""
        epsilon = typed(self.budget.epsilon)
        if epsilon * STATEMENT / (WIDER * LARGEST_BOUND) < Fraction(LEAST_EPSILON):
            least = float(WIDER * LARGEST_BOUND * Fraction(LEAST_EPSILON) / STATEMENT)
            raise ParameterError(
                f"epsilon must be at least {least:g} for max_keys = auto, got {self.budget.epsilon:g}."
            )
        self.table = unwarned(float(epsilon * (1 - CHOICE - STATEMENT)) * (1 - 2.0**-52), self.budget.delta)
        self.routes: dict[int, Route] = {bound: best_for_exact(self.table, bound) for bound in bounds()}
        self.weights = {bound: UNIT // route.reliable for bound, route in self.routes.items()}
        self.sensitivity = max(bound * weight for bound, weight in self.weights.items())
        if not self.sensitivity:
            raise ParameterError(f"epsilon is too small for max_keys = auto, got {self.budget.epsilon:g}.")

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the chosen number of keys and the numbers of the table, once it is chosen."""
        if self.chosen is None:
            return {}
        return {"max_keys": self.chosen, **self.table_mechanism.calibration()}

    def guarantee(self, unit: PrivacyUnit, **parameters: int | float | str | None) -> Guarantee:
        """Return the guarantee, with the numbers of the table."""
        own = super().guarantee(unit, **parameters)
        if self.chosen is None:
            return own
        return replace(own, proof=f"{own.proof}, {self.table_mechanism.claim.proof}")

    def forecast(self) -> KeyForecast:
        """Return what the table will publish if one key of a user is kept; more keys need more users."""
        return self._at(self.chosen or 1).forecast()

    def release(self, shape: RankedCounts, bits: Bits) -> Release:  # type: ignore[override]
        """Choose the number of keys, and release the table that it gives."""
        if self.chosen is not None:
            return super().release(shape, bits)
        self.check_kind(type(shape))
        chosen = permute_and_flip(self.utilities(shape), self._choice(), self.sensitivity, bits)
        return ChosenBound(self.budget, self.public, chosen).release(shape, bits)

    def utilities(self, shape: RankedCounts) -> dict[int, int]:
        """Return for each bound its weight times the sum of all counts, each at most the reliable one."""
        found = dict.fromkeys(self.weights, 0)
        for _, counts in shape.blocks():
            for place, (bound, route) in enumerate(self.routes.items()):
                found[bound] += int(np.minimum(counts[:, place], route.reliable).sum())
        return {bound: self.weights[bound] * total for bound, total in found.items() if self.weights[bound]}

    def draw(self, shape: RankedCounts, bits: Bits) -> Release:
        """Say what the bound kept, and publish the table."""
        chosen, each = self.chosen or 1, self.table_mechanism
        said = self._statement(shape, chosen, bits)
        whole = each.draw(ExactCounts(_cut(shape, chosen), chosen, shape.unit), bits)
        return replace(whole, guarantee=self.guarantee(shape.unit, **self.calibration())).with_notes(said)

    def _statement(self, shape: RankedCounts, bound: int, bits: Bits) -> str:
        """Return the sentence about how much of the data a bound keeps, from two noisy numbers."""
        noise = DiscreteLaplace(typed(self.budget.epsilon) * STATEMENT / (WIDER * bound))
        kept, wider = (int(shape.pairs[:places].sum()) for places in (bound, WIDER * bound))
        first, second = noise.sample(2, bits).tolist()
        width = noise.two_sided(0.025)
        return kept_words(bound, kept + first, wider - kept + second, width)

    def _choice(self) -> Fraction:
        """Return the part of epsilon that chooses."""
        return typed(self.budget.epsilon) * CHOICE

    @property
    def table_mechanism(self) -> TruncatedGeometric | GaussianSparseHistogram:
        """The mechanism of the table, for the chosen number of keys."""
        return self._at(self.chosen or 1)

    def _at(self, bound: int) -> TruncatedGeometric | GaussianSparseHistogram:
        """Return the mechanism of the table for a bound."""
        public = replace(self.public, moved=bound, shape=ExactCounts)
        return MECHANISMS[self.routes[bound].mechanism](self.table, public)


def _cut(shape: RankedCounts, bound: int) -> Iterator[Block]:
    """Yield the keys that users have within a bound, with their counts."""
    place = shape.bounds.index(bound)
    for keys, counts in shape.blocks():
        some = counts[:, place] > 0
        yield keys.filter(some), counts[some, place]


def permute_and_flip(utilities: Mapping[int, int], epsilon: Fraction, sensitivity: int, bits: Bits) -> int:
    """Return the name of one alternative, drawn with exactly the probabilities of permute-and-flip.

    Alternatives are looked at in random order; each is taken with probability exp(-epsilon (largest -
    utility) / sensitivity).
    """
    left, largest = list(utilities), max(utilities.values())
    while True:
        name = left.pop(below(len(left), bits))
        lacking = epsilon * (largest - utilities[name]) / sensitivity
        if lacking == 0 or settle(exponential(lacking), 0, bits):
            return name


def kept_words(bound: int, kept: int, left: int, width: int) -> str:
    """Say how much of the pairs of user and key a bound kept, by two noisy numbers of this width."""
    most = f"users counted up to {WIDER * bound} keys"
    chosen = f"max_keys = {bound} was chosen from the data."
    low, high = max(kept - width, 0), max(kept + width, 0)
    if low == 0:
        return f"{chosen} The data are too few to say how much of them it kept, so it may be a poor choice."
    share = kept / max(kept + max(left, 0), 1)
    least, largest = low / (low + max(left + width, 0)), high / (high + max(left - width, 0))
    return (
        f"{chosen} It kept at most about {share:.0%} of all pairs of user and key ({least:.0%} to"
        f" {largest:.0%} with confidence 0.95), {most}."
    )
