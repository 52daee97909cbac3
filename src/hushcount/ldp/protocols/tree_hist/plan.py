"""Plans of TreeHist, made before any data are collected: levels, shares, what can be found. Pure Python.

Formulas: docs/ldp.md.
Checked by: tests/unit/ldp/protocols/tree_hist/test_plan.py, tests/acceptance/test_ldp_tree_hist.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hushcount.ldp.protocols.campaign import Quality, threshold_of
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import ALL_SHARES
from hushcount.ldp.wire.law import ResponseLaw, above, upper_quantile
from hushcount.ldp.wire.prefixes import count_prefixes
from hushcount.ldp.wire.response import (
    ONE,
    best_symbol_bits,
    check_symbol_bits,
    epsilon_text,
    response_probability,
)
from hushcount.privacy import check_count

WIDEST_TABLE = 20  # items of so many bits are cells themselves
CELL_BITS = 18
PREFIX_CELL_BITS = 16
ITEM_ROWS = 16
PREFIX_ROWS = 16
KEPT = 1 << 11  # tagged prefixes that noise alone keeps at the first level, on average at most
CHILDREN_KEPT = 1 / 64  # fraction of the children of a prefix that noise alone keeps at later levels
MARGIN = 2.5  # standard deviations below the threshold down to which a prefix is kept
FALSE_ITEMS = 0.01  # items that noise alone is expected to publish, at most
_LEAST_SHARE = 0.02
# Each level asks on average at least this many holders of an item at the threshold; with fewer, chance could
# miss them all.
_LEAST_HOLDERS = 32
_MOST_PREFIX_SHARE = 0.5
_NODES_BITS = 24  # about 2^24 tagged prefixes are tried at the first level
MOST_TAG_BITS = 10


@dataclass(frozen=True, slots=True)
class Level:
    """One question: the top `bits` bits of an item, with a tag unless they are the whole item."""

    bits: int
    tag_bits: int
    rows: int
    cell_bits: int
    share: float
    candidates: float  # tried at this level, on average at most


@dataclass(frozen=True, slots=True)
class TreePlan:
    """What TreeHist asks, and what it can find."""

    users: int
    law: ResponseLaw
    symbol_bits: int
    levels: tuple[Level, ...]
    threshold: float
    least_detectable: float

    @property
    def deviation(self) -> float:
        """The standard deviation of the estimate of an item that nobody holds."""
        return math.sqrt(self.users * self.law.absent)

    @property
    def memory(self) -> int:
        """Most bytes that the aggregator needs when all users have reported and it answers.

        A cell takes 16 bytes (table, transform and a copy of it), a report 9 and its nonce in the set 27.
        """
        cells = sum(level.rows << level.cell_bits for level in self.levels)
        return 16 * cells + 36 * self.users

    @property
    def shares(self) -> tuple[int, ...]:
        """The shares of the levels: integers that sum to 2^32."""
        whole = [int(level.share * ALL_SHARES) for level in self.levels[:-1]]
        return (*whole, ALL_SHARES - sum(whole))

    def quality(self, counts: Sequence[float], threshold: float | None = None) -> Quality:
        """Return the expected precision and recall if items had these counts, by the normal approximation.

        Precision is the expected number of right items over that of published ones, false ones included.
        """
        limit = self.threshold if threshold is None else threshold
        chances = [self.chance_of(count, limit) for count in counts]
        wanted = [chance for count, chance in zip(counts, chances, strict=True) if count >= limit]
        published = math.fsum(chances) + FALSE_ITEMS
        right = math.fsum(wanted)
        return Quality(right / published, right / len(wanted) if wanted else 1.0, published, len(wanted))

    def chance_of(self, count: float, threshold: float | None = None) -> float:
        """Return the probability that an item with this count is published at a threshold."""
        limit = max(self.threshold if threshold is None else threshold, self.noise_limit)
        chance = above((limit - count) / math.sqrt(self.law.variance(count, self.users, self.users)))
        for level in self.levels[:-1]:
            asked = level.share * self.users
            kept = limit - MARGIN * math.sqrt(self.law.variance(0.0, self.users, asked))
            chance *= above((kept - count) / math.sqrt(self.law.variance(count, self.users, asked)))
        return chance

    @property
    def noise_limit(self) -> float:
        """The estimate below which nothing is published, because noise alone would reach it too often."""
        return self.deviation * upper_quantile(FALSE_ITEMS / self.levels[-1].candidates)


def choose_cuts(width: int, symbol_bits: int) -> tuple[int, ...]:
    """Return where the levels end: about 15 bits first and last, 10 between, at ends of symbols if possible.

    >>> choose_cuts(30, 5), choose_cuts(60, 5), choose_cuts(20, 1), choose_cuts(72, 9)
    ((15, 30), (15, 25, 35, 45, 60), (20,), (18, 27, 36, 45, 54, 63, 72))
    """
    if width <= WIDEST_TABLE:
        return (width,)
    unit = symbol_bits if symbol_bits <= 10 else 1
    first = 15 // unit * unit
    cuts = [first if first >= 12 else max(18 // unit * unit, unit)]
    while width - cuts[-1] > 15 // unit * unit:
        cuts.append(cuts[-1] + 10 // unit * unit)
    return (*cuts, width)


def plan_tree(
    encoding: Encoding,
    epsilon: float | str,
    users: int,
    *,
    threshold: float | None = None,
    symbol_bits: int | None = None,
) -> TreePlan:
    """Return the plan of a campaign.

    Parameters
    ----------
    encoding:
        How items become integers.
    epsilon:
        Privacy loss of one report.
    users:
        About how many users will report.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response; by default those of the smallest variance.
    """
    text = epsilon_text(epsilon)
    bits = best_symbol_bits(float(text)) if symbol_bits is None else check_symbol_bits(symbol_bits)
    law = ResponseLaw(1 << bits, response_probability(text, bits) / ONE)
    people = check_count("users", users)
    cuts = choose_cuts(encoding.width, encoding.symbol_bits)
    needs = _needs(encoding, cuts)
    deviation = math.sqrt(people * law.absent)
    last = MARGIN + upper_quantile(FALSE_ITEMS / needs[-1].candidates)
    pruning = math.sqrt(sum(need.deviations**2 for need in needs[:-1]))
    least = deviation * max(last, pruning / math.sqrt(_MOST_PREFIX_SHARE))
    wanted = threshold_of(threshold, least, people)
    levels = _levels(needs, deviation / wanted, _LEAST_HOLDERS / wanted)
    return TreePlan(people, law, bits, levels, wanted, least)


@dataclass(frozen=True, slots=True)
class _Need:
    """A level without its share: how many standard deviations must lie between noise and the threshold."""

    bits: int
    tag_bits: int
    candidates: float
    deviations: float


def _needs(encoding: Encoding, cuts: Sequence[int]) -> list[_Need]:
    """Return what each level needs so that few prefixes are kept by noise alone."""
    valid = [float(min(count_prefixes(encoding, bits), 1 << 1000)) for bits in cuts]
    tag_bits = min(max(math.floor(_NODES_BITS - math.log2(valid[0])), 4), MOST_TAG_BITS)
    needs = []
    candidates = valid[0] * 2**tag_bits
    for level, bits in enumerate(cuts[:-1]):
        kept = min(KEPT / candidates, 0.5) if level == 0 else CHILDREN_KEPT
        deviations = MARGIN + upper_quantile(kept)
        needs.append(_Need(bits, tag_bits, candidates, deviations))
        candidates = 2 * KEPT * valid[level + 1] / valid[level]
    return [*needs, _Need(cuts[-1], 0, valid[-1], 0.0)]


def _levels(needs: Sequence[_Need], relative_deviation: float, sampled: float) -> tuple[Level, ...]:
    """Return levels with shares: enough users for the prefixes of each to stand out (docs/ldp.md, section 4).

    `sampled` is the share that asks enough holders of an item at the threshold, whatever the noise.
    """
    least = max(_LEAST_SHARE / len(needs), min(sampled, _MOST_PREFIX_SHARE / max(len(needs) - 1, 1)))
    levels: list[Level] = []
    enough = [(need.deviations * relative_deviation) ** 2 for need in needs[:-1]]
    fitting = min(_MOST_PREFIX_SHARE / max(sum(enough), 1e-9), 1.0)
    for need, wanted in zip(needs[:-1], enough, strict=True):
        share = max(wanted * fitting, least)
        cell_bits = min(PREFIX_CELL_BITS, need.bits + need.tag_bits - 1)
        levels.append(Level(need.bits, need.tag_bits, PREFIX_ROWS, cell_bits, share, need.candidates))
    last = needs[-1]
    direct = last.bits <= WIDEST_TABLE
    rows, cell_bits = (1, last.bits) if direct else (ITEM_ROWS, CELL_BITS)
    return (
        *levels,
        Level(last.bits, 0, rows, cell_bits, 1 - sum(level.share for level in levels), last.candidates),
    )
