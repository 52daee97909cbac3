"""What the reports of a campaign say about given items, all questions together.

Each question of Bitstogram is an estimator of any item's count by itself: a report either matches the answer
that the item would give to its question, or not. All reports answer with the same law, so the estimator of
least variance takes them all alike: the sum of all matches. It has the variance of an oracle that was asked
of every user, whatever the shares are. The last question, which finds no items, checks what the others
found with data that had no part in finding it. Formulas: docs/ldp-bitstogram.md, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.ldp._kernels import combine as kernels
from hushcount.ldp.arrays import Cells, Counts, Floats, Floats32, ItemWords, Signs
from hushcount.ldp.server.cells import cells_of
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.law import OracleError, ResponseLaw


@dataclass(frozen=True, slots=True)
class Located:
    """Items (rows of words) with their cell and sign in every table."""

    words: ItemWords
    cells: Cells
    signs: Signs

    def __len__(self) -> int:
        return len(self.words)

    def take(self, which: npt.NDArray[np.integer]) -> Located:
        """Some of the items, in the order asked for."""
        return Located(self.words[which], self.cells[which], self.signs[which])

    def join(self, other: Located) -> Located:
        """These items, then the others."""
        return Located(
            np.concatenate([self.words, other.words]),
            np.concatenate([self.cells, other.cells]),
            np.concatenate([self.signs, other.signs]),
        )


class Evidence:
    """The matches of all questions of a group; the last question is the check."""

    __slots__ = ("law", "matches", "removed", "reports", "tallies", "weights")

    def __init__(self, tallies: Sequence[QuestionTallies]) -> None:
        self.tallies = list(tallies)
        self.law: ResponseLaw = tallies[0].law
        self.matches = [question.matches.astype(np.float32) for question in tallies]
        shares = np.concatenate([question.table_reports for question in tallies]).astype(np.float64)
        self.reports = int(shares.sum())
        self.removed = 0.0
        last = np.concatenate([np.full(len(t.table_reports), t is tallies[-1]) for t in tallies])
        check = np.where(last, shares, 0)
        self.weights: Floats = np.stack([shares / self.reports, check / max(check.sum(), 1)], axis=1)

    def locate(self, words: ItemWords) -> Located:
        """Where items lie in every table."""
        return _located(self.tallies, words)

    def estimates(self, located: Located) -> Floats:
        """For each item the estimate from all reports, and the one from the last question's alone."""
        sums = np.zeros((len(located), 2))
        table = 0
        for tallies, matches in zip(self.tallies, self.matches, strict=True):
            tables = slice(table, table + len(matches))
            sums[:, 1] = self._sum(tallies, matches, located.cells[:, tables], located.signs[:, tables])
            sums[:, 0] += sums[:, 1]
            table += len(matches)
        sums[:, 1] *= self.reports / max(self.tallies[-1].reports, 1)
        return sums / self.law.gain

    def check(self, words: ItemWords) -> Floats:
        """The estimate of items from the last question's reports alone."""
        located = _located(self.tallies[-1:], words)
        sums = self._sum(self.tallies[-1], self.matches[-1], located.cells, located.signs)
        return sums * (self.reports / max(self.tallies[-1].reports, 1) / self.law.gain)

    def estimates_of(self, number: int, buckets: Counts | None = None) -> Floats32:
        """The estimates of one question for all or some buckets: [table, bucket, value], tables add up."""
        scale = self.reports / max(self.tallies[number].reports, 1) / self.law.gain
        matches = self.matches[number]
        by_bucket = matches.reshape(len(matches), -1, 1 << self._value_bits(number))
        chosen: Floats32 = by_bucket if buckets is None else by_bucket[:, buckets]
        return chosen * np.float32(scale)

    def buckets(self, located: Located) -> Counts:
        """The buckets that items lie in, by the first question."""
        found: Counts = np.unique(located.cells[:, 0] >> self._value_bits(0)).astype(np.int64)
        return found

    def _value_bits(self, number: int) -> int:
        """Bits of a cell that are a value beside its bucket."""
        asked = self.tallies[number].question
        return asked.cell_bits - getattr(asked, "bucket_bits", asked.cell_bits)

    def _sum(self, tallies: QuestionTallies, matches: Floats32, cells: Cells, signs: Signs) -> Floats:
        """Matches of items with one question, less those of strangers."""
        total = np.full(len(cells), -self._strangers(tallies))
        for table, row in enumerate(matches):
            total += row[cells[:, table]] * signs[:, table]
        return total

    def _strangers(self, tallies: QuestionTallies) -> float:
        """Matches that a cell expects of other items that are hashed to it; signs cancel them out."""
        asked = tallies.question
        if asked.flips or len(self.tallies) == 1:
            return 0.0
        left = max(self.reports - self.removed, 0) / self.reports
        return tallies.reports * left * self.law.gain / (1 << asked.cell_bits)

    def deviation_of(self, number: int, count: float) -> float:
        """The standard deviation of an estimate from one question's reports; infinite without any."""
        asked, inside = self.tallies[number].reports, min(count, self.reports)
        return math.sqrt(self.law.variance(inside, self.reports, asked)) if asked else math.inf

    def error(self, threshold: float) -> OracleError:
        """The error of an estimate from all reports, once items above the threshold are out of the tables."""
        hidden = max(self.reports - self.removed, 0.0) * threshold  # of squares of counts, at most
        chance = 0.0
        for tallies in self.tallies if len(self.tallies) > 1 else ():
            weight = tallies.reports / self.reports
            chance += weight**2 / (len(tallies.table_reports) << tallies.question.cell_bits)
        return OracleError(self.law, self.reports, self.reports, hidden * chance)

    def peel(self, located: Located, limits: tuple[float, float]) -> tuple[Counts, Floats]:
        """The places of accepted items, from the largest estimate down, and their estimates."""
        estimates = self.estimates(located)
        accepted = np.full(len(located), -1, np.int64)
        places = (located.cells, located.signs)
        kernels.peel(places, self.weights, estimates, np.array(limits), accepted)
        order = np.argsort(accepted)[np.count_nonzero(accepted < 0) :]
        return order, estimates[order, 0]

    def remove(self, located: Located, counts: Floats) -> None:
        """Take items with their counts out of all tables."""
        self.removed += float(counts.sum())
        table = 0
        for question, matches in zip(self.tallies, self.matches, strict=True):
            for row, reports in zip(matches, question.table_reports, strict=True):
                expected = counts * (reports / self.reports * self.law.gain)
                np.subtract.at(row, located.cells[:, table], expected * located.signs[:, table])
                table += 1

    def settle(self, located: Located) -> Floats:
        """Remove what is missing in the counts that were removed, from all items at once, and return it."""
        overlap = np.zeros((len(located), len(located)), np.float32)
        for table, weight in enumerate(self.weights[:, 0].astype(np.float32)):
            cells, signs = located.cells[:, table], located.signs[:, table]
            overlap += (cells[:, None] == cells) * (signs[:, None] * signs) * weight
        left = self.estimates(located)[:, 0]
        missing: Floats = np.asarray(np.linalg.solve(overlap.astype(np.float64), left), np.float64)
        self.remove(located, missing)
        return missing


def _located(tallies: list[QuestionTallies], words: ItemWords) -> Located:
    pairs = [
        cells_of(question.question, question.at(table), words)
        for question in tallies
        for table in range(len(question.table_reports))
    ]
    cells = np.stack([cells for cells, _ in pairs], axis=1)
    flips = np.stack([flips for _, flips in pairs], axis=1)
    return Located(words, cells, 1 - 2 * flips.astype(np.int8))
