"""The exact law of what a client sends, by driving it with every choice its random bytes can make.

The client is a black box that reads for each symbol a 64-bit coin, a word in place of a missing truth, and
seven words of replacement; a word has one octet in version 1 of the wire and two in version 2. The coin's
threshold is found by bisection, so it is exact whatever the client compares with; words are enumerated. A
client that asks for more bytes starts the replacement again: those branches are left out and the rest scaled
up, which is what starting again does to the law.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from itertools import product

from hushcount.ldp.wire.versions import DRAWN, Wire

LAST_COIN = (1 << 64) - 1
Law = dict[Hashable, Fraction]


class AskedAgain(Exception):  # noqa: N818 - a branch, not an error
    """The client wants other octets for its replacement."""


class Script:
    """Bytes for one run: for each symbol a coin, a stand-in word, and one word seven times."""

    def __init__(self, draws: Iterable[tuple[int, int, int]], wire: Wire = DRAWN) -> None:
        self.draws = list(draws)
        self.wire = wire

    def bytes(self, count: int) -> bytes:
        if count == self.wire.more_bytes:
            raise AskedAgain
        assert count == self.wire.draw_bytes
        coin, missing, replacement = self.draws.pop(0)
        size = self.wire.symbol_bytes
        words = [missing] + [replacement] * 7
        return coin.to_bytes(8, "little") + b"".join(word.to_bytes(size, "little") for word in words)


Run = Callable[[Script], Hashable]


def threshold(run: Run, symbols: int, place: int, wire: Wire = DRAWN) -> int:
    """How many coins of the draw at `place`, of `symbols` draws, answer as coin 0 does; the others differ."""

    def outcome(coin: int) -> Hashable:
        return run(Script([(coin if draw == place else 0, 0, 1) for draw in range(symbols)], wire))

    low, high = 0, LAST_COIN
    first, last = outcome(low), outcome(high)
    assert first != last, "the coin decides nothing"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if outcome(middle) == first else (low, middle)
    return high


def law(run: Run, octets: Iterable[int], symbols: int = 1, wire: Wire = DRAWN) -> Law:
    """The law of a run that draws `symbols` times, with octets uniform on those given."""
    octets = list(octets)
    thresholds = [threshold(run, symbols, place, wire) for place in range(symbols)]
    masses: Law = defaultdict(Fraction)
    sides = [((0, at), (LAST_COIN, LAST_COIN + 1 - at)) for at in thresholds]
    for coins in product(*sides):
        weight = Fraction(1)
        for _, share in coins:
            weight *= Fraction(share, LAST_COIN + 1)
        branch = _branch(run, [coin for coin, _ in coins], octets, wire)
        for outcome, mass in branch.items():
            masses[outcome] += weight * mass
    return dict(masses)


def _branch(run: Run, coins: list[int], octets: list[int], wire: Wire) -> Law:
    """The law given the coins: over the octets that do not lead to asking again."""
    found: dict[Hashable, int] = defaultdict(int)
    for pairs in product(product(octets, octets), repeat=len(coins)):
        try:
            draws = ((coin, *pair) for coin, pair in zip(coins, pairs, strict=True))
            found[run(Script(draws, wire))] += 1
        except AskedAgain:
            continue
    total = sum(found.values())
    return {outcome: Fraction(count, total) for outcome, count in found.items()}


def largest_ratio(laws: Iterable[Law]) -> Fraction | None:
    """The largest ratio of two laws at one outcome; None if some outcome is possible in one law only."""
    laws = list(laws)
    worst = Fraction(1)
    for outcome in set().union(*laws):
        masses = [law.get(outcome, Fraction(0)) for law in laws]
        if min(masses) == 0:
            return None
        worst = max(worst, max(masses) / min(masses))
    return worst


def exp_between(exponent: Fraction, terms: int = 120) -> tuple[Fraction, Fraction]:
    """Rational bounds of exp: the power series cut off, and with the geometric series above its rest."""
    term = total = Fraction(1)
    for count in range(1, terms):
        term *= exponent / count
        total += term
    return total, total + term * exponent / (terms - exponent)
