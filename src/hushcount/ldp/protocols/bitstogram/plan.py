"""How Bitstogram divides items and users; it depends on the width of the items alone. Pure Python.

The top bits of an item are xored into its bucket (`quotient_bits` in wire/questions.py), so that the bucket
and the other bits, the rest, give the item back. Identifying questions find the rest of the heavy items of
each bucket, by its chunks or by the bits of a codeword of it. A last question asks for whole items.

A count stands out of an estimate of variance v if count^2 / v, its energy, reaches what the question needs.
A question that is asked of a share a of n users has v = n V0 / a. So the smallest count that all questions
can see is sqrt(n V0 (sum of needs)), with shares in proportion to the needs (docs/ldp-bitstogram.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols.campaign import Terms, expiry, threshold_of
from hushcount.ldp.wire.codes import MESSAGE_BITS, masks
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.law import ResponseLaw, upper_quantile
from hushcount.ldp.wire.manifest import THRESHOLD, Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, Question
from hushcount.ldp.wire.response import best_symbol_bits, epsilon_text
from hushcount.privacy import check_count

NARROW = 20  # items of so many bits are cells themselves
CHUNK_BUCKET_BITS = 12
CODE_BUCKET_BITS = 14
CHUNK_BITS = 10
ROWS, CELL_BITS = 16, 18  # of the question about whole items
WIDEST_CHUNKED = CHUNK_BUCKET_BITS + 24 * CHUNK_BITS
WIDEST_CODED = CODE_BUCKET_BITS + 8 * MESSAGE_BITS
MISSED = 2.5  # standard deviations by which a heavy item may fall short
FALSE_VALUES = 0.5  # values that the list of a bucket has by chance
CANDIDATES = 1000
FALSE_ITEMS = 0.01  # candidates that nobody holds and that pass the check, on average


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions with their needs, from which the shares follow."""

    questions: tuple[Question, ...]
    needs: tuple[float, ...]

    @property
    def shares(self) -> tuple[int, ...]:
        """The share of the users for each question, out of 2^32."""
        total = sum(self.needs)
        shares = [int(need / total * ALL_SHARES) for need in self.needs[:-1]]
        return (*shares, ALL_SHARES - sum(shares))

    def least_detectable(self, users: int, absent: float) -> float:
        """Return the smallest count that is found reliably; `absent` is V0 of the response."""
        return math.sqrt(users * absent * sum(self.needs))


def chunked(width: int) -> Plan:
    """Return the plan with chunks of at most ten bits of the rest."""
    if width <= NARROW:
        return _narrow(width)
    if width > WIDEST_CHUNKED:
        raise ParameterError(f"Bitstogram takes items of at most {WIDEST_CHUNKED} bits, got {width}.")
    start = CHUNK_BUCKET_BITS
    questions: list[Question] = []
    needs = []
    for bits in divide(width - start, CHUNK_BITS):
        questions.append(Chunk(CHUNK_BUCKET_BITS, start, bits, 1, CHUNK_BUCKET_BITS))
        needs.append((MISSED + upper_quantile(FALSE_VALUES / (1 << bits))) ** 2)
        start += bits
    return _with_check(questions, needs, width)


def coded(width: int) -> Plan:
    """Return the plan with codewords of at most 29 bits of the rest."""
    if width <= NARROW:
        return _narrow(width)
    if width > WIDEST_CODED:
        raise ParameterError(f"BitstogramBinary takes items of at most {WIDEST_CODED} bits, got {width}.")
    left = width - CODE_BUCKET_BITS
    questions: list[Question] = []
    needs = []
    for bits in divide(left, MESSAGE_BITS):
        left -= bits
        questions.append(CodeBit(CODE_BUCKET_BITS, columns(left, bits), 1, CODE_BUCKET_BITS))
        needs.append(5 + 3.4 * bits)  # so that 99 of 100 decode; measured
    return _with_check(questions, needs, width)


def divide(bits: int, most: int) -> list[int]:
    """Return parts of at most `most` bits, as equal as possible.

    >>> divide(48, 10)
    [10, 10, 10, 9, 9]
    """
    parts = -(-bits // most)
    return [bits // parts + (part < bits % parts) for part in range(parts)]


def manifest_of(protocol: str, plan: Plan, encoding: Encoding, terms: Terms) -> Manifest:
    """Return the manifest of a plan; the default threshold is the smallest count found reliably."""
    text = epsilon_text(terms.epsilon)
    bits = best_symbol_bits(float(text)) if terms.symbol_bits is None else terms.symbol_bits
    group = Group(text, bits, plan.questions, plan.shares)
    users = check_count("users", terms.users)
    least = plan.least_detectable(users, ResponseLaw.of(group).absent)
    wanted = threshold_of(terms.threshold, least, users)
    parameters = {THRESHOLD: math.ceil(wanted)}
    return Manifest(protocol, encoding, text, (group,), users, expiry(terms.expires), parameters)


def columns(lowest: int, bits: int) -> tuple[int, ...]:
    """Return, for each place of a codeword, the mask of the bits it sums, among `bits` from `lowest` on."""
    return tuple((mask & ((1 << bits) - 1)) << lowest for mask in masks())


def part_of(question: Question, width: int) -> tuple[int, int]:
    """Return the part of the item that a question identifies: its lowest bit and its length."""
    if isinstance(question, Chunk):
        return width - question.start - question.bits, question.bits
    if isinstance(question, CodeBit):
        union = 0
        for column in question.columns:
            union |= column
        lowest = (union & -union).bit_length() - 1
        return lowest, union.bit_length() - lowest
    return 0, width


def refuse_other_questions(manifest: Manifest) -> None:
    """Raise unless the questions identify the rest of an item part by part and the last one checks it."""
    width = manifest.encoding.width
    *identifying, last = manifest.groups[0].questions
    fitting = len(manifest.groups) == 1 and isinstance(last, Prefix) and last.bits == width
    fitting = fitting and not last.flips and (last.cell_bits < width) == bool(identifying)
    first = identifying[0] if identifying else None
    left = width - first.quotient_bits if isinstance(first, Chunk | CodeBit) else 0
    for question in identifying:
        lowest, bits = part_of(question, width)
        fitting = fitting and lowest + bits == left and _identifies(question, identifying[0])
        left = lowest
    if not fitting or left != 0:
        raise ManifestError(f"the questions must be such as {manifest.protocol} asks.")


def _identifies(question: Question, first: Question) -> bool:
    """Return whether a question identifies a part of the items in the same buckets as the first."""
    if not isinstance(question, Chunk | CodeBit) or not isinstance(first, Chunk | CodeBit):
        return False
    alike = question.bucket_bits == question.quotient_bits == first.bucket_bits and question.rows == 1
    if isinstance(question, CodeBit):
        lowest, bits = part_of(question, 0)
        return alike and bits <= MESSAGE_BITS and question.columns == columns(lowest, bits)
    return alike


def _narrow(width: int) -> Plan:
    """Return the plan for items that are cells themselves."""
    need = (MISSED + upper_quantile(FALSE_ITEMS / (1 << width))) ** 2
    return Plan((Prefix(width, 1, width),), (need,))


def _with_check(questions: list[Question], needs: list[float], width: int) -> Plan:
    """Return the plan with a last question about whole items."""
    need = (MISSED + upper_quantile(FALSE_ITEMS / CANDIDATES)) ** 2
    return Plan((*questions, Prefix(width, ROWS, CELL_BITS)), (*needs, need))
