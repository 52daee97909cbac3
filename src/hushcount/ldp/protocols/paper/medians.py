"""The frequency oracles of Bassily et al. 2020: the median over rows of estimates that are each unbiased.

With gamma = rows / share of the users asked, and a = 1 / (2p - 1), the estimate of a row is gamma a times the
sum of its users' responses, with signs that agree with the item (Algorithms 2, 5 and 7). Without signs other
items add n / m on average, which is subtracted. The variance of a row is gamma n a^2 - f, plus F2 / m from
other items in the same of m cells.
Formulas: docs/ldp-paper.md. Checked by: tests/statistical/test_ldp_paper.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np

from hushcount.compiled.arrays import Floats, ItemWords
from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols.paper.campaign import WIDEST_LISTED
from hushcount.ldp.server.decoding import Collected, Decoder, Found, Frequencies, limit_of
from hushcount.ldp.server.frequency import matches_of
from hushcount.ldp.server.tallies import to_words
from hushcount.ldp.wire.groups import ALL_SHARES
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Prefix, Question
from hushcount.ldp.wire.response import ResponseDistribution

_TOGETHER = 1 << 22  # estimates of single rows computed at once


@cache
def median_variance(rows: int) -> float:
    """Return the variance of the median of an odd number of standard normal variables.

    Simpson's rule integrates its density, rows! / (k!)^2 (F (1 - F))^k times the normal one, rows = 2k + 1.

    >>> round(median_variance(1), 6), round(median_variance(3), 4), round(285 * median_variance(285), 3)
    (1.0, 0.4487, 1.568)
    """
    half, normal, steps = rows // 2, NormalDist(), 2000
    width = 8 * min(1.0, 2 / math.sqrt(rows))
    factor = math.lgamma(rows + 1) - 2 * math.lgamma(half + 1)
    total = 0.0
    for step in range(1, steps):
        x = width * step / steps
        inside = normal.cdf(x) * normal.cdf(-x)
        weight = 4 if step % 2 else 2
        total += weight * x * x * normal.pdf(x) * math.exp(factor + half * math.log(inside))
    return 2 * total * width / (3 * steps)


@dataclass(frozen=True, slots=True)
class MedianError:
    """The error of a median of rows, each of variance gamma n a^2 - f + F2 / m, times stretch squared."""

    response: ResponseDistribution
    users: int
    rows: int
    inverse_share: float  # gamma
    collisions: float = 0.0  # F2 / m
    stretch: float = 1.0

    def deviation(self, counts: Floats) -> Floats:
        """Return the standard deviation of the estimate of each count."""
        inside = np.clip(counts, 0, self.users)
        row = self.inverse_share * self.users * self.response.absent - inside + self.collisions
        return np.asarray(self.stretch * np.sqrt(median_variance(self.rows) * row), np.float64)

    def sentences(self) -> tuple[str, ...]:
        """Say what the standard deviation is made of."""
        absent = float(self.deviation(np.zeros(1))[0])
        return (
            f"The standard deviation of an estimate is {absent:.0f} for an item that nobody holds: it is the"
            f" median of {self.rows} rows, each with the noise of its responses and of other items.",
        )


class MedianOracle:
    """Estimates of the counts of items, or of prefixes, from the tallies of one question."""

    __slots__ = ("gamma", "reports", "scale", "tally")

    def __init__(self, collected: Collected, group: int, number: int) -> None:
        # A copy, so that the matches that it computes are freed with the oracle.
        self.tally = replace(collected.groups[group][number])
        self.reports = collected.reports
        share = collected.manifest.groups[group].shares[number] / ALL_SHARES
        self.gamma = self.tally.question.rows / share
        self.scale = self.gamma / self.tally.response.gain

    def rows(self, words: ItemWords) -> Floats:
        """Return the estimates of every row, each unbiased."""
        chance = self.tally.question.background
        matches = matches_of(self.tally, words)
        return np.asarray((self.scale * matches - chance * self.reports) / (1 - chance), np.float64)

    def estimate(self, values: Sequence[int]) -> Floats:
        """Return the medians over the rows, for encoded items."""
        step = max(_TOGETHER // self.tally.question.rows, 1)
        parts = [values[start : start + step] for start in range(0, len(values), step)]
        width = self.tally.place.width
        medians = [np.median(self.rows(to_words(part, width)), axis=0) for part in parts]
        return np.concatenate([np.zeros(0), *medians])

    def error(self) -> MedianError:
        """Return the error of an estimate; collisions are averaged over all cells, as an item's is random."""
        response, question = self.tally.response, self.tally.question
        chance = question.background
        collisions = 0.0
        if isinstance(question, Prefix) and question.hashed:
            square = float(np.square(self.scale * self.tally.matches).mean())
            noise = self.gamma * self.reports * response.absent
            collisions = max(square - (chance * self.reports) ** 2 - noise, 0.0)
        return MedianError(response, self.reports, question.rows, self.gamma, collisions, 1 / (1 - chance))


def whole_items(collected: Collected) -> MedianOracle:
    """Return the oracle over whole items, the last question of every protocol of the paper."""
    groups = collected.manifest.groups
    return MedianOracle(collected, len(groups) - 1, len(groups[-1].questions) - 1)


def published(collected: Collected, candidates: Iterable[int], limit: float) -> Found:
    """Return the candidates that are items and whose estimate reaches the limit, largest first."""
    encoding, oracle = collected.manifest.encoding, whole_items(collected)
    values = sorted(set(candidates))
    estimates = oracle.estimate(values)
    above = np.flatnonzero(estimates >= limit)
    order = above[np.argsort(-estimates[above], kind="stable")]
    kept = [int(place) for place in order if encoding.decode(values[place]) is not None]
    return Found([values[place] for place in kept], estimates[kept], oracle.error(), limit)


def refuse_other_questions(manifest: Manifest, expected: Sequence[Sequence[Question]]) -> None:
    """Raise unless the groups ask the expected questions."""
    if [list(group.questions) for group in manifest.groups] != [list(group) for group in expected]:
        raise ManifestError(f"the questions must be those that {manifest.protocol} asks.")


def decode(collected: Collected, threshold: float | None) -> Found:
    """Return the heavy items of ExplicitHist or Hashtogram, by asking about every item, if they are few."""
    manifest = collected.manifest
    width = manifest.encoding.width
    last = manifest.groups[-1].questions[-1]
    refuse_other_questions(manifest, [[Prefix(width, last.rows, last.cell_bits)]])
    if width > WIDEST_LISTED:
        raise ParameterError(
            f"{manifest.protocol} can list items of at most {WIDEST_LISTED} bits, got {width}; ask about"
            " some of them with hushcount.ldp.frequencies."
        )
    return published(collected, range(1 << width), limit_of(collected, threshold))


def lookups(manifest: Manifest) -> int:
    """Return how many cells are looked up to list all items, if there are few enough of them."""
    return manifest.groups[-1].questions[-1].rows << min(manifest.encoding.width, WIDEST_LISTED)


def estimate(collected: Collected, values: Sequence[int]) -> Frequencies:
    """Return estimates of encoded items and their standard deviations."""
    oracle = whole_items(collected)
    estimates = oracle.estimate(values)
    return Frequencies(estimates, oracle.error().deviation(estimates))


DECODER = Decoder(decode, lookups, estimate)
