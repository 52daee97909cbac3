"""What samples are drawn from, words and hashes of keys, and what is estimated from them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from hushcount.compiled.arrays import Floats, Words
from hushcount.secure import system_bytes


class RandomWords(Protocol):
    """Independent uniform words of 64 bits."""

    def words(self, count: int) -> Words:
        """Return this many words."""
        ...


class SystemWords:
    """Words of the operating system's secure generator."""

    __slots__ = ()

    def words(self, count: int) -> Words:
        """Return this many independent uniform words."""
        return np.frombuffer(system_bytes().bytes(8 * count), np.uint64)


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


def key_hashes(keys: pa.Array, seed: int) -> Words:
    """Return 64-bit hashes of the keys, the same wherever seed and key are the same."""
    salt = int(seed).to_bytes(16, "big", signed=True)
    digests = (_digest(key, salt) for key in keys.to_pylist())
    return np.fromiter(digests, np.uint64, len(keys))


def unit_floats(words: Words) -> Floats:
    """Return words as numbers in [0, 1]."""
    return words.astype(np.float64) * np.float64(2.0**-64)


def _digest(key: object, salt: bytes) -> int:
    data = key if isinstance(key, bytes) else f"{type(key).__name__}:{key}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, salt=salt).digest(), "big")
