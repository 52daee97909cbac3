"""Releases of keys without counts: which keys exist, where one user may hold many of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from hushcount.accounting.charges import Charge
from hushcount.compiled.arrays import Counts, Floats
from hushcount.mechanisms.base import Claim, Mechanism, keep
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.keys.calibration import (
    ALONE,
    SIPS,
    STEERED,
    UNIT,
    KeyRound,
    Shares,
    one_round,
    rounds_charge,
    rounds_in_rho,
    several_rounds,
    weights,
)
from hushcount.mechanisms.sampling.sample import PrivateSampleKeys
from hushcount.noise.bits import Bits
from hushcount.releases.key_list import KeyList
from hushcount.shapes import KeySets

if TYPE_CHECKING:
    import pyarrow as pa


PROOF = "docs/proofs/keys/selection.md"
ASSUMED = ("a user holds at most the stated number of keys; what is kept depends on that user alone",)
RELIABLE = 0.95


class KeySelection(Mechanism[KeySets, KeyList]):
    """A mechanism that adds up weights of users by key, and publishes the keys of large noisy weights."""

    accepts = (KeySets,)
    sketch = "exact"
    way_out = "publish keys of users with hc.keys"
    needs = ("moved",)
    gaussian = True
    shares: ClassVar[Shares]
    rounds: tuple[KeyRound, ...]

    @abstractmethod
    def planned(self, epsilon: float, delta: float, largest: int) -> tuple[KeyRound, ...]:
        """Return the rounds for users of at most `largest` keys."""

    def calibrate(self) -> None:
        """Set noise, thresholds and cuts of all rounds."""
        budget, largest = self.budget, self.needed("moved")
        if budget.rho is None:
            self.rounds = self.planned(budget.epsilon, budget.delta, largest)
        else:
            self.rounds = rounds_in_rho(budget, largest, self.shares)

    def finer_charge(self) -> Charge:
        """Return the curve of all rounds, and the probability that an isolated key is published."""
        return rounds_charge(self.rounds, self.needed("moved"))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the numbers of each round, in units of which a user has 1024 in all."""
        cuts = [one.cut for one in self.rounds if one.cut is not None]
        return {
            "sigma": ", ".join(f"{one.sigma:g}" for one in self.rounds),
            "weight_thresholds": ", ".join(str(one.threshold) for one in self.rounds),
            "cut": ", ".join(map(str, cuts)) or None,
            "moved": self.public.moved,
            "rho": self.budget.rho,
        }

    def forecast(self) -> KeyForecast:
        """Return what will be published of keys whose users hold no other key, by the last round."""
        last = self.rounds[-1]

        def tail(m: Counts) -> Floats:
            """Return P[a key of -m such users is published]."""
            return last.noise.tail(last.threshold + UNIT * m)

        return KeyForecast(0, tail, None)

    def draw(self, shape: KeySets, bits: Bits) -> KeyList:
        """Publish keys round by round; a key that is dropped is dropped from the sets of all users."""
        import pyarrow as pa

        found: list[pa.Array] = []
        stay: pa.Array | None = None
        by_size = weights(shape.moved)
        for one in self.rounds:
            kept: list[pa.Array] = []
            for keys, sums in shape.sums(by_size, stay):
                noisy = sums + one.noise.sample(len(keys), bits)
                published = noisy >= one.threshold
                found.append(keep(keys, published))
                stays = ~published if one.cut is None else ~published & (noisy >= one.cut)
                kept.append(keep(keys, stays))
            stay = pa.concat_arrays(kept) if kept else pa.nulls(0)
        every = pa.concat_arrays(found) if found else pa.nulls(0)
        return KeyList.of_keys(every, self.foretold(shape.unit), self.sentences())

    def sentences(self) -> tuple[str, ...]:
        """Say how many users a key needs, by public numbers."""
        last = self.rounds[-1]
        weight = last.threshold + last.noise.least_tail(1 - RELIABLE) - 1
        alone, ten = (-(-weight // int(each)) for each in (UNIT, weights(10)[-1]))
        return (
            f"A key of {alone:,} users who hold no other key, or of {ten:,} users who hold ten keys each, is"
            f" published with probability {RELIABLE:g}.",
        )


class WeightedGaussian(KeySelection):
    """Keys whose noisy weight reaches a threshold; a user's weight is spread over all keys they hold.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one user.
    Assumes: a user holds at most the stated number of keys.
    Parameters: discrete Gaussian noise and threshold, `one_round`.
    Proof: docs/proofs/keys/selection.md. Checked by: tests/privacy/test_keys.py
    """

    name = "keys-weighted"
    shares = ALONE
    claim: ClassVar[Claim] = Claim(
        "weighted Gaussian key selection",
        "Weighted Gaussian key selection (Gopi et al. 2020), on integer weights, is (epsilon, delta)-DP.",
        PROOF,
        ASSUMED,
    )

    def planned(self, epsilon: float, delta: float, largest: int) -> tuple[KeyRound, ...]:
        """Return one round."""
        return one_round(epsilon, delta, largest)


class _Rounds(KeySelection):
    """A mechanism of two rounds; after the first, users spread their weight over the keys that stay."""

    def planned(self, epsilon: float, delta: float, largest: int) -> tuple[KeyRound, ...]:
        """Return both rounds, which share the budget."""
        return several_rounds(epsilon, delta, largest, self.shares)


class KeySips(_Rounds):
    """Two rounds; published keys are dropped from all sets after the first (DP-SIPS).

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one user.
    Assumes: a user holds at most the stated number of keys.
    Parameters: discrete Gaussian noise and thresholds, `several_rounds` with `SIPS`.
    Proof: docs/proofs/keys/selection.md. Checked by: tests/privacy/test_keys.py
    """

    name = "keys-sips"
    shares = SIPS
    claim = Claim(
        "DP-SIPS key selection",
        "DP-SIPS (Swanberg et al. 2023) in two rounds, on integer weights, is (epsilon, delta)-DP.",
        PROOF,
        ASSUMED,
    )


class SteeredSelection(_Rounds):
    """Two rounds; after the first, published keys and keys far below the threshold are dropped from all sets.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one user.
    Assumes: a user holds at most the stated number of keys.
    Parameters: discrete Gaussian noise, thresholds and cut, `several_rounds` with `STEERED`.
    Proof: docs/proofs/keys/selection.md. Checked by: tests/privacy/test_keys.py
    """

    name = "keys-steered"
    shares = STEERED
    claim = Claim(
        "steered key selection",
        "Steered key selection (after Chen et al. 2025) in two rounds, on integer weights, is"
        " (epsilon, delta)-DP.",
        PROOF,
        ASSUMED,
    )


class EventKeys(PrivateSampleKeys):
    """Keys of single events, each published with the largest probability that any mechanism allows.

    Theorem: (epsilon, delta)-DP.
    Neighbours: add or remove one event.
    Assumes: one event changes one count by 1.
    Parameters: pi_i of Algorithm 3 of Cohen et al. 2021, in integers: the truncated geometric.
    Proof: docs/proofs/sampling/sample.md, section 1. Checked by: tests/privacy/test_sample_integers.py
    """

    name = "keys-events"

    def sentences(self) -> tuple[str, ...]:
        """Say how many events a key needs, by public numbers."""
        needed = self.forecast().smallest(RELIABLE, 0.0)
        return (f"A key of at least {needed:,} events is published with probability {RELIABLE:g} or more.",)
