"""Weighted samples of keys, not private: threshold sampling of aggregated counts.

A coordinated sample decides by a seeded hash of the key, so that samples of different data with one seed
pick alike. Such a sample must never be sanitised: with a known seed, being sampled reveals the count
(docs/proofs/sampling/sample.md, section 6). `WeightedSample` is therefore not a shape that a mechanism
accepts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Words
from hushcount.errors import DataError, ParameterError
from hushcount.shapes import Histogram

if TYPE_CHECKING:
    import pyarrow as pa


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
        import pyarrow as pa
        import pyarrow.compute as pc

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
    import pyarrow as pa

    chosen = uniforms < scheme.probability(shape.counts)
    return WeightedSample(shape.keys.filter(pa.array(chosen)), shape.counts[chosen], scheme, seed)


def _digest(key: object, salt: bytes) -> int:
    data = key if isinstance(key, bytes) else f"{type(key).__name__}:{key}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, salt=salt).digest(), "big")
