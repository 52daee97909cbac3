"""Weighted samples of keys, not private: of aggregated counts by a threshold, of raw events by bottom-k.

A coordinated sample decides by a seeded hash of the key, so that samples of different data with one seed
pick alike. Such a sample must never be sanitised: with a known seed, being sampled reveals the count
(docs/proofs/sampling/sample.md, section 6). `WeightedSample` is therefore not a shape that a mechanism
accepts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hushcount.compiled.arrays import Counts, Floats, Words
from hushcount.errors import DataError, ParameterError
from hushcount.privacy import check_count
from hushcount.secure import system_bytes
from hushcount.shapes import Histogram


class SamplingScheme(Protocol):
    """With which probability a key of each count is sampled."""

    def probability(self, counts: Counts) -> Floats:
        """Return the probabilities."""
        ...


class RandomWords(Protocol):
    """Independent uniform words of 64 bits."""

    def words(self, count: int) -> Words:
        """Return this many words."""
        ...


@dataclass(frozen=True, slots=True)
class InverseProbability:
    """An unbiased estimate of a sum with an unbiased estimate of its variance."""

    value: float
    variance: float

    @classmethod
    def of(cls, weights: Floats, probability: Floats) -> InverseProbability:
        """Return the estimate from sampled weights and the probabilities with which they were sampled."""
        # Cohen et al. 2021, (8) and (9)
        spread = (weights / probability) ** 2 * (1 - probability)
        return cls(float((weights / probability).sum()), float(spread.sum()))


@dataclass(frozen=True, slots=True)
class WeightedSample:
    """Keys with exact counts, each sampled with the probability of its count; raw data, not private."""

    keys: pa.Array
    counts: Counts
    scheme: SamplingScheme
    seed: int | None = None

    words: ClassVar[str] = "a weighted sample"

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def probabilities(self) -> Floats:
        """The probability with which each key was sampled."""
        return self.scheme.probability(self.counts)

    def sum(
        self,
        predicate: Callable[[object], bool] | None = None,
        g: Callable[[Floats], Floats] | None = None,
    ) -> InverseProbability:
        """Estimate the sum of g(count), by default of the counts, over the keys a predicate selects."""
        chosen = np.ones(len(self), dtype=np.bool_)
        if predicate is not None:
            chosen = np.fromiter(map(predicate, self.keys.to_pylist()), np.bool_, len(self))
        sizes = self.counts[chosen].astype(np.float64)
        weights = sizes if g is None else g(sizes)
        return InverseProbability.of(weights, self.probabilities[chosen])

    def merge(self, other: WeightedSample) -> WeightedSample:
        """Return the sample of two parts that share no key (a key in both would need its total count)."""
        if (self.scheme, self.seed) != (other.scheme, other.seed):
            raise ParameterError("samples must have the same scheme and seed to be merged.")
        if pc.any(pc.is_in(self.keys, other.keys)).as_py():
            raise DataError("samples must share no key to be merged; use BottomK, which merges events.")
        keys = pa.concat_arrays([self.keys, other.keys])
        return WeightedSample(keys, np.concatenate([self.counts, other.counts]), self.scheme, self.seed)


def coordinated_sample(shape: Histogram, scheme: SamplingScheme, seed: int) -> WeightedSample:
    """Sample aggregated counts by a hash of seed and key: not private, and not to be made so."""
    return _sample(shape, scheme, unit(key_hashes(shape.keys, seed)), seed)


def fresh_sample(shape: Histogram, scheme: SamplingScheme, bits: RandomWords) -> WeightedSample:
    """Sample aggregated counts by fresh randomness: not private by itself."""
    return _sample(shape, scheme, unit(bits.words(len(shape.counts))), None)


def key_hashes(keys: pa.Array, seed: int) -> Words:
    """Return 64-bit hashes of the keys, the same wherever seed and key are the same."""
    salt = int(seed).to_bytes(16, "big", signed=True)
    digests = (_digest(key, salt) for key in keys.to_pylist())
    return np.fromiter(digests, np.uint64, len(keys))


def unit(words: Words) -> Floats:
    """Return words as numbers in [0, 1]."""
    return words.astype(np.float64) * np.float64(2.0**-64)


def _sample(shape: Histogram, scheme: SamplingScheme, uniforms: Floats, seed: int | None) -> WeightedSample:
    chosen = uniforms < scheme.probability(shape.counts)
    return WeightedSample(shape.keys.filter(pa.array(chosen)), shape.counts[chosen], scheme, seed)


def _digest(key: object, salt: bytes) -> int:
    data = key if isinstance(key, bytes) else f"{type(key).__name__}:{key}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, salt=salt).digest(), "big")


class SystemWords:
    """Words of the operating system's secure generator."""

    __slots__ = ()

    def words(self, count: int) -> Words:
        """Return this many independent uniform words."""
        return np.frombuffer(system_bytes().bytes(8 * count), np.uint64)


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
            return unit(key_hashes(distinct, self.seed))[codes]
        return -np.log(unit(self._bits.words(len(codes))) + 2.0**-65)

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
