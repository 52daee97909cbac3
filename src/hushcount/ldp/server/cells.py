"""Cells and flips of many items at once, equal to those that the questions themselves compute one by one.

Items are rows of 32-bit words, least significant first.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

import numpy as np

from hushcount.compiled.arrays import Cells, Flips, ItemWords
from hushcount.ldp._kernels import items as kernels
from hushcount.ldp.wire.public_randomness import BUCKET, CELL, SHARED, SIGN, words_of
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, Question, QuestionPlace, TaggedPrefix


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


def hash_words(words: ItemWords, constants: tuple[int, ...], bits: int) -> Cells:
    """Return the multiply-shift hash of every row."""
    out = np.empty(len(words), np.uint32)
    kernels.multiply_shift(words, np.array(constants, np.uint64), bits, out)
    return out


def cut(words: ItemWords, shift: int, bits: int, room: int = 0) -> ItemWords:
    """Return bits shift .. shift + bits - 1 of every row (0 is the lowest), with `room` more bits on top."""
    out = np.zeros((len(words), words_of(bits + room)), np.uint32)
    kernels.cut(words, shift, bits, out)
    return out


def put_on_top(words: ItemWords, bits: int, tags: Cells) -> None:
    """Add tag << bits to every row."""
    kernels.put_on_top(words, bits, tags)


def bucket_of(place: QuestionPlace, words: ItemWords, bits: int, quotient_bits: int = 0) -> Cells:
    """Return the bucket of every item in the row of the place."""
    where = (place.group, SHARED, place.row)
    rest_bits = place.width - quotient_bits
    rest = cut(words, 0, rest_bits)
    hashed = hash_words(rest, place.public.constants(BUCKET, where, 1 + rest.shape[1]), bits)
    return hashed ^ cut(words, rest_bits, quotient_bits)[:, 0] if quotient_bits else hashed


def no_flips(words: ItemWords) -> Flips:
    """Return a zero for every item."""
    return np.zeros(len(words), np.uint8)


@cells_of.register
def _prefix(question: Prefix, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of prefixes."""
    prefix = cut(words, place.width - question.bits, question.bits)
    where = (place.group, place.question, place.row)
    flips = no_flips(words)
    if question.signed:
        signs = place.public.constants(SIGN, where, 1 + prefix.shape[1])
        flips = hash_words(prefix, signs, 1).astype(np.uint8)
    if not question.hashed:
        return prefix[:, 0].copy(), flips
    constants = place.public.constants(CELL, where, 1 + prefix.shape[1])
    return hash_words(prefix, constants, question.cell_bits), flips


@cells_of.register
def _tagged_prefix(question: TaggedPrefix, place: QuestionPlace, words: ItemWords) -> tuple[Cells, Flips]:
    """Return the cells and flips of tagged prefixes."""
    keys = cut(words, place.width - question.bits, question.bits, room=question.tag_bits)
    put_on_top(keys, question.bits, bucket_of(place._replace(row=0), words, question.tag_bits))
    constants = place.public.constants(CELL, (place.group, place.question, place.row), 1 + keys.shape[1])
    return hash_words(keys, constants, question.cell_bits), no_flips(words)


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
    kernels.parity(words, to_words([column], 32 * words.shape[1])[0], flips)
    return bucket_of(place, words, question.bucket_bits, question.quotient_bits), flips
