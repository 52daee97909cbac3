"""The searches of Bassily et al. 2020 for heavy items: TreeHist, SuccinctHist and Bitstogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hushcount.ldp.protocols.bitstogram.protocol import columns, parts_of
from hushcount.ldp.protocols.paper.campaign import (
    ROWS,
    PaperCampaign,
    explicit_item,
    median_item,
    odd_rows,
    whole_threshold,
)
from hushcount.ldp.wire.questions import Chunk, CodeBit, Prefix, Question

PUBLISHED = "published"  # parameter: the threshold of the final estimates, if it is not that of pruning
MOST_PART_BITS = 15  # of an item in one codeword of 128 places, of which 27 may be wrong
REPETITIONS = 2


@dataclass(kw_only=True, eq=False, repr=False)
class TreeHistPaper(PaperCampaign):
    """A campaign that finds the items held by at least `threshold` users.

    Bassily et al. 2020, Algorithms 1 to 3. Every user answers twice with epsilon / 2: for the count sketch of
    one level of the binary prefix tree, and for that of whole items. Prefixes whose estimate reaches the
    threshold are followed; the counts of the items at the end are estimated from the second answers.
    docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: by default those of the paper's experiments; docs/ldp-paper.md gives those of its proof.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20.
    users:
        About how many users will report; a public number.
    rows:
        Rows of each sketch, odd; by default the 285 of the paper's experiments.
    cell_bits:
        Each row has 2^cell_bits cells; by default about sqrt(users).
    threshold:
        Smallest count to find; by default 15 sqrt(users).
    published:
        Smallest final estimate to publish; by default the threshold.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = TreeHistPaper(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client().report("tea")[-2] in range(4)
    True
    """

    rows: int = ROWS
    cell_bits: int | None = None
    published: float | None = None

    def questions(self) -> Sequence[Sequence[Question]]:
        """Return the count sketches of all levels of the tree, and that of whole items."""
        return tree_questions(self.encoding.width, odd_rows(self.rows), self._bits(self.cell_bits))

    def _parameters(self) -> dict[str, int]:
        """Return the thresholds of pruning and, if it is another, of the final estimates."""
        pruning = PaperCampaign._parameters(self)
        if self.published is None:
            return pruning
        return {**pruning, PUBLISHED: whole_threshold(PUBLISHED, self.published)}


def tree_questions(width: int, rows: int, cell_bits: int) -> Sequence[Sequence[Question]]:
    """Return the count sketches of all levels of the tree, and that of whole items."""
    levels = [Prefix(bits, rows, min(cell_bits, bits), 1) for bits in range(1, width + 1)]
    return [levels, levels[-1:]]


@dataclass(kw_only=True, eq=False, repr=False)
class SuccinctHist(PaperCampaign):
    """A campaign that finds the items held by at least `threshold` users (Bassily et al. 2020, Algorithm 6).

    Every user answers twice with epsilon / 2: for the bucket of the item together with one of its bits, and
    for the item itself. An item is found if in every bit it outweighs the rest of its bucket.
    docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: docs/ldp-paper.md gives those of the paper's lemma.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20.
    users:
        About how many users will report; a public number.
    bucket_bits:
        There are 2^bucket_bits buckets; by default about sqrt(users).
    threshold:
        Smallest count to find; by default 15 sqrt(users).
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = SuccinctHist(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client().report("tea")[-2] in range(4)
    True
    """

    bucket_bits: int | None = None

    def questions(self) -> Sequence[Sequence[Question]]:
        """Return the questions for every bit of the item beside its bucket, and for the whole item."""
        return bit_questions(self.encoding.width, self._bits(self.bucket_bits))


def bit_questions(width: int, bucket_bits: int) -> Sequence[Sequence[Question]]:
    """Return the questions for every bit of the item beside its bucket, and for the whole item."""
    return [[Chunk(bucket_bits, place, 1) for place in range(width)], [explicit_item(width)]]


@dataclass(kw_only=True, eq=False, repr=False)
class BitstogramPaper(PaperCampaign):
    """A campaign that finds the items held by at least `threshold` users (Bassily et al. 2020, Algorithm 8).

    Every user answers twice with epsilon / 2: for one bit of the item's codeword in the bucket of the item,
    in one of `repetitions` divisions into buckets, and for Hashtogram over whole items. Bits are decided one
    by one and decoded; the count of every item that results is estimated, and published if it reaches the
    threshold. docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: docs/ldp-paper.md gives those of the paper's lemma.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20.
    users:
        About how many users will report; a public number.
    repetitions:
        How many divisions into buckets there are.
    bucket_bits:
        Each division has 2^bucket_bits buckets; by default about sqrt(users).
    rows:
        Rows of Hashtogram, odd; by default the 285 of the paper's experiments.
    cell_bits:
        Each row has 2^cell_bits cells; by default about sqrt(users).
    threshold:
        Smallest count to find; by default 15 sqrt(users).
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Words
    >>> protocol = BitstogramPaper(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client().report("tea")[-2] in range(4)
    True
    """

    repetitions: int = REPETITIONS
    bucket_bits: int | None = None
    rows: int = ROWS
    cell_bits: int | None = None

    def questions(self) -> Sequence[Sequence[Question]]:
        """Return the questions for codewords of every part of the item, and for the whole item."""
        width = self.encoding.width
        whole = median_item(width, self.rows, self._bits(self.cell_bits))
        return [codeword_questions(width, self._bits(self.bucket_bits), self.repetitions), [whole]]


def codeword_questions(width: int, bucket_bits: int, repetitions: int) -> list[Question]:
    """Return the questions for codewords of every part of the item, all in the same buckets."""
    return [
        CodeBit(bucket_bits, columns(lowest, size), repetitions)
        for lowest, size in parts_of(width, MOST_PART_BITS)
    ]
