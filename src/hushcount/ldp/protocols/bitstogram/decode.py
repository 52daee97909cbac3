"""The decoder of Bitstogram: identify heavy items, check and peel them, and search what is left again.

Each identifying question gives the likely values of one part of the items in every bucket. The values of all
parts are combined to candidates, which the last question checks.

Codewords are decoded by ordered statistics: trust the most reliable independent places, solve for the
message, and try again with up to `order` of these places inverted. Hard decisions correct 21 errors of 128;
this often finds the message behind 30 and more, because the wrong places tend to be the unreliable ones.
Steps and limits: docs/ldp-bitstogram.md. Checked by: tests/acceptance/test_ldp_bitstogram.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from hushcount.compiled.arrays import Counts, Floats, Floats32, ItemWords, Mask, Signs, Words
from hushcount.ldp._kernels import bitstogram as kernels
from hushcount.ldp.protocols.bitstogram.evidence import Evidence, Located
from hushcount.ldp.protocols.bitstogram.protocol import (
    FALSE_VALUES,
    MISSED,
    SOFT,
    part_of,
    refuse_other_questions,
)
from hushcount.ldp.protocols.campaign import noise_reach, upper_quantile
from hushcount.ldp.server.decoding import Collected, Decoder, Found, limit_of
from hushcount.ldp.server.local_error import Step
from hushcount.ldp.server.queries import pooled
from hushcount.ldp.server.tallies import QuestionTallies, bucket_of, cut, from_words, put_on_top, to_words
from hushcount.ldp.wire.codes import LENGTH, MESSAGE_BITS, encode
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.prefixes import count_prefixes
from hushcount.ldp.wire.public_randomness import words_of
from hushcount.ldp.wire.questions import Chunk, CodeBit, Question
from hushcount.privacy import check_count

ROUNDS = 4
SLACK = 4.0  # standard deviations below the threshold at which an identifying question gives up a value
_COMPARED = 1 << 12  # codewords of 29 bits that soft decoding of order 3 compares in a bucket
CHECK_SLACK = 3.0  # the same for the check of whole items
WIDEST = 256  # most combinations that one bucket gives
ORDER, BEST = 3, 2  # of soft decoding: most places inverted, messages per bucket
_WORD = (1 << 64) - 1


def decode(collected: Collected, threshold: float | None) -> Found:
    """Return the heavy items of a campaign of Bitstogram, by chunks or by a code."""
    manifest = collected.manifest
    refuse_other_questions(manifest)
    evidence = Evidence(collected.groups[0])
    least = max(limit_of(collected, threshold), _noise(evidence, manifest.encoding))
    words, counts = heavy_items(evidence, manifest.encoding, least)
    values = from_words(words)
    named = [place for place, value in enumerate(values) if manifest.encoding.decode(value) is not None]
    found = [values[place] for place in named]
    return Found(found, counts[named], evidence.error(least), least, steps=_steps(evidence, least))


def _steps(evidence: Evidence, limit: float) -> tuple[Step, ...]:
    """Return what an item must reach in every identifying question, in the check and at the end."""
    asked = [tallies.reports for tallies in evidence.tallies]
    if not all(asked):
        return ()
    steps = []
    for number, tallies in enumerate(evidence.tallies[:-1]):
        deviation, coded = evidence.deviation_of(number, limit), isinstance(tallies.question, CodeBit)
        if coded:  # the planner's, measured: a gain of SOFT deviations is as good as fewer reports
            need = math.sqrt(5 + 3.4 * part_of(tallies.question, tallies.place.width)[1])
            steps.append(Step(asked[number] * SOFT**2, (need - MISSED / SOFT) * deviation))
        else:
            cut = max(limit - SLACK * deviation, _chance(tallies.question) * deviation)
            steps.append(Step(asked[number], cut))
    if steps:
        steps.append(Step(asked[-1], limit - CHECK_SLACK * evidence.deviation_of(len(asked) - 1, limit)))
    return (*steps, Step(sum(asked), limit))


def lookups(manifest: Manifest) -> int:
    """Return how many codewords are compared in all buckets, or raise if others would not be decoded."""
    refuse_other_questions(manifest)
    coded = (question for question in manifest.groups[0].questions if isinstance(question, CodeBit))
    return sum(_COMPARED << question.bucket_bits for question in coded)


DECODER = Decoder(decode, lookups, pooled)


def _noise(evidence: Evidence, encoding: Encoding) -> float:
    """Return the estimate that noise alone hardly gives to any of all items."""
    everything = count_prefixes(encoding, encoding.width)
    return evidence.error(0.0).of_absent * noise_reach(everything)


def heavy_items(evidence: Evidence, encoding: Encoding, threshold: float) -> tuple[ItemWords, Floats]:
    """Return the items whose estimates reach the threshold, and these estimates, the heaviest first.

    A bucket may hold several heavy items, of which the heaviest hides the others: accepted items are
    subtracted from the tables, and the rest is searched again.
    """
    found = evidence.locate(to_words([], encoding.width))
    counts = np.zeros(0)
    buckets = None
    for _ in range(ROUNDS):
        words = _unknown(candidates(evidence, encoding, threshold, buckets), found.words)
        located, accepted = _accept(evidence, words, threshold)
        if not len(located):
            break
        evidence.remove(located, accepted)
        found = found.join(located)
        counts = np.concatenate([counts, accepted]) + evidence.settle(found)
        buckets = evidence.buckets(located)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= threshold]
    return found.words[order], counts[order]


def candidates(
    evidence: Evidence, encoding: Encoding, threshold: float, buckets: Counts | None = None
) -> ItemWords:
    """Return the items of all or some buckets that look heavy to the identifying questions.

    Narrow items are cells themselves and have no buckets: those whose cell reaches the threshold.
    """
    if len(evidence.tallies) == 1:
        values = np.flatnonzero(evidence.estimates_of(0) >= threshold)
        words = to_words(values.tolist(), encoding.width)
        return words[valid(words, encoding)]
    lists, variance = [], 0.0
    for number, tallies in enumerate(evidence.tallies[:-1]):
        deviation = evidence.deviation_of(number, threshold)
        least = max(threshold - SLACK * deviation, _chance(tallies.question) * deviation)
        lists.append(likely_values(tallies, evidence.estimates_of(number, buckets), least))
        variance += deviation**2
    chosen, where = combine(lists, threshold - SLACK * variance**0.5 / len(lists))
    where = where if buckets is None else buckets[where]
    words = items(chosen, where, [part.bits for part in lists], evidence.tallies[0])
    return words[valid(words, encoding)]


def _chance(question: Question) -> float:
    """Return how many standard deviations few values of a list reach by chance; a code gives few anyway."""
    return upper_quantile(FALSE_VALUES / (1 << question.bits)) if isinstance(question, Chunk) else 1.0


def _unknown(words: ItemWords, known: ItemWords) -> ItemWords:
    """Return each item once, without those that are known."""
    seen = {row.tobytes() for row in known}
    fresh = {row.tobytes(): place for place, row in enumerate(words)}
    return words[[place for name, place in fresh.items() if name not in seen]]


def _accept(evidence: Evidence, words: ItemWords, threshold: float) -> tuple[Located, Floats]:
    """Return the items that pass the check after peeling, and their counts."""
    deviation = evidence.deviation_of(len(evidence.tallies) - 1, threshold)
    by_chance = noise_reach(max(len(words), 1)) * deviation
    limits = (threshold, max(threshold - CHECK_SLACK * deviation, by_chance))
    located = evidence.locate(words[evidence.check(words) >= limits[1]])
    order, counts = evidence.peel(located, limits)
    return located.take(order), counts


@dataclass(frozen=True, slots=True)
class Lists:
    """The likely values of one part of the items; those of bucket b are at starts[b] .. starts[b + 1] - 1."""

    bits: int
    starts: Counts
    values: Counts
    scores: Floats


def likely_values(tallies: QuestionTallies, estimates: Floats32, least: float) -> Lists:
    """Return the values of a part whose estimated counts reach `least`.

    `estimates[table, bucket, value]` is for chunks the count of each value, in one table. For codewords each
    place is a table without values, and the sum over the tables with a codeword's signs is its count.
    """
    bits = part_of(tallies.question, tallies.place.width)[1]
    if isinstance(tallies.question, CodeBit):
        found, counts = decode_soft(estimates[:, :, 0].T, bits, ORDER, BEST)
        buckets, place = np.nonzero(counts >= least)
        values, scores = found[buckets, place], counts[buckets, place]
    else:
        buckets, values = np.nonzero(estimates[0] >= least)
        scores = estimates[0, buckets, values]
    starts = np.searchsorted(buckets, np.arange(estimates.shape[1] + 1)).astype(np.int64)
    return Lists(bits, starts, values, scores.astype(np.float64))


def combine(lists: list[Lists], least: float) -> tuple[Counts, Counts]:
    """Return rows of one value from each list of a bucket, with mean scores of `least`, and the buckets."""
    sizes = np.stack([np.diff(part.starts) for part in lists]).astype(np.float64)
    room = int(np.minimum(sizes.prod(axis=0), WIDEST).sum())
    chosen, buckets = np.empty((room, len(lists)), np.int64), np.empty(room, np.int64)
    offsets = np.cumsum([0] + [len(part.values) for part in lists[:-1]])
    starts = np.stack([part.starts + offset for part, offset in zip(lists, offsets, strict=True)])
    values = np.concatenate([part.values for part in lists])
    scores = np.concatenate([part.scores for part in lists])
    found = kernels.combine((starts, values, scores), least * len(lists), WIDEST, chosen, buckets)
    return chosen[:found], buckets[:found]


def items(chosen: Counts, buckets: Counts, bits: list[int], tallies: QuestionTallies) -> ItemWords:
    """Return the items of given parts (the first on top) and buckets, from which the top bits follow."""
    asked, place = tallies.question, tallies.place
    assert isinstance(asked, Chunk | CodeBit)
    words = np.zeros((len(chosen), words_of(place.width)), np.uint32)
    filled = 0
    for part in range(len(bits) - 1, -1, -1):
        put_on_top(words, filled, chosen[:, part].astype(np.uint32))
        filled += bits[part]
    top = buckets.astype(np.uint32) ^ bucket_of(place, words, asked.bucket_bits, asked.quotient_bits)
    put_on_top(words, filled, top)
    return words


def valid(words: ItemWords, encoding: Encoding) -> Mask:
    """Return whether the symbols of items are valid in the encoding: in range, and nothing after the end."""
    bits = encoding.symbol_bits
    fine = np.ones(len(words), np.bool_)
    if bits > 32:
        return fine
    ended = np.zeros(len(words), np.bool_)
    for shift in range(encoding.width - bits, -1, -bits):
        symbols = cut(words, shift, bits)[:, 0]
        fine &= symbols < encoding.symbols
        if encoding.padded:
            fine &= ~ended | (symbols == 0)
            ended |= symbols == 0
    return fine


@cache
def _basis(bits: int) -> Words:
    """Return for each message bit its codeword in two words, and the bit itself."""
    rows = [(encode(1 << bit), 1 << bit) for bit in range(bits)]
    return np.array([(word & _WORD, word >> 64, message) for word, message in rows], np.uint64)


def decode_soft(signals: Floats32, bits: int, order: int = 2, best: int = 1) -> tuple[Counts, Floats32]:
    """Return the most likely messages of `bits` bits for each row of 128 signals, and their correlations.

    A signal is positive for a 0 and negative for a 1. A message that was not found has correlation -inf.
    """
    check_count("bits", bits, most=MESSAGE_BITS)
    check_count("order", order, least=0, most=3)
    rows = np.ascontiguousarray(signals, np.float32).reshape(-1, LENGTH)
    messages = np.zeros((len(rows), check_count("best", best)), np.uint64)
    scores = np.full(messages.shape, -np.inf, np.float32)
    kernels.decode_ordered(rows, _basis(bits), order, messages, scores)
    return messages.astype(np.int64), scores


def codewords(messages: Counts) -> Words:
    """Return the codewords of an array of messages, as rows of two words."""
    basis = _basis(MESSAGE_BITS)
    words = np.zeros((len(messages), 2), np.uint64)
    for bit in range(MESSAGE_BITS):
        chosen = ((messages >> bit) & 1).astype(bool)
        words[chosen] ^= basis[bit, :2]
    return words


def signs(messages: Counts) -> Signs:
    """Return +1 for each 0 and -1 for each 1 of every codeword: a signal without noise."""
    packed = codewords(messages).view(np.uint8)
    return (1 - 2 * np.unpackbits(packed, axis=1, bitorder="little").astype(np.int8)).astype(np.int8)
