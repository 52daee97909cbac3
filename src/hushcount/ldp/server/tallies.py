"""The tables of a campaign: each question has one per row, to which every report of that row is added.

That the tables estimate counts is shown in docs/ldp.md. Checked by: tests/statistical/test_ldp_oracle.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Cells, Counts, Nonces, Symbols, Tables
from hushcount.ldp._kernels import blake2s
from hushcount.ldp._kernels import tally as kernels
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Question, QuestionPlace
from hushcount.ldp.wire.response import ResponseDistribution


class Layout:
    """The tables of one group of questions, and which of them the report of each nonce is added to.

    Table t is cells offsets[t] .. offsets[t + 1] - 1 of one array: question by question, row by row, position
    by position. The tables of question n are first[n] .. first[n + 1] - 1.
    """

    __slots__ = ("_asked", "_state", "first", "group", "index", "manifest", "offsets")

    def __init__(self, manifest: Manifest, index: int) -> None:
        self.manifest = manifest
        self.index = index
        self.group = manifest.groups[index]
        questions = self.group.questions
        rows = np.array([question.rows for question in questions], np.int64)
        positions = np.array([question.positions for question in questions], np.int64)
        self.first = _starts(rows * positions)
        self.offsets = _starts(
            np.repeat([1 << question.cell_bits for question in questions], rows * positions)
        )
        self._asked = (np.array(self.group.cumulative, np.int64), rows, positions, self.first[:-1])
        self._state = blake2s.key_state(manifest.seed)

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.offsets) - 1

    def place(self, number: int) -> QuestionPlace:
        """Return the place of the first table of a question."""
        return QuestionPlace(self.manifest.public, self.manifest.encoding.width, self.index, number, 0, 0)

    def deal(self, nonces: Nonces) -> tuple[npt.NDArray[np.int32], Counts, Cells]:
        """Return the nonces' places ordered by table, where those of each table begin, and all masks."""
        slots, order = np.empty(len(nonces), np.int32), np.empty(len(nonces), np.int32)
        masks = np.empty((len(nonces), self.group.symbol_bits), np.uint32)
        starts = np.empty(self.tables + 1, np.int64)
        kernels.derive(self._state, self.index, nonces, self._asked, (slots, masks))
        kernels.order_by_table(slots, starts, order)
        return order, starts, masks


def _starts(sizes: Counts) -> Counts:
    """Return where each of some pieces begins that lie one after the other, and where the last ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


class GroupTallies:
    """The tables of one group of questions."""

    __slots__ = ("_cells", "_reports", "_signs", "layout")

    def __init__(self, manifest: Manifest, index: int) -> None:
        self.layout = Layout(manifest, index)
        self._signs = _signs(self.layout.group.symbols)
        self._cells: Tables = np.zeros(int(self.layout.offsets[-1]), np.int32)
        self._reports = np.zeros(self.layout.tables, np.int64)

    def add(self, nonces: Nonces, symbols: Symbols) -> None:
        """Add reports whose symbols are those of this group alone, a block at a time."""
        for start in range(0, len(nonces), kernels.BLOCK):
            stop = start + kernels.BLOCK
            self._add(nonces[start:stop], symbols[start:stop])

    def _add(self, nonces: Nonces, symbols: Symbols) -> None:
        """Add one block of reports."""
        self._make_room(len(nonces))
        order, starts, masks = self.layout.deal(nonces)
        kernels.tally(order, starts, (masks, symbols), self._signs, (self.layout.offsets, self._cells))
        self._reports += np.diff(starts)

    def _make_room(self, coming: int) -> None:
        """Widen the cells before they can overflow: a cell is at most q - 1 times the number of reports."""
        most = (int(self._reports.sum()) + coming) * (self.layout.group.symbols - 1)
        if most >= 1 << 31 and self._cells.dtype != np.int64:
            self._cells = self._cells.astype(np.int64)
            self._signs = self._signs.astype(np.int64)

    def question(self, number: int) -> QuestionTallies:
        """Return the tables of one question."""
        layout = self.layout
        first, last = layout.first[number : number + 2].tolist()
        cells = self._cells[layout.offsets[first] : layout.offsets[last]]
        return QuestionTallies(
            layout.group.questions[number],
            layout.place(number),
            layout.group.response,
            self._reports[first:last],
            cells.reshape(last - first, -1),
        )

    def questions(self) -> list[QuestionTallies]:
        """Return the tables of every question."""
        return [self.question(number) for number in range(len(self.layout.group.questions))]


@dataclass(frozen=True)
class QuestionTallies:
    """The tables of one question, as decoders get them.

    `tables[row * positions + position]` is the table T of docs/ldp.md, section 2; `table_reports` counts the
    reports that were added to each.
    """

    question: Question
    place: QuestionPlace  # of row 0
    response: ResponseDistribution
    table_reports: Counts
    tables: Tables

    @property
    def reports(self) -> int:
        """The number of reports that answered the question."""
        return int(self.table_reports.sum())

    def at(self, table: int) -> QuestionPlace:
        """Return the place of a table."""
        return self.question.at(self.place, table)

    @cached_property
    def matches(self) -> Counts:
        """The matches of each table and cell c: the sum over its reports of q [y = answer of c] - 1."""
        transformed = self.tables.astype(np.int64)
        for table, reports in zip(transformed, self.table_reports.tolist(), strict=True):
            if reports:  # an empty table stays zero
                kernels.walsh_hadamard(table)
        return transformed


def _signs(symbols: int) -> Tables:
    """Return (-1)^parity(s & y) at [y, s]."""
    both = np.arange(symbols)[:, None] & np.arange(symbols)
    return np.asarray(1 - 2 * (np.bitwise_count(both) & 1).astype(np.int32), np.int32)


def split_symbols(symbols: Symbols, groups: Sequence[Group]) -> list[Symbols]:
    """Return the symbols of each group; the byte of a report is y_0 + q_0 y_1 + q_0 q_1 y_2 ..."""
    parts = []
    for group in groups:
        parts.append(symbols & np.uint8(group.symbols - 1))
        symbols = symbols >> np.uint8(group.symbol_bits)
    return parts
