"""From the tables of identifying questions to candidates: likely values in each bucket, combined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushcount.ldp._kernels import combine as kernels
from hushcount.ldp.arrays import Counts, Floats, Floats32, ItemWords, Mask
from hushcount.ldp.protocols.bitstogram.plan import part_of
from hushcount.ldp.server.cells import bucket_of, cut, put_on_top
from hushcount.ldp.server.codewords import decode
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.public_randomness import words_of
from hushcount.ldp.wire.questions import Chunk, CodeBit

WIDEST = 256  # most combinations that one bucket gives
ORDER, BEST = 3, 2  # of soft decoding: most places inverted, messages per bucket


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
        found, counts = decode(estimates[:, :, 0].T, bits, ORDER, BEST)
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
