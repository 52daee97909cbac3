"""Keys by seed: bounded Zipf and uniform, as integers below 2^31 and as text of 8 to 30 characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

Integers = npt.NDArray[np.int64]

DOMAIN_BITS = 31
DOMAIN = 1 << DOMAIN_BITS
SHORTEST, LONGEST = 8, 30
EXPONENTS = {"zipf 1.1": 1.1, "zipf 1.5": 1.5, "uniform": 0.0}

_U = np.uint64
_MASK = _U(DOMAIN - 1)
_ODD = _U(0x9E3779B97F4A7C15)
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)


def integers(count: int, distribution: str, seed: int = 1) -> Integers:
    """Keys in [0, 2^31), drawn independently; the heavy ones are not small numbers."""
    return next(integer_chunks(count, distribution, count, seed))


def integer_chunks(count: int, distribution: str, size: int, seed: int = 1) -> Iterator[Integers]:
    """`integers`, a chunk at a time."""
    generator = np.random.default_rng(seed)
    exponent = EXPONENTS[distribution]
    for start in range(0, count, size):
        length = min(size, count - start)
        if exponent:
            yield scrambled(zipf(generator, length, exponent, DOMAIN))
        else:
            yield generator.integers(0, DOMAIN, length)


def zipf(generator: np.random.Generator, count: int, exponent: float, domain: int) -> Integers:
    """Ranks 1..domain with probability proportional to rank^-exponent, by rejection-inversion."""
    low, high = _area(1.5, exponent) - 1.0, _area(domain + 0.5, exponent)
    ranks = np.empty(count, np.int64)
    filled = 0
    while filled < count:
        points = generator.uniform(low, high, count - filled + 1000)
        nearest = np.clip(np.floor(_inverse(points, exponent) + 0.5), 1, domain)
        kept = nearest[points >= _area(nearest + 0.5, exponent) - nearest**-exponent][: count - filled]
        ranks[filled : filled + kept.size] = kept
        filled += kept.size
    return ranks


def _area(bound: Any, exponent: float) -> Any:
    """The integral of x^-exponent from 1 to a bound."""
    return (bound ** (1 - exponent) - 1) / (1 - exponent)


def _inverse(area: Any, exponent: float) -> Any:
    return (1 + area * (1 - exponent)) ** (1 / (1 - exponent))


def scrambled(keys: Integers) -> Integers:
    """A bijection of [0, 2^31) applied to keys modulo 2^31."""
    words = keys.astype(np.uint64) & _MASK
    for _ in range(2):
        words = (words * _ODD) & _MASK
        words ^= words >> _U(16)
    return words.astype(np.int64)


def texts(keys: Integers) -> pa.Array:
    """Different text for different integers: lengths 8 to 30, evenly, letters as if at random."""
    offsets = np.zeros(keys.size + 1, np.int32)
    np.cumsum(_lengths(keys.astype(np.uint64)), out=offsets[1:])
    letters = np.empty(int(offsets[-1]), np.uint8)
    _write(keys.astype(np.uint64), offsets, letters, _LETTERS)
    return pa.Array.from_buffers(pa.string(), keys.size, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


@njit(cache=True)
def _mixed(word: Any) -> Any:
    word = (word + _ODD) * _U(0xBF58476D1CE4E5B9)
    word ^= word >> _U(31)
    word *= _U(0x94D049BB133111EB)
    return word ^ (word >> _U(29))


@njit(cache=True)
def _lengths(keys: Any) -> Any:
    lengths = np.empty(keys.size, np.int32)
    for index in range(keys.size):
        lengths[index] = SHORTEST + (_mixed(keys[index]) >> _U(40)) % _U(LONGEST - SHORTEST + 1)
    return lengths


@njit(cache=True)
def _write(keys: Any, offsets: Any, letters: Any, alphabet: Any) -> None:
    """The first seven letters spell the key, so that no two keys share a text."""
    for index in range(keys.size):
        state = keys[index]
        left = 7
        for place in range(offsets[index], offsets[index + 1]):
            if left == 0:
                state = _mixed(state ^ keys[index])
                left = 12
            letters[place] = alphabet[state & _U(31)]
            state >>= _U(5)
            left -= 1
