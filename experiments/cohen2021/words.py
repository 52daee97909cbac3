"""Counts that a package carries, in place of the two data sets of Cohen et al. 2021 that may not be passed
on.

The paper has the words of seven million words of headlines, and the nodes of a graph of who answers whom,
by degree. Here are the words of as many words of English, by the frequencies of the package wordfreq, and a
graph of the same words: each of their occurrences links every three letters of it with the three that begin
one letter later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import wordfreq

Counts = npt.NDArray[np.int64]
EVENTS = 7_000_000
LETTERS = 3


@cache
def occurrences() -> dict[str, int]:
    """Return how often each English word occurs among so many, if it does."""
    frequencies = wordfreq.get_frequency_dict("en", "large")
    counted = {word: round(share * EVENTS) for word, share in frequencies.items()}
    return {word: count for word, count in counted.items() if count > 0}


def words() -> tuple[Counts, Counts]:
    """Return the distinct counts of words, and how many words have each."""
    return _distinct(occurrences().values())


def letters() -> tuple[Counts, Counts]:
    """Return the distinct degrees of the graph of letters, and how many nodes have each."""
    degrees: Counter[str] = Counter()
    for word, count in occurrences().items():
        parts = [word[start : start + LETTERS] for start in range(len(word) - LETTERS + 1)]
        for one, other in pairwise(parts):
            degrees[one] += count
            degrees[other] += count
    return _distinct(degrees.values())


def _distinct(counts: object) -> tuple[Counts, Counts]:
    values, keys = np.unique(np.fromiter(counts, np.int64), return_counts=True)  # type: ignore[call-overload]
    return values, keys


DATA: dict[str, Callable[[], tuple[Counts, Counts]]] = {"words": words, "graph of letters": letters}
