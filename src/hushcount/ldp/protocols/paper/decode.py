"""The decoders of SuccinctHist, BitstogramPaper and TreeHistPaper (Bassily et al. 2020).

Bits that were decided one by one are decoded to the nearest codeword of all, for parts of at most 15 bits.
Such messages lie in a code of distance 56 (wire/codes.py), so 27 wrong bits of 128 are corrected, more than
the eighth that the paper requires. A product of matrices compares many rows with all codewords at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushcount.compiled.arrays import Counts, Mask
from hushcount.errors import ManifestError
from hushcount.ldp.protocols.bitstogram.decode import signs
from hushcount.ldp.protocols.bitstogram.protocol import parts_of
from hushcount.ldp.protocols.paper.campaign import median_item
from hushcount.ldp.protocols.paper.medians import MedianOracle, estimate, published, refuse_other_questions
from hushcount.ldp.protocols.paper.searches import (
    MOST_PART_BITS,
    PUBLISHED,
    bit_questions,
    codeword_questions,
    tree_questions,
)
from hushcount.ldp.server.decoding import Collected, Decoder, Found, limit_of
from hushcount.ldp.server.tallies import QuestionTallies
from hushcount.ldp.wire.codes import LENGTH
from hushcount.ldp.wire.manifest import Manifest
from hushcount.ldp.wire.questions import Chunk, CodeBit
from hushcount.privacy import check_count


def decode_bits(collected: Collected, threshold: float | None) -> Found:
    """Return SuccinctHist's items: in every bucket, each bit is the larger of two estimates (Algorithm 6)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    first = manifest.groups[0].questions[0]
    if not isinstance(first, Chunk):
        raise ManifestError(f"the questions must be those that {manifest.protocol} asks.")
    refuse_other_questions(manifest, bit_questions(width, first.bucket_bits))
    bits = np.stack([_larger(tally) for tally in collected.groups[0]], axis=1)
    values = [int.from_bytes(row.tobytes(), "big") >> (-width % 8) for row in np.packbits(bits, axis=1)]
    return published(collected, values, limit_of(collected, threshold))


def _larger(tally: QuestionTallies) -> Mask:
    """Return for every bucket whether a 1 has the larger estimate; cell = bucket << 1 | bit."""
    pairs = tally.matches[0].reshape(-1, 2)
    return np.asarray(pairs[:, 1] > pairs[:, 0])


def decode_codewords(collected: Collected, threshold: float | None) -> Found:
    """Return BitstogramPaper's items: in every bucket the one nearest to the bits (Algorithm 8)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    first, last = manifest.groups[0].questions[0], manifest.groups[-1].questions[-1]
    asked = codeword_questions(width, first.cell_bits, first.rows)
    refuse_other_questions(manifest, [asked, [median_item(width, last.rows, last.cell_bits)]])
    values = [0] * (first.rows << first.cell_bits)
    for tally, (lowest, size) in zip(collected.groups[0], parts_of(width, MOST_PART_BITS), strict=True):
        messages = nearest(_decided(tally), size).tolist()
        values = [value | message << lowest for value, message in zip(values, messages, strict=True)]
    return published(collected, values, limit_of(collected, threshold))


def _decided(tally: QuestionTallies) -> npt.NDArray[np.int16]:
    """Return for every repetition and bucket the 128 bits as signs: +1 for a 0 and for a tie."""
    assert isinstance(tally.question, CodeBit)
    tables = tally.matches.reshape(tally.question.rows, LENGTH, -1)
    return np.where(tables >= 0, 1, -1).astype(np.int16).transpose(0, 2, 1).reshape(-1, LENGTH)


_COMPARED_BITS = 14  # the work to compare one row with all codewords of 15 bits, as so many lookups
_TOGETHER = 1 << 9  # rows that are compared with all codewords at once
MOST_PREFIXES = 1 << 14  # followed from a level: those with the largest estimates


def decode_tree(collected: Collected, threshold: float | None) -> Found:
    """Return the items whose prefixes and final estimate all reach the threshold (Algorithm 3)."""
    manifest = collected.manifest
    width = manifest.encoding.width
    last = manifest.groups[-1].questions[-1]
    refuse_other_questions(manifest, tree_questions(width, last.rows, last.cell_bits))
    limit = limit_of(collected, threshold)
    prefixes = [0]
    for level in range(width):
        children = [prefix << 1 | bit for prefix in prefixes for bit in (0, 1)]
        prefixes = _followed(MedianOracle(collected, 0, level), children, width - level - 1, limit)
    final = limit if threshold is not None else float(manifest.parameters.get(PUBLISHED, limit))
    return published(collected, prefixes, final)


def _followed(oracle: MedianOracle, prefixes: list[int], shift: int, limit: float) -> list[int]:
    """Return the prefixes whose estimate reaches the limit; whole items have `shift` bits more."""
    estimates = oracle.estimate([prefix << shift for prefix in prefixes])
    order = np.argsort(-estimates, kind="stable")[:MOST_PREFIXES]
    return [prefixes[place] for place in order if estimates[place] >= limit]


def nearest(decided: npt.ArrayLike, bits: int) -> Counts:
    """Return the message of `bits` bits whose codeword differs least from each row of 128 signs."""
    check_count("bits", bits, most=MOST_PART_BITS)
    codewords = signs(np.arange(0, 1 << bits, 2)).astype(np.float32)  # bit 0 turns the signs around
    rows = np.asarray(decided, np.float32).reshape(-1, LENGTH)
    found = np.zeros(len(rows), np.int64)
    for start in range(0, len(rows), _TOGETHER):
        agreements = rows[start : start + _TOGETHER] @ codewords.T
        best = np.abs(agreements).argmax(axis=1)
        turned = np.take_along_axis(agreements, best[:, None], axis=1)[:, 0] < 0
        found[start : start + _TOGETHER] = 2 * best | turned
    return found


def _tree_lookups(manifest: Manifest) -> int:
    """Return how many cells are looked up if as many prefixes as allowed are followed at every level."""
    return 2 * MOST_PREFIXES * manifest.groups[-1].questions[-1].rows * manifest.encoding.width


def _bits_lookups(manifest: Manifest) -> int:
    """Return how many cells are looked up to decide every bit in every bucket."""
    return manifest.encoding.width << manifest.groups[0].questions[0].cell_bits


def _codewords_lookups(manifest: Manifest) -> int:
    """Return how many comparisons the nearest codewords take, and the estimates of what comes out."""
    first, last = manifest.groups[0].questions[0], manifest.groups[-1].questions[-1]
    parts = len(manifest.groups[0].questions)
    return (first.rows << first.cell_bits) * (last.rows + (parts << _COMPARED_BITS))


BITS = Decoder(decode_bits, _bits_lookups, estimate)
TREE = Decoder(decode_tree, _tree_lookups, estimate)
CODEWORDS = Decoder(decode_codewords, _codewords_lookups, estimate)
