"""Kernels of Bitstogram: decode codewords, combine their messages to items, and peel.

Soft decoding of a linear code of length 128 by ordered statistics.

A codeword is two 64-bit words; place p is bit p % 64 of word p // 64. The signal at a place is positive for a
0 and negative for a 1, and its size says how reliable it is. The correlation of a codeword with a signal is
the sum of the signal, with the signs of the codeword; the most likely codeword has the largest correlation.

`rows` is a basis of the code with three words per row: the two of a codeword, and the message that gives it.
`_solve` brings it into a form in which row i alone has a 1 at pivot i, where the pivots are the most reliable
independent places. Inverting a pivot then means xoring one row, so all codewords that differ from the signs
of the signal in at most three pivots are tried with one xor each.

`partial[byte, value]` is what one byte of a codeword adds to the correlation, so a correlation is a sum of
sixteen lookups instead of 128 additions.

`combine` keeps, for each bucket, at most `widest` partial combinations in descending order of their sums, and
extends them list by list. Scores are only added, so the best sums over all lists extend best sums over the
first ones, and nothing is lost by keeping only so many. A combination is named old * count + new: the place
of what it extends, and the place of the value it adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushcount.compiled.kernel import inlined, kernel

_U = np.uint64
_ZERO, _ONE, _BYTE, _EIGHT = _U(0), _U(1), _U(255), _U(8)
_LENGTH = 128
_HALF = 64


@inlined
def _bit(words: Any, row: Any, place: Any) -> Any:
    """Return the bit of a row at a place."""
    return (words[row, place // _HALF] >> _U(place % _HALF)) & _ONE


@inlined
def _correlation(partial: Any, low: Any, high: Any) -> Any:
    """Return the correlation of one codeword, from the partial sums of its sixteen bytes."""
    total = partial[0, 0] * 0
    for part in range(8):
        shift = _U(8 * part)
        total += partial[part, (low >> shift) & _BYTE] + partial[part + 8, (high >> shift) & _BYTE]
    return total


@inlined
def _partial_sums(signal: Any, partial: Any) -> None:
    """Fill in what each value of each byte of a codeword adds to the correlation."""
    for part in range(16):
        total = partial[0, 0] * 0
        for bit in range(8):
            total += signal[8 * part + bit]
        partial[part, 0] = total
        for bit in range(8):
            step = 2 * signal[8 * part + bit]
            for value in range(1 << bit):
                partial[part, value + (1 << bit)] = partial[part, value] - step


@inlined
def _solve(order: Any, rows: Any, pivots: Any) -> None:
    """Eliminate until only row i has a 1 at the i-th most reliable independent place."""
    found = 0
    for index in range(_LENGTH - 1, -1, -1):
        place = order[index]
        chosen = found
        while chosen < rows.shape[0] and _bit(rows, chosen, place) == _ZERO:
            chosen += 1
        if chosen == rows.shape[0]:
            continue
        for column in range(3):
            rows[found, column], rows[chosen, column] = rows[chosen, column], rows[found, column]
        for row in range(rows.shape[0]):
            if row != found and _bit(rows, row, place) != _ZERO:
                for column in range(3):
                    rows[row, column] ^= rows[found, column]
        pivots[found] = place
        found += 1
        if found == rows.shape[0]:
            break


@inlined
def insert(best: Any, names: Any, size: Any, total: Any, name: Any) -> Any:
    """Insert a sum with its name into a list in descending order, which drops its last; return its size."""
    if size == best.size:
        if total <= best[size - 1]:
            return size
        size -= 1
    place = size
    while place > 0 and best[place - 1] < total:
        best[place] = best[place - 1]
        names[place] = names[place - 1]
        place -= 1
    best[place] = total
    names[place] = name
    return size + 1


@kernel
def decode_ordered(signals: Any, basis: Any, flips: int, messages: Any, scores: Any) -> None:
    """Find the best codewords of each signal that differ from it in at most `flips` <= 3 of the pivots.

    `basis` has a row for each message bit: its codeword's two words and the bit itself. The rows of
    `messages` and `scores` are filled; they are as long as the list wanted, and scores start at -infinity.
    """
    size = basis.shape[0]
    pivots = np.zeros(size, np.int64)
    partial = np.zeros((16, 256), np.float32)
    strength = np.zeros(_LENGTH, np.float32)
    for index in range(signals.shape[0]):
        signal = signals[index]
        for place in range(_LENGTH):
            strength[place] = abs(signal[place])
        rows = basis.copy()
        _solve(np.argsort(strength), rows, pivots)
        _partial_sums(signal, partial)
        low, high, message = _ZERO, _ZERO, _ZERO
        for row in range(size):
            if signal[pivots[row]] < 0:
                low ^= rows[row, 0]
                high ^= rows[row, 1]
                message ^= rows[row, 2]
        best, score = messages[index], scores[index]
        found = insert(score, best, 0, _correlation(partial, low, high), message)
        for first in range(size if flips > 0 else 0):
            low1, high1, message1 = low ^ rows[first, 0], high ^ rows[first, 1], message ^ rows[first, 2]
            found = insert(score, best, found, _correlation(partial, low1, high1), message1)
            for second in range(first if flips > 1 else 0):
                low2, high2 = low1 ^ rows[second, 0], high1 ^ rows[second, 1]
                message2 = message1 ^ rows[second, 2]
                found = insert(score, best, found, _correlation(partial, low2, high2), message2)
                for third in range(second if flips > 2 else 0):
                    low3, high3 = low2 ^ rows[third, 0], high2 ^ rows[third, 1]
                    message3 = message2 ^ rows[third, 2]
                    found = insert(score, best, found, _correlation(partial, low3, high3), message3)


@kernel
def combine(lists: Any, least: Any, widest: int, chosen: Any, buckets: Any) -> int:
    """Combine one value from each list of a bucket; keep the combinations whose scores sum to `least`.

    `lists` = (starts, values, scores): list l of bucket b is at starts[l, b] .. starts[l, b + 1] - 1. No
    bucket gives more than its `widest` best. Fill `chosen` (a row of values each) and `buckets`; return how
    many there are.
    """
    starts, values, scores = lists
    parts, found = starts.shape[0], 0
    kept, extended = np.zeros((widest, parts), np.int64), np.zeros((widest, parts), np.int64)
    sums, best, names = np.zeros(widest), np.zeros(widest), np.zeros(widest, np.int64)
    for bucket in range(starts.shape[1] - 1):
        size = 1
        sums[0] = 0.0
        for part in range(parts):
            first, longer = starts[part, bucket], 0
            count = starts[part, bucket + 1] - first
            for old in range(size):
                for new in range(count):
                    longer = insert(best, names, longer, sums[old] + scores[first + new], old * count + new)
            size = longer
            for place in range(size):
                for before in range(part):
                    extended[place, before] = kept[names[place] // count, before]
                extended[place, part] = values[first + names[place] % count]
                sums[place] = best[place]
            kept, extended = extended, kept
        for place in range(size):
            if sums[place] >= least:
                for part in range(parts):
                    chosen[found, part] = kept[place, part]
                buckets[found] = bucket
                found += 1
    return found


@kernel
def peel(places: Any, weights: Any, estimates: Any, limits: Any, accepted: Any) -> None:
    """Accept items from the largest estimate down, and subtract each from the estimates of the others.

    `places` = (cells, signs): item i lies in cell cells[i, t] of table t, with sign signs[i, t]. It has two
    estimates: estimates[i, 0] is published and estimates[i, 1] checks it; both must reach `limits`. Table t
    contributes the fractions weights[t] of a count to them. accepted[i] becomes the rank, or stays -1.
    """
    cells, signs = places
    items, tables = cells.shape
    waiting = estimates[:, 0].copy()
    rank = 0
    while items:
        best = 0
        for item in range(1, items):
            if waiting[item] > waiting[best]:
                best = item
        if waiting[best] < limits[0]:
            break
        waiting[best] = -np.inf
        if estimates[best, 1] < limits[1]:
            continue
        accepted[best] = rank
        rank += 1
        for item in range(items):
            if accepted[item] >= 0:
                continue
            published = checked = 0.0
            for table in range(tables):
                if cells[item, table] == cells[best, table]:
                    product = signs[item, table] * signs[best, table]
                    published += weights[table, 0] * product
                    checked += weights[table, 1] * product
            estimates[item, 0] -= estimates[best, 0] * published
            estimates[item, 1] -= estimates[best, 0] * checked
            if waiting[item] > -np.inf:
                waiting[item] = estimates[item, 0]
