"""From candidates to counts: subtract from each estimate what accepted items add to the same cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushcount.ldp.arrays import Counts, Floats, ItemWords
from hushcount.ldp.server.cells import cut, to_words
from hushcount.ldp.server.frequency import FrequencyOracle, cells_in_tables, collision_chance, matches_of
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.law import OracleError
from hushcount.ldp.wire.tagged_prefix import TaggedPrefix

_STEPS = 3  # background and counts depend on each other; a few steps determine both


def peel(
    oracle: FrequencyOracle, candidates: Sequence[int], limit: float
) -> tuple[list[int], Floats, OracleError]:
    """Return the items whose estimate reaches the limit, largest first, their counts and the error of these.

    Candidates are accepted from the largest estimate down, and each is subtracted from the estimates of the
    others. Then the counts of all accepted items are solved for together, and those below the limit left out.
    """
    cells = _SharedCells(oracle, to_words(candidates, oracle.tallies[0].place.width))
    kept = cells.accept(limit)
    kept = kept[cells.solve(kept) >= limit]
    counts = cells.solve(kept)
    order = np.argsort(-counts, kind="stable")
    rest = max(oracle.users - float(counts.sum()), 0.0)
    return [candidates[i] for i in kept[order]], counts[order], oracle.error(second_moment=rest * limit)


class _Siblings:
    """Items with the same prefix at one level; one in 2^tag_bits of them shares the tag, and so the cells."""

    def __init__(self, oracle: FrequencyOracle, tally: QuestionTallies, words: ItemWords) -> None:
        question = tally.question
        assert isinstance(question, TaggedPrefix)
        self.part = oracle.weight(tally) * 2.0**-question.tag_bits
        self.prefix_counts = oracle.prefix_counts(tally, words)
        prefixes = cut(words, tally.place.width - question.bits, question.bits)
        self.same: Counts = np.unique(prefixes, axis=0, return_inverse=True)[1].reshape(-1)

    def background(self, counts: Floats, kept: Counts) -> Floats:
        """Return what users with the same prefix but no kept item add on average to the kept items."""
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
        """Return the fraction of an item's count that lies in the cells of each candidate; in its own, 1."""
        return np.asarray(self.weights @ (self.cells == self.cells[:, item, None]), np.float64)

    def accept(self, limit: float) -> Counts:
        """Return the candidates from the largest estimate down to the limit, each peeled off the others."""
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
        """Return the counts of the kept candidates, if no other items stand out."""
        overlap = np.stack([self.overlap(item)[kept] for item in kept]) if len(kept) else np.empty((0, 0))
        counts: Floats = self.raw[kept]
        for _ in range(_STEPS):
            rest = max(self.users - float(counts.sum()), 0.0)
            background: Floats = np.full(len(kept), self.chance * rest)
            for level in self.siblings:
                background += level.background(counts, kept)
            counts = np.asarray(np.linalg.solve(overlap, self.raw[kept] - background), np.float64)
        return counts
