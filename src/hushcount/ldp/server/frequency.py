"""The frequency oracle: unbiased estimates of the counts of any items, from the matches of their cells.

Estimates pool the reports of several questions of one group, weighted by how many answered each. Every report
has the same noise, so no other weights have a smaller variance.
Formulas: docs/ldp.md, sections 2 and 3. Checked by: tests/statistical/test_ldp_oracle.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from hushcount.ldp.arrays import Counts, Floats, ItemWords
from hushcount.ldp.server.cells import cells_of, cut, hash_words, put_on_top, to_words
from hushcount.ldp.server.tallies import QuestionTallies, positions_of
from hushcount.ldp.wire.law import OracleError
from hushcount.ldp.wire.public_randomness import CELL
from hushcount.ldp.wire.questions import Prefix
from hushcount.ldp.wire.tagged_prefix import TaggedPrefix


class FrequencyOracle:
    """Estimates of counts among `users` users from the tables of one or more questions of a group."""

    __slots__ = ("asked", "law", "tallies", "users")

    def __init__(self, tallies: Sequence[QuestionTallies], users: int) -> None:
        self.tallies = tuple(tally for tally in tallies if tally.reports)
        self.users = users
        self.asked = sum(tally.reports for tally in self.tallies)
        self.law = tallies[0].law

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
        return np.asarray(matches * (self.users / (tally.reports * tally.law.gain)), np.float64)

    def _unbiased(self, tally: QuestionTallies, words: ItemWords) -> Floats:
        """Return estimates from one question, less what other items add on average."""
        raw = self.scaled(tally, matches_of(tally, words))
        chance = collision_chance(tally)
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
        matches = _key_matches(tally, keys).reshape(len(distinct), -1).sum(axis=1)
        chance = collision_chance(tally)
        raw = self.scaled(tally, matches) - chance * self.users * 2**question.tag_bits
        return np.asarray((raw / (1 - chance))[inverse.reshape(-1)], np.float64)

    def error(self, second_moment: float = 0.0) -> OracleError:
        """Return the error of an estimate; `second_moment` is the sum of squares of the other counts."""
        collisions = sum(
            self.weight(tally) ** 2 * collision_chance(tally) / tally.question.rows for tally in self.tallies
        )
        return OracleError(self.law, self.users, self.asked, second_moment * collisions)


def collision_chance(tally: QuestionTallies) -> float:
    """Return the probability that another key lies in the same cell: 1/m, or 0 if cells are not hashed."""
    question = tally.question
    if isinstance(question, Prefix) and not question.hashed:
        return 0.0
    return 2.0**-question.cell_bits


def cells_in_tables(tally: QuestionTallies, words: ItemWords) -> npt.NDArray[np.uint32]:
    """Return the cell of every item in every table of a question, without flips."""
    return np.stack([cells_of(tally.question, tally.at(t), words)[0] for t in range(len(tally.tables))])


def matches_of(tally: QuestionTallies, words: ItemWords) -> Counts:
    """Return the matches of every item, summed over the tables with the signs of its flips."""
    total = np.zeros(len(words), np.int64)
    for table in range(tally.question.rows * positions_of(tally.question)):
        cells, flips = cells_of(tally.question, tally.at(table), words)
        total += tally.matches[table, cells] * (1 - 2 * flips.astype(np.int64))
    return total


def _key_matches(tally: QuestionTallies, keys: ItemWords) -> Counts:
    """Return the matches of tagged prefixes, summed over the rows."""
    total = np.zeros(len(keys), np.int64)
    for row in range(tally.question.rows):
        place = tally.at(row)
        constants = place.public.constants(CELL, (place.group, place.question, row), 1 + keys.shape[1])
        total += tally.matches[row, hash_words(keys, constants, tally.question.cell_bits)]
    return total
