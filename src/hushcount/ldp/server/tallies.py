"""The tables of a campaign: each question has one per row, to which every report of that row is added.

That the tables estimate counts is shown in docs/ldp.md. Checked by: tests/statistical/test_ldp_oracle.py
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushcount.ldp._kernels import blake2s
from hushcount.ldp._kernels import tally as kernels
from hushcount.ldp._kernels.transform import walsh_hadamard
from hushcount.ldp.arrays import Cells, Counts, Nonces, Symbols, Tables
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.law import ResponseLaw
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import PublicRandomness
from hushcount.ldp.wire.questions import CodeBit, Question, QuestionPlace


def positions_of(question: Question) -> int:
    """Return how many tables a row has: one for each bit of a codeword, otherwise one."""
    return len(question.columns) if isinstance(question, CodeBit) else 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the tables of a group are: table t is cells offsets[t] .. offsets[t + 1] - 1 of one array."""

    rows: Counts
    positions: Counts
    first_table: Counts
    offsets: Counts
    cumulative: Counts

    @classmethod
    def of(cls, group: Group) -> Layout:
        """Return the layout of a group: question by question, row by row, position by position."""
        rows = np.array([question.rows for question in group.questions], np.int64)
        positions = np.array([positions_of(question) for question in group.questions], np.int64)
        tables = rows * positions
        sizes = np.repeat([1 << question.cell_bits for question in group.questions], tables)
        return cls(
            rows,
            positions,
            np.cumsum(tables) - tables,
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            np.array(group.cumulative, np.int64),
        )

    @property
    def tables(self) -> int:
        """The number of tables."""
        return len(self.offsets) - 1


class GroupTallies:
    """The tables of one group of questions."""

    __slots__ = ("_cells", "_reports", "_signs", "_state", "group", "index", "layout", "public", "width")

    def __init__(self, manifest: Manifest, index: int) -> None:
        self.index = index
        self.group = manifest.groups[index]
        self.public: PublicRandomness = manifest.public
        self.width = manifest.encoding.width
        self.layout = Layout.of(self.group)
        self._state = blake2s.key_state(manifest.seed)
        self._signs = _signs(self.group.symbols)
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
        slots, masks = derive(self.index, self.group, self.layout, self._state, nonces)
        order, starts = order_by_table(slots, self.layout.tables)
        kernels.tally(order, starts, (masks, symbols), self._signs, (self.layout.offsets, self._cells))
        self._reports += np.diff(starts)

    def _make_room(self, coming: int) -> None:
        """Widen the cells before they can overflow: a cell is at most q - 1 times the number of reports."""
        most = (int(self._reports.sum()) + coming) * (self.group.symbols - 1)
        if most >= 1 << 31 and self._cells.dtype != np.int64:
            self._cells = self._cells.astype(np.int64)
            self._signs = self._signs.astype(np.int64)

    def question(self, number: int) -> QuestionTallies:
        """Return the tables of one question."""
        layout = self.layout
        first = int(layout.first_table[number])
        last = first + int(layout.rows[number] * layout.positions[number])
        cells = self._cells[layout.offsets[first] : layout.offsets[last]]
        return QuestionTallies(
            self.group.questions[number],
            QuestionPlace(self.public, self.width, self.index, number, 0, 0),
            ResponseLaw.of(self.group),
            self._reports[first:last],
            cells.reshape(last - first, -1),
        )

    def questions(self) -> list[QuestionTallies]:
        """Return the tables of every question."""
        return [self.question(number) for number in range(len(self.group.questions))]


@dataclass(frozen=True)
class QuestionTallies:
    """The tables of one question, as decoders get them.

    `tables[row * positions + position]` is the table T of docs/ldp.md, section 2; `table_reports` counts the
    reports that were added to each.
    """

    question: Question
    place: QuestionPlace  # of row 0
    law: ResponseLaw
    table_reports: Counts
    tables: Tables

    @property
    def reports(self) -> int:
        """The number of reports that answered the question."""
        return int(self.table_reports.sum())

    def at(self, table: int) -> QuestionPlace:
        """Return the place of a table."""
        positions = positions_of(self.question)
        row, position = divmod(table, positions)
        return self.place._replace(row=row, extra=(position << 32) // positions)

    @cached_property
    def matches(self) -> Counts:
        """The matches of each table and cell c: the sum over its reports of q [y = answer of c] - 1."""
        transformed = self.tables.astype(np.int64)
        for table, reports in zip(transformed, self.table_reports.tolist(), strict=True):
            if reports:  # an empty table stays zero
                walsh_hadamard(table)
        return transformed


def derive(
    index: int, group: Group, layout: Layout, state: npt.NDArray[np.uint32], nonces: Nonces
) -> tuple[npt.NDArray[np.int32], Cells]:
    """Return the table and the masks that public randomness assigns to every nonce."""
    slots = np.empty(len(nonces), np.int32)
    masks = np.empty((len(nonces), group.symbol_bits), np.uint32)
    asked = (layout.cumulative, layout.rows, layout.positions, layout.first_table)
    kernels.derive(state, index, nonces, asked, (slots, masks))
    return slots, masks


def order_by_table(slots: npt.NDArray[np.int32], tables: int) -> tuple[npt.NDArray[np.int32], Counts]:
    """Return the reports ordered by table, and where those of each table begin."""
    order = np.empty(len(slots), np.int32)
    starts = np.empty(tables + 1, np.int64)
    kernels.order_by_table(slots, starts, order)
    return order, starts


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
