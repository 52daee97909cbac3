"""Bitstogram: heavy items are found in hash buckets, and every user is asked once. Pure Python.

A plan says how items and users are divided; it depends on the width of the items alone. The top bits of an
item are xored into its bucket (`quotient_bits` in wire/questions.py), so that the bucket and the other bits,
the rest, give the item back. Identifying questions find the rest of the heavy items of each bucket, by its
chunks or by the bits of a codeword of it. A last question asks for whole items.

A count stands out of an estimate of variance v if count^2 / v, its energy, reaches what the question needs.
A question that is asked of a share a of n users has v = n V0 / a. So the smallest count that all questions
can see is sqrt(n V0 (sum of needs)), with shares in proportion to the needs (docs/ldp-bitstogram.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.protocols import campaign
from hushcount.ldp.protocols.campaign import CampaignPlan, PlannedCampaign, above, noise_reach, threshold_of
from hushcount.ldp.wire.codes import MESSAGE_BITS, masks
from hushcount.ldp.wire.groups import Group, whole_shares
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, Question
from hushcount.ldp.wire.response import best_symbol_bits

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
Ask = Callable[[int, int], tuple[Question, float]]  # lowest bit and length of a part to question and need
REPORT_BYTES = 18 + 16 * 3  # of a report that the aggregator keeps, and of its nonce in the set of nonces
SOFT = 0.75  # a decoder gains so many standard deviations for one of the signal (section 2, measured)


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions with their needs, from which the shares follow."""

    questions: tuple[Question, ...]
    needs: tuple[float, ...]

    @property
    def shares(self) -> tuple[int, ...]:
        """The share of the users for each question, out of 2^32."""
        return whole_shares([need / sum(self.needs) for need in self.needs])

    def least_detectable(self, users: int, absent: float) -> float:
        """Return the smallest count that is found reliably; `absent` is V0 of the response."""
        return math.sqrt(users * absent * sum(self.needs))


@dataclass(frozen=True, slots=True)
class Forecast(CampaignPlan):
    """What the questions of a plan can find (docs/ldp-bitstogram.md, section 5)."""

    plan: Plan

    @property
    def memory(self) -> int:
        """Bytes of the aggregator's tables and of the reports that it keeps, once all users have reported."""
        cells = sum(question.tables << question.cell_bits for question in self.plan.questions)
        return 8 * cells + self.users * REPORT_BYTES

    def chance_of(self, count: float, threshold: float | None = None) -> float:
        """Return the probability that an item is published: every question sees it, and its estimate does."""
        limit = self.threshold if threshold is None else threshold
        inside = min(count, self.users)
        chance = above((limit - count) / math.sqrt(self.response.variance(inside, self.users, self.users)))
        total = sum(self.plan.needs)
        for question, need in zip(self.plan.questions, self.plan.needs, strict=True):
            signal = count / self.deviation * math.sqrt(need / total)
            slope = SOFT if isinstance(question, CodeBit) else 1.0
            chance *= above(slope * (math.sqrt(need) - signal) - MISSED)
        return chance


def chunked(width: int) -> Plan:
    """Return the plan with chunks of at most ten bits of the rest."""

    def ask(lowest: int, bits: int) -> tuple[Question, float]:
        chunk = Chunk(CHUNK_BUCKET_BITS, width - lowest - bits, bits, 1, CHUNK_BUCKET_BITS)
        return chunk, (MISSED + campaign.upper_quantile(FALSE_VALUES / (1 << bits))) ** 2

    rest = parts_of(width - CHUNK_BUCKET_BITS, CHUNK_BITS) if width > NARROW else []
    return _plan("Bitstogram", width, WIDEST_CHUNKED, ask, rest)


def coded(width: int) -> Plan:
    """Return the plan with codewords of at most 29 bits of the rest."""

    def ask(lowest: int, bits: int) -> tuple[Question, float]:
        word = CodeBit(CODE_BUCKET_BITS, columns(lowest, bits), 1, CODE_BUCKET_BITS)
        return word, 5 + 3.4 * bits  # so that 99 of 100 decode; measured

    rest = parts_of(width - CODE_BUCKET_BITS, MESSAGE_BITS) if width > NARROW else []
    return _plan("BitstogramBinary", width, WIDEST_CODED, ask, rest)


