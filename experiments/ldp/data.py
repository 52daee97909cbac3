"""The two data sets: English words of at most six letters, and a steep Zipf law over 93 random words.

words: the English list of the package wordfreq 3.1 (Robyn Speer, Apache-2.0), the large one, "best":
frequencies in Wikipedia, subtitles, news, books, the web and social media up to 2021. Words of the letters
a-z only, cut to six letters, those that become the same added up, the 26,000 most frequent kept.
zipf: 93 words of six random letters, the i-th with a share proportional to i^-1.5.

Counts are the shares of n rounded by largest remainder: nothing is drawn but the order of the users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

LENGTH = 6
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
WORDS = 26_000
ZIPF_WORDS = 93
ZIPF_EXPONENT = 1.5
SYMBOL_BITS = 5
ITEM_BITS = LENGTH * SYMBOL_BITS


@cache
def english() -> tuple[tuple[str, ...], Any]:
    """The 26,000 most frequent words of at most six letters, most frequent first, and their shares."""
    from wordfreq import get_frequency_dict

    merged: dict[str, float] = defaultdict(float)
    for word, frequency in sorted(get_frequency_dict("en", wordlist="best").items()):
        if word.isascii() and word.isalpha() and word.islower():
            merged[word[:LENGTH]] += frequency
    ranked = sorted(merged.items(), key=lambda pair: (-pair[1], pair[0]))[:WORDS]
    shares = np.array([share for _, share in ranked])
    return tuple(word for word, _ in ranked), shares / shares.sum()


@cache
def zipf() -> tuple[tuple[str, ...], Any]:
    """93 different random words of six letters and their Zipf shares."""
    rng = np.random.default_rng(93)
    drawn: dict[str, None] = {}
    while len(drawn) < ZIPF_WORDS:
        drawn["".join(ALPHABET[letter] for letter in rng.integers(0, len(ALPHABET), LENGTH))] = None
    shares = np.arange(1, ZIPF_WORDS + 1) ** -ZIPF_EXPONENT
    return tuple(drawn), shares / shares.sum()


SETS: dict[str, Callable[[], tuple[tuple[str, ...], Any]]] = {"words": english, "zipf": zipf}


def counts(name: str, users: int) -> tuple[list[str], Any]:
    """The items of a data set and how many of the users hold each (int64, sums to users)."""
    items, shares = SETS[name]()
    exact = shares * users
    whole = np.floor(exact).astype(np.int64)
    missing = users - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return list(items), whole


def words(users: int) -> tuple[list[str], Any]:
    """The English words and their counts among so many users."""
    return counts("words", users)


def population(users: int, seed: int, name: str = "words") -> Any:
    """One index into the items of `counts` a user (uint16), in random order."""
    items, held = counts(name, users)
    codes = np.repeat(np.arange(len(items), dtype=np.uint16), held)
    np.random.default_rng(seed).shuffle(codes)
    return codes


def codes_of(items: list[str]) -> Any:
    """Words as integers of 30 bits: five bits a letter, the first letter highest, a = 1, 0 after the end."""
    return np.array([_code(item) for item in items], dtype=np.uint64)


def _code(item: str) -> int:
    code = 0
    for letter in item.ljust(LENGTH, chr(ord("a") - 1)):
        code = code << SYMBOL_BITS | ord(letter) - ord("a") + 1
    return code


def word_of(code: int) -> str:
    """The word of a code."""
    symbols = (code >> SYMBOL_BITS * place & 31 for place in reversed(range(LENGTH)))
    return "".join(ALPHABET[symbol - 1] for symbol in symbols if symbol)
