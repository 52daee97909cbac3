"""Bitstogram as in Bassily et al. 2020: bits of codewords in buckets, repeated, then Hashtogram."""

from __future__ import annotations

from typing import NamedTuple

from hushcount.ldp.protocols.bitstogram.plan import columns, divide
from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.protocols.paper.campaign import median_item, paper_manifest, root_bits
from hushcount.ldp.protocols.paper.constants import ROWS
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.questions import CodeBit, Question

MOST_PART_BITS = 15  # of an item in one codeword of 128 places, of which 27 may be wrong
REPETITIONS = 2


class BitstogramPaper(Campaign):
    """A campaign that finds the items held by at least `threshold` users (Bassily et al. 2020, Algorithm 8).

    Every user answers twice with epsilon / 2: for one bit of the item's codeword in the bucket of the item,
    in one of `repetitions` divisions into buckets, and for Hashtogram over whole items. Bits are decided one
    by one and decoded; the count of every item that results is estimated, and published if it reaches the
    threshold. docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: constants.bitstogram_proof gives those of the paper's lemma.
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

    Examples
    --------
    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = BitstogramPaper(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client(nonce=7).report("tea")[-1] in range(4)
    True
    """

    __slots__ = ()

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        repetitions: int = REPETITIONS,
        bucket_bits: int | None = None,
        rows: int = ROWS,
        cell_bits: int | None = None,
        threshold: float | None = None,
        expires: int | None = None,
    ) -> None:
        buckets = root_bits(users) if bucket_bits is None else bucket_bits
        cells = root_bits(users) if cell_bits is None else cell_bits
        terms = Terms(epsilon, users, threshold, expires)
        groups = questions_of(encoding.width, Sizes(buckets, repetitions, rows, cells))
        super().__init__(paper_manifest(self.protocol_name(), encoding, terms, groups))


class Sizes(NamedTuple):
    """The sizes of the two parts: buckets and Hashtogram."""

    bucket_bits: int
    repetitions: int
    rows: int
    cell_bits: int


def questions_of(width: int, sizes: Sizes) -> list[list[Question]]:
    """Return the questions: codewords of every part of the item, in shared buckets, and the whole item."""
    identifying: list[Question] = [
        CodeBit(sizes.bucket_bits, columns(lowest, size), sizes.repetitions)
        for lowest, size in parts_of(width)
    ]
    return [identifying, [median_item(width, sizes.rows, sizes.cell_bits)]]


def parts_of(width: int) -> list[tuple[int, int]]:
    """Return the parts of an item that have codewords of their own: lowest bit and length, from the top down.

    >>> parts_of(30)
    [(15, 15), (0, 15)]
    """
    parts, left = [], width
    for size in divide(width, MOST_PART_BITS):
        left -= size
        parts.append((left, size))
    return parts
