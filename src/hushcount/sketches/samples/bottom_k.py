"""Bottom-k samples of raw events: the keys of smallest score."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hushcount.compiled.arrays import Counts, Floats
from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.sketches.samples.drawing import (
    InverseProbability,
    RandomWords,
    SystemWords,
    key_hashes,
    unit_floats,
)


class BottomK:
    """The `size` keys of smallest score; mergeable.

    Power 0 samples distinct keys: a key's score is a hash of seed and key, and counts are exact. Power 1
    samples by count (ppswor): every event draws an exponential score, and a key has the smallest score of its
    events. `counts` then holds what was seen since the key entered, a lower bound; `sum` takes true counts
    from a second pass.
    """

    __slots__ = ("_bits", "_entries", "power", "seed", "size")

    def __init__(self, size: int, power: int, seed: int = 0, bits: RandomWords | None = None) -> None:
        if power not in (0, 1):
            raise ParameterError(f"power must be 0 or 1 to sample raw events, got {power}; aggregate first.")
        self.size = check_count("size", size)
        self.power = power
        self.seed = seed
        self._bits = SystemWords() if bits is None else bits
        self._entries: dict[object, tuple[float, int]] = {}

    def update(self, keys: Iterable[object]) -> None:
        """Take a batch of events."""
        array = keys if isinstance(keys, pa.Array) else pa.array(keys)
        encoded = array.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        distinct = encoded.dictionary
        scores = self._scores(distinct, codes)
        since = self._entered(distinct.to_pylist(), codes, scores)
        least = np.full(len(distinct), np.inf)
        np.minimum.at(least, codes, scores)
        self._absorb(distinct.to_pylist(), least, since)

    def merge(self, other: BottomK) -> BottomK:
        """Return the sketch of both streams."""
        if (self.size, self.power, self.seed) != (other.size, other.power, other.seed):
            raise ParameterError("bottom-k sketches must have the same size, power and seed to be merged.")
        merged = BottomK(self.size, self.power, self.seed, self._bits)
        merged._entries = dict(self._entries)
        keys = list(other._entries)
        scores = np.array([score for score, _ in other._entries.values()])
        merged._absorb(keys, scores, np.array([count for _, count in other._entries.values()], np.int64))
        return merged

    @property
    def threshold(self) -> float:
        """The score below which a key is in the sample; infinite while all keys are."""
        return max(score for score, _ in self._entries.values()) if self._full else np.inf

    @property
    def keys(self) -> list[object]:
        """The sampled keys, by score."""
        ranked = sorted(self._entries, key=lambda key: self._entries[key][0])
        return ranked[: self.size]

    @property
    def counts(self) -> Counts:
        """Counts of the sampled keys: exact for power 0, since the key entered for power 1."""
        return np.array([self._entries[key][1] for key in self.keys], dtype=np.int64)

    def probability(self, counts: npt.ArrayLike) -> Floats:
        """Return the probability that a key of each count has a score below the threshold."""
        sizes = np.asarray(counts, dtype=np.float64)
        if not self._full:
            return np.ones(len(sizes))
        if self.power == 0:
            return np.full(len(sizes), self.threshold)
        return -np.expm1(-sizes * self.threshold)

    def sum(self, counts: npt.ArrayLike) -> InverseProbability:
        """Estimate the total of all counts from the true counts of the sampled keys."""
        return InverseProbability.of(np.asarray(counts, dtype=np.float64), self.probability(counts))

    @property
    def _full(self) -> bool:
        return len(self._entries) > self.size

    def _scores(self, distinct: pa.Array, codes: Counts) -> Floats:
        if self.power == 0:
            return unit_floats(key_hashes(distinct, self.seed))[codes]
        return -np.log(unit_floats(self._bits.words(len(codes))) + 2.0**-65)

    def _entered(self, distinct: list[object], codes: Counts, scores: Floats) -> Counts:
        """Return how many events of each key came since it entered the sketch, or could have entered."""
        held = np.fromiter((key in self._entries for key in distinct), np.bool_, len(distinct))
        first = np.full(len(distinct), len(codes))
        enters = np.flatnonzero(scores < self.threshold)
        np.minimum.at(first, codes[enters], enters)
        first[held] = 0
        return np.bincount(codes[np.arange(len(codes)) >= first[codes]], minlength=len(distinct))

    def _absorb(self, keys: list[object], scores: Floats, counts: Counts) -> None:
        threshold = self.threshold
        for key, score, count in zip(keys, scores.tolist(), counts.tolist(), strict=True):
            before = self._entries.get(key)
            if before is not None:
                self._entries[key] = (min(before[0], score), before[1] + count)
            elif score < threshold:
                self._entries[key] = (score, count)
        if len(self._entries) > self.size + 1:
            kept = sorted(self._entries, key=lambda key: self._entries[key][0])[: self.size + 1]
            self._entries = {key: self._entries[key] for key in kept}
