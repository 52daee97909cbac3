"""The frequency oracle: unbiased estimates of the counts of any items, from the matches of their cells.

Estimates pool the reports of several questions of one group, weighted by how many answered each. Every report
has the same noise, so no other weights have a smaller variance. `peel` subtracts from each estimate what
accepted items add to the same cells.
Formulas: docs/ldp.md, sections 2 and 3. Checked by: tests/statistical/test_ldp_oracle.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Cells, Counts, Floats, ItemWords, Signs
from hushcount.ldp.server.tallies import QuestionTallies, cells_of, cut, hashed, put_on_top, to_words
from hushcount.ldp.wire.public_randomness import CELL
from hushcount.ldp.wire.questions import TaggedPrefix
from hushcount.ldp.wire.response import OracleError

_STEPS = 3  # background and counts depend on each other; a few steps determine both


class FrequencyOracle:
    """Estimates of counts among `users` users from the tables of one or more questions of a group."""

    __slots__ = ("asked", "response", "tallies", "users")

    def __init__(self, tallies: Sequence[QuestionTallies], users: int) -> None:
        self.tallies = tuple(tally for tally in tallies if tally.reports)
        self.users = users
        self.asked = sum(tally.reports for tally in self.tallies)
        self.response = tallies[0].response

    def estimate(self, values: Iterable[int]) -> Floats:
        """Return estimates of the counts of encoded items, unbiased on average over the hashes."""
        words = to_words(values, self.tallies[0].place.width)
        return self.estimate_words(words)

    def estimate_words(self, words: ItemWords) -> Floats:
        """Return the same for items as rows of 32-bit words."""
        total = np.zeros(len(words))
        for tally in self.tallies:
            total += self.weight(tally) * self._unbiased(tally, words)
        return total

    def weight(self, tally: QuestionTallies) -> float:
        """Return the fraction of the reports that answered a question."""
        return tally.reports / self.asked

    def scaled(self, tally: QuestionTallies, matches: npt.NDArray[np.integer]) -> Floats:
        """Return matches as counts among all users, other items in the same cells included."""
        return np.asarray(matches * (self.users / (tally.reports * tally.response.gain)), np.float64)

    def _unbiased(self, tally: QuestionTallies, words: ItemWords) -> Floats:
        """Return estimates from one question, less what other items add on average."""
        raw = self.scaled(tally, matches_of(tally, words).sum(axis=0))
        chance = tally.question.collision_chance
        if isinstance(tally.question, TaggedPrefix):
            sharing = 2.0**-tally.question.tag_bits
            prefix = self.prefix_counts(tally, words)
            raw = (raw - chance * self.users - (1 - chance) * sharing * prefix) / (1 - sharing)
            return np.asarray(raw / (1 - chance), np.float64)
        return np.asarray((raw - chance * self.users) / (1 - chance), np.float64)

    def prefix_counts(self, tally: QuestionTallies, words: ItemWords) -> Floats:
        """Return estimates of how many users have the prefix of each item, summed over all tags."""
        question = tally.question
        assert isinstance(question, TaggedPrefix)
        prefixes = cut(words, tally.place.width - question.bits, question.bits, room=question.tag_bits)
        distinct, inverse = np.unique(prefixes, axis=0, return_inverse=True)
        tags = np.tile(np.arange(1 << question.tag_bits, dtype=np.uint32), len(distinct))
        keys = np.repeat(distinct, 1 << question.tag_bits, axis=0)
        put_on_top(keys, question.bits, tags)
        matches = key_matches(tally, keys).reshape(len(distinct), -1).sum(axis=1)
        chance = tally.question.collision_chance
        raw = self.scaled(tally, matches) - chance * self.users * 2**question.tag_bits
        return np.asarray((raw / (1 - chance))[inverse.reshape(-1)], np.float64)

    def error(self, second_moment: float = 0.0) -> OracleError:
        """Return the error of an estimate; `second_moment` is the sum of squares of the other counts."""
        collisions = sum(
            self.weight(tally) ** 2 * tally.question.collision_chance / tally.question.tables
            for tally in self.tallies
        )
        return OracleError(self.response, self.users, self.asked, second_moment * collisions)


def locate(tallies: Sequence[QuestionTallies], words: ItemWords) -> tuple[Cells, Signs]:
    """Return the cell and the sign of every item in every table of some questions: [table, item]."""
    tables = [(tally, table) for tally in tallies for table in range(tally.question.tables)]
    pairs = [cells_of(tally.question, tally.at(table), words) for tally, table in tables]
    flips = np.stack([flips for _, flips in pairs])
    return np.stack([cells for cells, _ in pairs]), 1 - 2 * flips.astype(np.int8)


def matches_of(tally: QuestionTallies, words: ItemWords) -> Counts:
    """Return the matches of every item in every table of a question, with its signs: [table, item]."""
    cells, signs = locate([tally], words)
    return np.take_along_axis(tally.matches, cells.astype(np.int64), axis=1) * signs


def key_matches(tally: QuestionTallies, keys: ItemWords) -> Counts:
    """Return the matches of tagged prefixes, summed over the rows."""
    total = np.zeros(len(keys), np.int64)
    for row in range(tally.question.rows):
        total += tally.matches[row, hashed(tally.at(row), CELL, keys, tally.question.cell_bits)]
    return total


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
        self.cells, _ = locate(oracle.tallies, words)
        weights = []
        for tally in oracle.tallies:
            weight = oracle.weight(tally)
            self.raw += weight * oracle.scaled(tally, matches_of(tally, words).sum(axis=0))
            self.chance += weight * tally.question.collision_chance
            weights += [weight / len(tally.tables)] * len(tally.tables)
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
