"""The tables of a campaign, and the cells of items in them.

Each question has a table per row, to which every report of that row is added. Cells and flips of many items
are computed at once, equal to those that the questions themselves compute one by one; a flip is the bit that
inverts the answer of an item. Items are rows of 32-bit words, least significant first.

That the tables estimate counts is shown in docs/ldp.md. Checked by: tests/statistical/test_ldp_oracle.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Cells, Counts, Flips, ItemWords, Nonces, Symbols, Tables
from hushcount.ldp._kernels import blake2s
from hushcount.ldp._kernels import items as item_kernels
from hushcount.ldp._kernels import tally as kernels
from hushcount.ldp._kernels.blake2s import WORDS
from hushcount.ldp.server.reports import as_rows
from hushcount.ldp.wire.groups import Group
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, words_of
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, Question, QuestionPlace, TaggedPrefix
from hushcount.ldp.wire.response import ResponseDistribution


class Layout:
    """The tables of one group of questions, and which of them the report of each nonce is added to.

    Table t is cells offsets[t] .. offsets[t + 1] - 1 of one array: question by question, row by row, position
    by position. The tables of question n are first[n] .. first[n + 1] - 1.
    """

    __slots__ = ("_asked", "_needed", "_state", "first", "group", "index", "manifest", "offsets")

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
        self._needed = (index, _digests(manifest, index))
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
        nonces = as_rows(nonces, self.manifest.wire)
        slots, order = np.empty(len(nonces), np.int32), np.empty(len(nonces), np.int32)
        masks = np.empty((len(nonces), self.group.symbol_bits), np.uint32)
        starts = np.empty(self.tables + 1, np.int64)
        kernels.derive(self._state, self._needed, nonces, self._asked, (slots, masks))
        kernels.order_by_table(slots, starts, order)
        return order, starts, masks


def _digests(manifest: Manifest, index: int) -> int:
    """Return how many digests of eight words have a mask, or an extra word that a question looks at."""
    group = manifest.groups[index]
    more = group.symbol_bits > WORDS - 2 or any(question.positions > 1 for question in group.questions)
    return manifest.wire.digests if more else 1


def _starts(sizes: Counts) -> Counts:
    """Return where each of some pieces begins that lie one after the other, and where the last ends."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


class GroupTallies:
    """The tables of one group of questions."""

    __slots__ = ("_cells", "_reports", "layout")

    def __init__(self, manifest: Manifest, index: int) -> None:
        self.layout = Layout(manifest, index)
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
        kernels.tally(order, starts, (masks, symbols), (self.layout.offsets, self._cells))
        self._reports += np.diff(starts)

    def _make_room(self, coming: int) -> None:
        """Widen the cells before they can overflow: a cell is at most q - 1 times the number of reports."""
        most = (int(self._reports.sum()) + coming) * (self.layout.group.symbols - 1)
        if most >= 1 << 31 and self._cells.dtype != np.int64:
            self._cells = self._cells.astype(np.int64)

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


def split_symbols(symbols: Symbols, groups: Sequence[Group]) -> list[Symbols]:
    """Return the symbols of each group; those of a report are y_0 + q_0 y_1 + q_0 q_1 y_2 ..."""
    parts = []
    for group in groups:
        parts.append(symbols & np.uint16(group.symbols - 1))
        symbols = symbols >> np.uint16(group.symbol_bits)
    return parts


def to_words(values: Iterable[int], width: int) -> ItemWords:
    """Return encoded items as rows of words."""
    size = 4 * words_of(width)
    data = b"".join(value.to_bytes(size, "little") for value in values)
    return np.frombuffer(data, "<u4").astype(np.uint32).reshape(-1, words_of(width))


def from_words(words: ItemWords) -> list[int]:
    """Return the integers of rows of words."""
    return [int.from_bytes(row.astype("<u4").tobytes(), "little") for row in words]


@singledispatch
def cells_of(question: Question, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cell and the flip of every item at one place; kinds without a fast way go item by item."""
    pairs = np.array([question.cell(value, place) for value in from_words(words)], np.uint32).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].astype(np.uint8)


def hashed(place: QuestionPlace, purpose: bytes, words: ItemWords, bits: int) -> Cells:
    """Return the hash of every row of words, by the function that the place has for a purpose."""
    where = (place.group, place.question, place.row)
    constants = place.public.constants(purpose, where, 1 + words.shape[1])
    out = np.empty(len(words), np.uint32)
    item_kernels.multiply_shift(words, np.array(constants, np.uint64), bits, out)
    return out


def cut(words: ItemWords, shift: int, bits: int, room: int = 0) -> ItemWords:
    """Return bits shift .. shift + bits - 1 of every row (0 is the lowest), with `room` more bits on top."""
    out = np.zeros((len(words), words_of(bits + room)), np.uint32)
    item_kernels.cut(words, shift, bits, out)
    return out


def put_on_top(words: ItemWords, bits: int, tags: Cells) -> None:
    """Add tag << bits to every row."""
    item_kernels.put_on_top(words, bits, tags)


def bucket_of(place: QuestionPlace, words: ItemWords, bits: int, quotient_bits: int = 0) -> Cells:
    """Return the bucket of every item in the row of the place."""
    rest_bits = place.width - quotient_bits
    bucket = hashed(place._replace(question=SHARED), BUCKET, cut(words, 0, rest_bits), bits)
    return bucket ^ cut(words, rest_bits, quotient_bits)[:, 0] if quotient_bits else bucket


def no_flips(words: ItemWords) -> Flips:
    """Return a zero for every item."""
    return np.zeros(len(words), np.uint8)


@cells_of.register
def _prefix(question: Prefix, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of prefixes."""
    prefix = cut(words, place.width - question.bits, question.bits)
    flips = hashed(place, SIGN, prefix, 1).astype(np.uint8) if question.signed else no_flips(words)
    if not question.hashed:
        return prefix[:, 0].copy(), flips
    return hashed(place, CELL, prefix, question.cell_bits), flips


@cells_of.register
def _tagged_prefix(question: TaggedPrefix, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of tagged prefixes."""
    keys = cut(words, place.width - question.bits, question.bits, room=question.tag_bits)
    put_on_top(keys, question.bits, bucket_of(place._replace(row=0), words, question.tag_bits))
    return hashed(place, CELL, keys, question.cell_bits), no_flips(words)


@cells_of.register
def _chunk(question: Chunk, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of chunks."""
    chunk = cut(words, place.width - question.start - question.bits, question.bits)[:, 0]
    bucket = bucket_of(place, words, question.bucket_bits, question.quotient_bits)
    return bucket << np.uint32(question.bits) | chunk, no_flips(words)


@cells_of.register
def _code_bit(question: CodeBit, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of bits of codewords."""
    column = question.columns[question.position(place.extra)]
    flips = np.empty(len(words), np.uint8)
    item_kernels.parity(words, to_words([column], 32 * words.shape[1])[0], flips)
    return bucket_of(place, words, question.bucket_bits, question.quotient_bits), flips
