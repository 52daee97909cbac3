"""Keyed hashes of integers and byte strings for hash tables.

The keys are random and secret, so nobody can choose data that collide. A collision costs time, never a wrong
count: tables compare the keys themselves. `mix` is also what files of linear sketches rest on, so it must
never change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled._kernels.intrinsics import fold, load64, store64
from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_ODD = _U(0xD6E8FEB86659FD93)
_SPREAD = _U(0xA0761D6478BD642F)
_EIGHT = _U(8)
_SIXTEEN = _U(16)
_THIRTY_TWO = _U(32)


@inlined
def mix(word: Any, key: Any) -> Any:
    """Return a word under a bijection given by an odd key; its upper bits are mixed best."""
    product = word * key
    product ^= product >> _THIRTY_TWO
    return product * _ODD


@inlined
def word_at(data: Any, start: Any, step: Any, last: Any) -> Any:
    """Return the word `step` bytes after the start, or the last one if that is nearer."""
    return load64(data, start + (step if step < last else last))


@inlined
def hash_bytes(data: Any, start: Any, length: Any, key: Any, odd: Any) -> Any:
    """Hash data[start : start + length] under two words of key, reading nothing outside it.

    Strings of the usual 8 to 32 bytes are read as four words that may overlap, so that no branch depends on
    the length; each step multiplies to 128 bits and folds the halves, which mixes all bits at once.
    """
    state = key ^ (length * _SPREAD)
    first = _U(0)
    second = _U(0)
    if length >= _EIGHT:
        last = length - _EIGHT
        done = _U(0)
        while done + _THIRTY_TWO < length:
            state = fold(load64(data, start + done) ^ odd, load64(data, start + done + _EIGHT) ^ state)
            done += _SIXTEEN
        one = word_at(data, start, done, last)
        two = word_at(data, start, done + _EIGHT, last)
        state = fold(one ^ odd, two ^ state)
        first = word_at(data, start, done + _SIXTEEN, last)
        second = load64(data, start + last)
    else:
        for index in range(length):
            first = (first << _EIGHT) | _U(data[start + _U(index)])
    return fold(fold(first ^ odd, second ^ state) ^ _SPREAD, key | _U(1))


@kernel
def same_bytes(left: Any, start: Any, right: Any, offset: Any, length: Any) -> Any:
    """Return whether left[start : start + length] equals right[offset : offset + length], word by word."""
    if length < _EIGHT:
        same = True
        for index in range(length):
            same &= left[start + _U(index)] == right[offset + _U(index)]
        return same
    step = _U(0)
    while step + _EIGHT < length:
        if load64(left, start + step) != load64(right, offset + step):
            return False
        step += _EIGHT
    return load64(left, start + length - _EIGHT) == load64(right, offset + length - _EIGHT)


@inlined
def copy_bytes(source: Any, start: Any, target: Any, offset: Any, length: Any) -> Any:
    """Copy source[start : start + length] to target[offset : offset + length]."""
    if length >= _EIGHT:
        step = _U(0)
        while step + _EIGHT < length:
            store64(target, offset + step, load64(source, start + step))
            step += _EIGHT
        store64(target, offset + length - _EIGHT, load64(source, start + length - _EIGHT))
    else:
        for index in range(length):
            target[offset + _U(index)] = source[start + _U(index)]
