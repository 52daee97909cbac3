"""Synthetic IPv4 flows with a heavy-tailed prefix structure, the same for the same seed.

Each octet of an address is a rank drawn from a truncated Zipf law, and which value has which rank differs
from prefix to prefix: so a few prefixes of every length are heavy, some because of one heavy address below
them and some because of many light ones.
"""

from __future__ import annotations

import numpy as np

# Exponents of the four octets: networks are very uneven, hosts less so. With these, 10M flows have about 1M
# distinct addresses.
EXPONENTS = (1.4, 1.6, 1.7, 1.7)
BLOCK = 1 << 20


def addresses(flows: int, seed: int = 1) -> np.ndarray:
    """The source addresses of `flows` flows, as uint32."""
    random = np.random.default_rng(seed)
    result = np.empty(flows, np.uint32)
    for start in range(0, flows, BLOCK):
        result[start : start + BLOCK] = _block(min(BLOCK, flows - start), random)
    return result


def _block(size: int, random: np.random.Generator) -> np.ndarray:
    prefix = np.zeros(size, np.uint64)
    for level, exponent in enumerate(EXPONENTS):
        weights = np.arange(1, 257, dtype=float) ** -exponent
        ranks = np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(size)).astype(np.uint64)
        mixed = _mixed(prefix + np.uint64((level + 1) << 40))
        octets = (ranks * (mixed | np.uint64(1)) + (mixed >> np.uint64(32))) & np.uint64(255)
        prefix = (prefix << np.uint64(8)) | octets
    return prefix.astype(np.uint32)


def _mixed(values: np.ndarray) -> np.ndarray:
    """A fixed mixing of 64-bit words (multiply, shift and exclusive or, twice)."""
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F):
        values = values * np.uint64(factor)
        values = values ^ (values >> np.uint64(29))
    return values