def divide(bits: int, most: int) -> list[int]:
    """Return parts of at most `most` bits, as equal as possible.

    >>> divide(48, 10)
    [10, 10, 10, 9, 9]
    """
    parts = -(-bits // most)
    return [bits // parts + (part < bits % parts) for part in range(parts)]


def parts_of(width: int, most: int) -> list[tuple[int, int]]:
    """Return parts of at most `most` bits, from the top down: the lowest bit and the length of each.

    >>> parts_of(30, 15)
    [(15, 15), (0, 15)]
    """
    parts, left = [], width
    for bits in divide(width, most):
        left -= bits
        parts.append((left, bits))
    return parts


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
        raise ManifestError(f"the questions must be those that {manifest.protocol} asks.")


def _identifies(question: Question, first: Question) -> bool:
    """Return whether a question identifies a part of the items in the same buckets as the first."""
    if not isinstance(question, Chunk | CodeBit) or not isinstance(first, Chunk | CodeBit):
        return False
    alike = question.bucket_bits == question.quotient_bits == first.bucket_bits and question.rows == 1
    if isinstance(question, CodeBit):
        lowest, bits = part_of(question, 0)
        return alike and bits <= MESSAGE_BITS and question.columns == columns(lowest, bits)
    return alike


def _plan(name: str, width: int, widest: int, ask: Ask, parts: list[tuple[int, int]]) -> Plan:
    """Return the plan that asks about every part of the rest, and last about whole items to check them."""
    if width > widest:
        raise ParameterError(f"{name} takes items of at most {widest} bits, got {width}.")
    asked = [ask(lowest, bits) for lowest, bits in parts]
    if width <= NARROW:  # items are cells themselves
        whole, candidates = Prefix(width, 1, width), 1 << width
    else:
        whole, candidates = Prefix(width, ROWS, CELL_BITS), CANDIDATES
    asked.append((whole, (MISSED + noise_reach(candidates)) ** 2))
    return Plan(tuple(question for question, _ in asked), tuple(need for _, need in asked))


@dataclass(kw_only=True, eq=False, repr=False)
class BucketCampaign(PlannedCampaign):
    """What both campaigns of Bitstogram share: the questions of a plan, and their forecast."""

    plan: Forecast = field(init=False)

    def _asked(self, plan: Plan, epsilon: str, symbol_bits: int) -> tuple[Group, ...]:
        """Return the questions of a plan as one group, and forecast what they find."""
        group = Group(epsilon, symbol_bits, plan.questions, plan.shares)
        least = plan.least_detectable(self.answers, group.response.absent)
        threshold = math.ceil(threshold_of(self.threshold, least, self.answers))
        self.plan = Forecast(self.answers, group.response, threshold, least, plan)
        return (group,)


@dataclass(kw_only=True, eq=False, repr=False)
class Bitstogram(BucketCampaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Items are hashed to buckets. One question for each chunk of an item asks for bucket and chunk together; a
    last question asks for the whole item. Every report counts in the estimate of every item
    (docs/ldp-bitstogram.md).

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: chunks and shares by chunked.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20; a text keeps its decimal digits exactly.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response, 1 to 10; by default those of the smallest variance.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = Bitstogram(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client().report("tea"))
    27
    """

    symbol_bits: int | None = None

    def _groups(self, epsilon: str) -> tuple[Group, ...]:
        """Return one group, with a question for each chunk of an item."""
        bits = best_symbol_bits(float(epsilon)) if self.symbol_bits is None else self.symbol_bits
        return self._asked(chunked(self.encoding.width), epsilon, bits)


@dataclass(kw_only=True, eq=False, repr=False)
class BitstogramBinary(BucketCampaign):
    """A campaign that finds the items held by at least `threshold` users from one-bit responses.

    Items are hashed to buckets. A report flips its parity of the bucket by one bit of the item's codeword in
    the extended BCH(128, 29) code; the server decodes each bucket from the sizes of its estimates. A last
    question asks for the whole item.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: parts and shares by coded.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20; a text keeps its decimal digits exactly.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = BitstogramBinary(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client().report("tea")[-2] in (0, 1)
    True
    """

    def _groups(self, epsilon: str) -> tuple[Group, ...]:
        """Return one group, with a question for each codeword of an item."""
        return self._asked(coded(self.encoding.width), epsilon, 1)
