"""The floor release of shards to which events are dealt by their key: each has the whole budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hushcount.compiled.arrays import Counts
from hushcount.mechanisms.base import Claim, Mechanism, joined
from hushcount.mechanisms.counters.floor import ONE_STREAM, FloorError, FloorRelease, above_noisy_floor
from hushcount.mechanisms.forecast import KeyForecast
from hushcount.mechanisms.intervals import KeyIntervals, interval_sentences
from hushcount.noise import tails
from hushcount.noise.bits import Bits
from hushcount.noise.laplace import DiscreteLaplace
from hushcount.noise.lattice import smallest_integer
from hushcount.releases.release import Release
from hushcount.shapes import KeyShards


class KeyShardRelease(Mechanism[KeyShards, Release]):
    """Noisy counts of the tracked keys of each shard that clear the noisy floor of their shard.

    Theorem: (epsilon, delta)-DP, whatever the number of shards.
    Neighbours: add or remove one event.
    Assumes: as the floor release, in each shard; the shard of an event is a function of its key, fixed before
        the data are seen; the number of shards is public.
    Parameters: those of the floor release, in each shard.
    Proof: docs/proofs/counters/key_shards.md. Checked by: tests/privacy/test_key_shards.py
    """

    name = "key-shards"
    accepts = (KeyShards,)
    sketch = "space-saving"
    way_out = "count with several threads, or release other sketches by their default"
    claim = Claim(
        "floor release of key shards",
        "Floor release of shards by key: one event changes one shard, so each shard has the whole (epsilon,"
        " delta).",
        "docs/proofs/counters/key_shards.md",
        (*ONE_STREAM, "the shard of an event is a function of its key, fixed before the data are seen"),
    )

    def calibrate(self) -> None:
        """Set the noise and the distance G from the noisy floor: those of the floor release."""
        each = FloorRelease(self.budget)
        self.noise, self.threshold = each.noise, each.threshold

    def draw(self, shape: KeyShards, bits: Bits) -> Release:
        """Publish the noisy floor of every shard, empty ones too, and what lies at least G above its own."""
        sizes = [1 + len(part.counts) for part in shape.parts]
        noise = np.split(self.noise.sample(sum(sizes), bits), np.cumsum(sizes)[:-1])
        drawn = [
            above_noisy_floor(part, own, self.threshold) for part, own in zip(shape.parts, noise, strict=True)
        ]
        floors = tuple(floor for floor, _ in drawn)
        keys, counts = joined(block for _, block in drawn)
        candidates = sum(part.candidates for part in shape.parts)
        numbers = {"threshold": self.threshold, "candidates": candidates, "shards": len(floors)}
        error = KeyShardError(self.noise, floors, candidates, self.threshold)
        return Release.of(keys, counts, self.guarantee(shape.unit, **numbers), error, max(floors))

    def calibration(self) -> dict[str, int | float | str | None]:
        """Return the noise, and how far a count must lie above the noisy floor of its shard."""
        numbers = FloorRelease(self.budget).calibration()
        return {name: numbers[name] for name in ("noise", "threshold")}

    def forecast(self) -> KeyForecast:
        """Return what will clear the noisy floor of its shard, as in one sketch."""
        return FloorRelease(self.budget).forecast()


@dataclass(frozen=True, slots=True)
class KeyShardError(KeyIntervals):
    """The count is that of a floor release whose noisy floor is one of `floors`, which are published.

    Which one it is, the table does not say: bounds hold for each. `candidates` are those of all shards.
    """

    noise: DiscreteLaplace
    floors: tuple[int, ...]
    candidates: int
    threshold: int

    @property
    def least_published(self) -> int:
        """The smallest noisy count that is published in any shard."""
        return min(self.floors) + self.threshold

    def bounds(self, failure: float, keys: int) -> tuple[int, int]:
        """Return the widths for `keys` keys at once, which are in as many shards as there can be.

        Shards have noise of their own, so most is missed if the keys are spread evenly.
        """
        above, left = self._each(max(self.floors)).split(failure, keys)
        shards = self._shards(keys)
        one, size = tails.one_of(shards, left), -(-keys // shards)
        noise = tails.largest_difference(float(self.noise.epsilon), one, size) - 1
        return max(*self.floors, 0) + noise, above

    def missing(self, failure: float, keys: int) -> int:
        """Return by how much an unpublished key may exceed the noisy counts left out of the highest shard."""

        def holds(width: int) -> bool:
            own = tails.any_of(keys, float(self.noise.tail(width + 1))) if width >= 0 else 1.0
            floor = float(self.noise.tail(self.threshold + max(width, 0)))
            return own + tails.any_of(self._shards(keys), floor) <= failure

        return smallest_integer(holds)

    def row_bounds(self, counts: Counts, confidence: float) -> tuple[Counts, Counts]:
        """Return the ends of published rows: the lower one is the least over the shards it can be from."""
        lower = np.maximum(counts, 0)
        for each in self._floors():
            rows = counts - each.floor >= self.threshold
            found = each.row_bounds(counts[rows], confidence)[0]
            lower[rows] = np.minimum(lower[rows], found)
        return lower, np.maximum(counts + self.bounds(1 - confidence, 1)[1], 0)

    def full_from(self, confidence: float) -> int:
        """Return the smallest count from which on the lower end is that of a key chosen beforehand."""
        return max(each.full_from(confidence) or 0 for each in self._floors())

    def sentences(self, confidence: float) -> tuple[str, ...]:
        """Say what the bounds are made of."""
        below, above = self.interval(confidence)
        largest = max(self.floors)
        over = "by less than the noise" if largest <= 0 else f"by up to about {largest:,}"
        return (
            *interval_sentences(confidence, below, above, self.full_from(confidence)),
            f"Keys were dealt by a hash to {len(self.floors)} sketches; one may overcount a key {over}, which"
            " the interval includes; more counters lower this.",
        )

    def _shards(self, keys: int) -> int:
        """Return in how many shards so many keys can be."""
        return min(keys, len(self.floors))

    def _floors(self) -> Iterator[FloorError]:
        """Yield the error of a sketch with each of the floors."""
        return map(self._each, sorted(set(self.floors)))

    def _each(self, floor: int) -> FloorError:
        """Return the error of one sketch with this floor."""
        return FloorError(self.noise, floor, self.candidates, self.threshold)
