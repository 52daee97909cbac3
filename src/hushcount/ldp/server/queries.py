"""Estimates of the counts of chosen items, from all reports of any protocol.

TreeHist and Bitstogram ask about the tag or the bucket of an item, which are hashes of it. The *alternatives*
of an item are what the tables say of the same prefix with every other tag, or of the same chunk or codeword
in every other bucket. They have the noise of the responses, and what other items add by chance, exactly as
the item's own place has. So their mean is the background, which is subtracted, and their variance is the
variance of the estimate of an item that nobody holds. Only items that differ in nothing but the part that
the bucket keeps never share a bucket; the question about whole items says how many these are.
Formulas: docs/ldp.md, section 9. Checked by: tests/statistical/test_ldp_queries.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hushcount.compiled.arrays import Cells, Floats, ItemWords
from hushcount.errors import ParameterError
from hushcount.ldp import registry
from hushcount.ldp.server.decoding import Collected, Frequencies
from hushcount.ldp.server.frequency import key_matches, locate, matches_of
from hushcount.ldp.server.tallies import QuestionTallies, bucket_of, cut, put_on_top, to_words
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, TaggedPrefix

if TYPE_CHECKING:
    from hushcount.ldp.server.aggregator import Aggregator

_TOGETHER = 1 << 18  # alternatives computed at once


class _Places(NamedTuple):
    """What the tables say of some items with every tag, or in every bucket, and which of these is theirs."""

    values: Floats  # [alternative, item]
    own: Cells

    def apart(self) -> tuple[Floats, Floats]:
        """Return what items have above the mean of their alternatives, and the variance of that by chance."""
        others = len(self.values) - 1
        here = np.take_along_axis(self.values, self.own[None, :].astype(np.int64), axis=0)[0]
        mean = (self.values.sum(axis=0) - here) / others
        squares = np.square(self.values - mean).sum(axis=0) - np.square(here - mean)
        return here - mean, squares / max(others - 1, 1) * (1 + 1 / others)


def pooled(collected: Collected, values: Sequence[int]) -> Frequencies:
    """Return estimates of encoded items and their standard deviations, from all questions of one group."""
    tallies = [tally for tally in collected.groups[0] if tally.reports]
    widest = max(_alternatives(tally) for tally in tallies)
    step = max(_TOGETHER // widest, 1)
    width = tallies[0].place.width
    parts = [
        np.stack(_estimated(tallies, collected.reports, to_words(values[start : start + step], width)))
        for start in range(0, len(values), step)
    ]
    estimates, deviations = np.concatenate([np.zeros((2, 0)), *parts], axis=1)
    return Frequencies(estimates, deviations)


def frequencies(aggregator: Aggregator, items: Iterable[object]) -> Frequencies:
    """Estimate how many users hold each of some items, whether or not a search would find them.

    It costs no privacy: every report is private already.

    Parameters
    ----------
    aggregator:
        The reports of a campaign of any protocol.
    items:
        Items that were chosen before seeing any result; each must be encodable.

    Returns
    -------
    Frequencies
        Unbiased estimates, which may be negative for rare items, and their standard deviations.
    """
    manifest = aggregator.manifest
    values = [_encoded(manifest.encoding, item) for item in items]
    return registry.DECODERS[manifest.protocol].estimate(aggregator.collected(), values)


def _encoded(encoding: Encoding, item: object) -> int:
    """Return an encoded item, or raise."""
    value = encoding.encode(item)
    if value is None:
        raise ParameterError("every item must be one that the campaign's encoding can encode.")
    return value


def _alternatives(tally: QuestionTallies) -> int:
    """Return how many tags or buckets a question distinguishes; 1 if it asks for items themselves."""
    question = tally.question
    if isinstance(question, TaggedPrefix):
        return 1 << question.tag_bits
    return 1 << question.bucket_bits if isinstance(question, Chunk | CodeBit) else 1


def _estimated(tallies: Sequence[QuestionTallies], users: int, words: ItemWords) -> tuple[Floats, Floats]:
    """Return the estimates of some items and their standard deviations."""
    response = tallies[0].response
    total, spread = _never_met(tallies, users, words), np.zeros(len(words))
    whole = (_whole(tally, words) for tally in tallies if isinstance(tally.question, Prefix))
    for estimate, chance in (*whole, *(places.apart() for places in _shared(tallies, words))):
        total, spread = total + estimate, spread + chance
    hashed = sum(tally.reports for tally in tallies if tally.question.cell_bits < tally.place.width)
    collisions = np.maximum(spread - hashed * response.absent, 0.0)
    variance = response.variance(total.clip(0, users), users, users) + collisions
    return total, np.asarray(np.sqrt(variance), np.float64)


def _shared(tallies: Sequence[QuestionTallies], words: ItemWords) -> list[_Places]:
    """Return the places of items by tag, or by the bucket of each row, of all questions together.

    Questions share tags, and buckets row by row, so what they say of a place is added up.
    """
    shared: list[_Places] = []
    for tally in tallies:
        if isinstance(tally.question, Prefix):
            continue
        for row, found in enumerate(_places(tally, words)):
            if row == len(shared):
                shared.append(found)
            else:
                shared[row] = _Places(shared[row].values + found.values, found.own)
    return shared


def _never_met(tallies: Sequence[QuestionTallies], users: int, words: ItemWords) -> Floats:
    """Return what the mean over other buckets counts of items that cannot lie in an item's own bucket.

    Those have the same lower bits as the item and other top bits, which are xored into the bucket.
    """
    bucketed = [tally for tally in tallies if isinstance(tally.question, Chunk | CodeBit)]
    whole = [tally for tally in tallies if isinstance(tally.question, Prefix)]
    if not bucketed or not whole:
        return np.zeros(len(words))
    asked, first = sum(tally.reports for tally in bucketed), bucketed[0].question
    assert isinstance(first, Chunk | CodeBit)
    tops, rest = 1 << first.quotient_bits, bucketed[0].place.width - first.quotient_bits
    lower = cut(words, 0, rest, room=first.quotient_bits)
    distinct, inverse = np.unique(lower, axis=0, return_inverse=True)
    keys = np.repeat(distinct, tops, axis=0)
    put_on_top(keys, rest, np.tile(np.arange(tops, dtype=np.uint32), len(distinct)))
    (alike, _), (own, _) = _whole(whole[-1], keys), _whole(whole[-1], words)
    together = alike.reshape(len(distinct), tops).sum(axis=1)[inverse.reshape(-1)]
    others = (together - own) * (users / whole[-1].reports)
    return np.asarray(others * (asked / users) / ((1 << first.bucket_bits) - 1), np.float64)


def _whole(tally: QuestionTallies, words: ItemWords) -> tuple[Floats, Floats]:
    """Return what a question about whole items adds to estimates, and the variance of its cells."""
    chance, gain = tally.question.collision_chance, tally.response.gain
    own = (matches_of(tally, words).sum(axis=0) / gain - chance * tally.reports) / (1 - chance)
    variance = float(tally.matches.var(axis=1).sum()) / (gain * (1 - chance)) ** 2 if chance else 0.0
    return np.asarray(own, np.float64), np.full(len(words), variance)


def _places(tally: QuestionTallies, words: ItemWords) -> Iterator[_Places]:
    """Yield the places of items among all tags, or in each row among all buckets."""
    question, gain = tally.question, tally.response.gain
    if isinstance(question, TaggedPrefix):
        tags = bucket_of(tally.place._replace(row=0), words, question.tag_bits)
        yield _Places(_all_tags(tally, words) / (gain * (1 - question.collision_chance)), tags)
        return
    assert isinstance(question, Chunk | CodeBit)
    cells, signs = locate([tally], words)
    for row in range(question.rows):
        first = row * question.positions
        if isinstance(question, Chunk):
            by_bucket = tally.matches[row].reshape(1 << question.bucket_bits, -1)
            chunks = cells[row] & np.uint32((1 << question.bits) - 1)
            yield _Places(by_bucket[:, chunks] / gain, cells[row] >> np.uint32(question.bits))
        else:
            positions = slice(first, first + question.positions)
            yield _Places(tally.matches[positions].T @ (signs[positions] / gain), cells[first])


def _all_tags(tally: QuestionTallies, words: ItemWords) -> Floats:
    """Return the matches of the prefixes of items with every tag: [tag, item]."""
    question = tally.question
    assert isinstance(question, TaggedPrefix)
    prefixes = cut(words, tally.place.width - question.bits, question.bits, room=question.tag_bits)
    distinct, inverse = np.unique(prefixes, axis=0, return_inverse=True)
    keys = np.repeat(distinct, 1 << question.tag_bits, axis=0)
    put_on_top(
        keys, question.bits, np.tile(np.arange(1 << question.tag_bits, dtype=np.uint32), len(distinct))
    )
    by_tag = key_matches(tally, keys).reshape(len(distinct), -1).T
    return np.asarray(by_tag[:, inverse.reshape(-1)], np.float64)
