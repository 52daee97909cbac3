"""What one user may add to a watch, and the distribution of several keys at once.

The rule of section 1 of docs/proofs/continual/users.md in plain Python, its twins, and divergences of
streams that differ in several keys. Noises of different keys are independent, so that pairs of probabilities
multiply.
"""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
from tests.privacy.continual_law import Key, pairs_of, step


def kept(rows, most, rank=str):
    """The period in which each kept key of a user counts; `rows` are the keys of each period."""
    found = {}
    for period, keys in enumerate(rows):
        new = sorted(set(keys) - set(found), key=rank)
        found |= dict.fromkeys(new[: most - len(found)], period)
    return found


@cache
def factors(law, more, events):
    """The two probabilities of all transcripts of one key, those of equal ratio added up."""
    p, q = pairs_of(law, more, events)
    share = np.round(p / np.maximum(p + q, 1e-300), 12)
    _, places = np.unique(share, return_inverse=True)
    return np.bincount(places, p), np.bincount(places, q)


def together(law, keys, e_epsilon):
    """Divergences of all keys at once, the larger stream first and the smaller one first.

    Parameters
    ----------
    law : Law
        The gate and the levels of each key.
    keys : sequence of pairs
        For each key its events in both streams.
    e_epsilon : float
        exp(epsilon) of all keys together.
    """
    p = q = np.ones(1)
    for one, other in keys:
        first, second = factors(law, one, other)
        p, q = np.multiply.outer(p, first).ravel(), np.multiply.outer(q, second).ravel()
    return np.maximum(p - e_epsilon * q, 0).sum(), np.maximum(q - e_epsilon * p, 0).sum()


def added(events, period):
    """The events of a key with one more in a period."""
    return tuple(count + (t == period) for t, count in enumerate(events))


def contributions(periods, keys, most):
    """All that a user with any rows may add: for each key a period or None."""
    found = set()
    subsets = [c for size in range(len(keys) + 1) for c in itertools.combinations(keys, size)]
    for rows in itertools.product(subsets, repeat=periods):
        for order in itertools.permutations(keys):
            places = kept(rows, most, order.index)
            found.add(tuple(places.get(key) for key in keys))
    return sorted(found, key=str)


def reacting(law, periods, pairs, *, others=0, larger_first=True, e_epsilon=2.0):
    """The largest divergence over users who react: after each period they choose which of two keys to add.

    In all they add at most so many pairs, each key once; each key has `others` events of others per period.
    """
    _, weights = law.hidden()

    def moved(key, new):
        return tuple(
            (replace(one, events=(*one.events, others + x)), kept) for (one, kept), x in key_with(key, new)
        )

    def key_with(key, new):
        return zip(key, (new, 0) if larger_first else (0, new), strict=True)

    def value(t, keys, left):
        if t == periods:
            p, q = (float(np.prod([key[side][1].sum() for key in keys])) for side in (0, 1))
            return max(p - e_epsilon * q, 0.0)
        best = 0.0
        for new in itertools.product(*((0, 1) if free else (0,) for free in left)):
            if sum(new) > pairs - sum(not free for free in left):
                continue
            outcomes = [list(step(law, t, *moved(key, x))) for key, x in zip(keys, new, strict=True)]
            after = tuple(free and not x for free, x in zip(left, new, strict=True))
            best = max(best, sum(value(t + 1, each, after) for each in itertools.product(*outcomes)))
        return best

    start = ((Key(()), weights), (Key(()), weights))
    return value(0, (start, start), (True, True))
