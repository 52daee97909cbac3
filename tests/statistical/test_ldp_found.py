"""An item of as many users as a release promises to find is found as often as it says.

If the true probability were the stated .95 the test would fail with probability 1e-9, by the binomial law of
items in campaigns of independent seeds. Items of three quarters of the count are refuted by the same bound.
"""

import math
import string

import pytest
from tests.ldp_population import answered, random_words

from hushcount import ldp

WORDS = ldp.Words(string.ascii_lowercase, 6)
USERS = 20_000
CAMPAIGNS = 12


def at_most(found: int, items: int, chance: float) -> float:
    """The probability that a binomial variable is at most `found`."""
    return math.fsum(math.comb(items, k) * chance**k * (1 - chance) ** (items - k) for k in range(found + 1))


def found_of(manifest, count):
    """How many items of this count were found, of how many, and the counts that the releases promise."""
    names = random_words(USERS // (2 * count), 3)
    rest = [word for word in random_words(USERS, 99) if word not in names]
    counts = dict.fromkeys(names, count) | dict.fromkeys(rest[: USERS - count * len(names)], 1)
    found, promised = 0, set()
    for seed in range(CAMPAIGNS):
        release = answered(manifest, counts, seed).heavy_hitters()
        found += len(set(names) & set(release.table["key"].to_pylist()))
        promised.add(release.accuracy().published_from)
    return found, CAMPAIGNS * len(names), promised


@pytest.mark.parametrize("protocol", [ldp.TreeHist, ldp.Bitstogram, ldp.BitstogramBinary])
def test_the_promised_count_is_found(protocol):
    manifest = protocol(WORDS, epsilon=4.0, users=USERS).manifest
    least = answered(manifest, {"tea": USERS}, 1).heavy_hitters().accuracy().published_from
    found, items, promised = found_of(manifest, least)
    assert max(promised) <= 1.02 * least  # which reports were asked what differs a little
    assert at_most(found, items, 0.95) > 1e-9
    found, items, _ = found_of(manifest, 3 * least // 4)
    assert at_most(found, items, 0.95) < 1e-9
