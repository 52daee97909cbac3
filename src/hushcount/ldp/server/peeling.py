"""From candidates to counts: take out of each estimate what other accepted items put into the same cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushcount.ldp.arrays import Counts, Floats, ItemWords
from hushcount.ldp.server.cells import cut, to_words
from hushcount.ldp.server.frequency import FrequencyOracle, cells_in_tables, collision_chance, matches_of
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.law import OracleError
from hushcount.ldp.wire.tagged_prefix import TaggedPrefix

_STEPS = 3  # the background follows from the counts; a few steps settle both


def peel(
    oracle: FrequencyOracle, candidates: Sequence[int], limit: float
) -> tuple[list[int], Floats, OracleError]:
    """Items whose estimate reaches the limit, largest first, and the error of their counts.

    Candidates are accepted from the largest estimate down; each is taken out of the estimates of the others.
    The counts of the accepted are then solved for together, and what falls below the limit is left out.
    """
    cells = _SharedCells(oracle, to_words(candidates, oracle.tallies[0].place.width))
    kept = cells.accept(limit)
    kept = kept[cells.solve(kept) >= limit]
    counts = cells.solve(kept)
    order = np.argsort(-counts, kind="stable")
    rest = max(oracle.users - float(counts.sum()), 0.0)
    return [candidates[i] for i in kept[order]], counts[order], oracle.error(second_moment=rest * limit)


class _Siblings:
    """At one level: items with the same prefix; one in 2^tag_bits shares the tag and so the cells."""

    def __init__(self, oracle: FrequencyOracle, tally: QuestionTallies, words: ItemWords) -> None:
        question = tally.question
        assert isinstance(question, TaggedPrefix)
        self.part = oracle.weight(tally) * 2.0**-question.tag_bits
        self.prefix_counts = oracle.prefix_counts(tally, words)
        prefixes = cut(words, tally.place.width - question.bits, question.bits)
        self.same: Counts = np.unique(prefixes, axis=0, return_inverse=True)[1].reshape(-1)

    def background(self, counts: Floats, kept: Counts) -> Floats:
        """What users with the same prefix, and no kept item, add on average to the kept items."""
        own = np.bincount(self.same[kept], weights=counts, minlength=len(self.same))
        return np.asarray(self.part * np.maximum(self.prefix_counts - own[self.same], 0.0)[kept], np.float64)


class _SharedCells:
    """Raw estimates of candidates, and the tables in which they share cells."""

    def __init__(self, oracle: FrequencyOracle, words: ItemWords) -> None:
        self.users = oracle.users
        self.raw: Floats = np.zeros(len(words))
        self.chance = 0.0
        cells, weights = [], []
        for tally in oracle.tallies:
            weight = oracle.weight(tally)
            self.raw += weight * oracle.scaled(tally, matches_of(tally, words))
            self.chance += weight * collision_chance(tally)
            cells.append(cells_in_tables(tally, words))
            weights += [weight / len(tally.tables)] * len(tally.tables)
        self.cells = np.concatenate(cells)
        self.weights = np.array(weights)
        self.siblings = [
            _Siblings(oracle, tally, words)
            for tally in oracle.tallies
            if isinstance(tally.question, TaggedPrefix) and len(words)
        ]

    def overlap(self, item: int) -> Floats:
        """The part of an item's count that lies in the cells of every candidate; all of it in its own."""
        return np.asarray(self.weights @ (self.cells == self.cells[:, item, None]), np.float64)

    def accept(self, limit: float) -> Counts:
        """Candidates from the largest estimate down to the limit, each taken out of the others."""
        waiting = self.raw - self.chance * self.users
        kept: list[int] = []
        while len(waiting):
            best = int(np.argmax(waiting))
            count = float(waiting[best])
            if count < limit:
                break
            kept.append(best)
            waiting -= count * self.overlap(best)
            waiting[best] = -np.inf
        return np.array(kept, np.int64)

    def solve(self, kept: Counts) -> Floats:
        """The counts of the kept candidates if they are all the items that stand out."""
        overlap = np.stack([self.overlap(item)[kept] for item in kept]) if len(kept) else np.empty((0, 0))
        counts: Floats = self.raw[kept]
        for _ in range(_STEPS):
            rest = max(self.users - float(counts.sum()), 0.0)
            background: Floats = np.full(len(kept), self.chance * rest)
            for level in self.siblings:
                background += level.background(counts, kept)
            counts = np.asarray(np.linalg.solve(overlap, self.raw[kept] - background), np.float64)
        return counts
