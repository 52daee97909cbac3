"""What the reports of a campaign say about given items, all questions together.

Each question of Bitstogram can estimate the count of any item by itself: a report either matches the answer
that the item would give, or not. All responses have the same distribution, so the estimator of the smallest
variance weights them equally: it is the sum of all matches. Its variance is as if every user had been asked
about whole items, whatever the shares. The last question finds no items, so it can check what the others
found with data that had no part in finding it. Formulas: docs/ldp-bitstogram.md, sections 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Cells, Counts, Floats, Floats32, ItemWords, Signs
from hushcount.ldp._kernels import bitstogram as kernels
from hushcount.ldp.server.frequency import FrequencyOracle, locate
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.questions import Chunk
from hushcount.ldp.wire.response import OracleError, ResponseDistribution


@dataclass(frozen=True, slots=True)
class Located:
    """Items (rows of words) with their cell and sign in every table."""

    words: ItemWords
    cells: Cells
    signs: Signs

    def __len__(self) -> int:
        return len(self.words)

    def take(self, which: npt.NDArray[np.integer]) -> Located:
        """Return the chosen items in the given order."""
        return Located(self.words[which], self.cells[which], self.signs[which])

    def join(self, other: Located) -> Located:
        """Return these items, then the others."""
        return Located(
            np.concatenate([self.words, other.words]),
            np.concatenate([self.cells, other.cells]),
            np.concatenate([self.signs, other.signs]),
        )


class Evidence:
    """The matches of all questions of a group; the last question is the check."""

    __slots__ = ("matches", "removed", "reports", "response", "tallies", "weights")

    def __init__(self, tallies: Sequence[QuestionTallies]) -> None:
        self.tallies = list(tallies)
        self.response: ResponseDistribution = tallies[0].response
        self.matches = [question.matches.astype(np.float32) for question in tallies]
        shares = np.concatenate([question.table_reports for question in tallies]).astype(np.float64)
        self.reports = int(shares.sum())
        self.removed = 0.0
        last = np.concatenate([np.full(len(t.table_reports), t is tallies[-1]) for t in tallies])
        check = np.where(last, shares, 0)
        self.weights: Floats = np.stack([shares / self.reports, check / max(check.sum(), 1)], axis=1)

    def locate(self, words: ItemWords) -> Located:
        """Return where items lie in every table."""
        cells, signs = locate(self.tallies, words)
        return Located(words, np.ascontiguousarray(cells.T), np.ascontiguousarray(signs.T))

    def estimates(self, located: Located) -> Floats:
        """Return for each item the estimate from all reports, and that from the last question alone."""
        sums = np.zeros((len(located), 2))
        table = 0
        for tallies, matches in zip(self.tallies, self.matches, strict=True):
            tables = slice(table, table + len(matches))
            sums[:, 1] = self._sum(tallies, matches, located.cells[:, tables], located.signs[:, tables])
            sums[:, 0] += sums[:, 1]
            table += len(matches)
        sums[:, 1] *= self.reports / max(self.tallies[-1].reports, 1)
        return sums / self.response.gain

    def check(self, words: ItemWords) -> Floats:
        """Return the estimates of items from the reports of the last question alone."""
        cells, signs = locate(self.tallies[-1:], words)
        sums = self._sum(self.tallies[-1], self.matches[-1], cells.T, signs.T)
        return sums * (self.reports / max(self.tallies[-1].reports, 1) / self.response.gain)

    def estimates_of(self, number: int, buckets: Counts | None = None) -> Floats32:
        """Return the estimates of one question for all or some buckets, by [table, bucket, value]."""
        scale = self.reports / max(self.tallies[number].reports, 1) / self.response.gain
        matches = self.matches[number]
        by_bucket = matches.reshape(len(matches), -1, 1 << self._value_bits(number))
        chosen: Floats32 = by_bucket if buckets is None else by_bucket[:, buckets]
        return chosen * np.float32(scale)

    def buckets(self, located: Located) -> Counts:
        """Return the buckets of items, by the first question."""
        found: Counts = np.unique(located.cells[:, 0] >> self._value_bits(0)).astype(np.int64)
        return found

    def _value_bits(self, number: int) -> int:
        """Return how many bits of a cell are a value beside its bucket."""
        asked = self.tallies[number].question
        return asked.bits if isinstance(asked, Chunk) else 0

    def _sum(self, tallies: QuestionTallies, matches: Floats32, cells: Cells, signs: Signs) -> Floats:
        """Return the matches of items with one question, less those that other items add on average."""
        total = np.full(len(cells), -self._others(tallies))
        for table, row in enumerate(matches):
            total += row[cells[:, table]] * signs[:, table]
        return total

    def _others(self, tallies: QuestionTallies) -> float:
        """Return the matches that other items add to a cell on average; signs cancel them out."""
        left = max(self.reports - self.removed, 0) / self.reports
        return tallies.reports * left * self.response.gain * tallies.question.background

    def deviation_of(self, number: int, count: float) -> float:
        """Return the standard deviation of an estimate from one question's reports; infinite without any."""
        asked, inside = self.tallies[number].reports, min(count, self.reports)
        return math.sqrt(self.response.variance(inside, self.reports, asked)) if asked else math.inf

    def error(self, threshold: float) -> OracleError:
        """Return the error of an estimate from all reports, once items above the threshold are subtracted."""
        hidden = max(self.reports - self.removed, 0.0) * threshold  # most that squares of counts can sum to
        return FrequencyOracle(self.tallies, self.reports).error(hidden)

    def peel(self, located: Located, limits: tuple[float, float]) -> tuple[Counts, Floats]:
        """Return the places of accepted items, from the largest estimate down, and their estimates."""
        estimates = self.estimates(located)
        accepted = np.full(len(located), -1, np.int64)
        places = (located.cells, located.signs)
        kernels.peel(places, self.weights, estimates, np.array(limits), accepted)
        order = np.argsort(accepted)[np.count_nonzero(accepted < 0) :]
        return order, estimates[order, 0]

    def remove(self, located: Located, counts: Floats) -> None:
        """Subtract items with their counts from all tables."""
        self.removed += float(counts.sum())
        table = 0
        for question, matches in zip(self.tallies, self.matches, strict=True):
            for row, reports in zip(matches, question.table_reports, strict=True):
                expected = counts * (reports / self.reports * self.response.gain)
                np.subtract.at(row, located.cells[:, table], expected * located.signs[:, table])
                table += 1

    def settle(self, located: Located) -> Floats:
        """Solve for what the removed counts of all items lack, remove it too, and return it."""
        overlap = np.zeros((len(located), len(located)), np.float32)
        for table, weight in enumerate(self.weights[:, 0].astype(np.float32)):
            cells, signs = located.cells[:, table], located.signs[:, table]
            overlap += (cells[:, None] == cells) * (signs[:, None] * signs) * weight
        left = self.estimates(located)[:, 0]
        missing: Floats = np.asarray(np.linalg.solve(overlap.astype(np.float64), left), np.float64)
        self.remove(located, missing)
        return missing
