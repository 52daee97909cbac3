"""SuccinctHist of 002: heavy items found bit by bit in buckets, then counted by an explicit histogram."""

from __future__ import annotations

from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.protocols.paper.campaign import explicit_item, paper_manifest, root_bits
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.questions import Chunk, Question


class SuccinctHist(Campaign):
    """A campaign that finds the items held by at least `threshold` users (002, Algorithm 6).

    Every user answers twice at epsilon / 2: where the bucket of the item and one of its bits lie, and where
    the item lies. An item is found if it outweighs the rest of its bucket in every bit.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: 2^bucket_bits buckets, by default about sqrt(users); threshold 15 sqrt(users).
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = SuccinctHist(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
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
        bucket_bits: int | None = None,
        threshold: float | None = None,
        expires: int | None = None,
    ) -> None:
        bits = root_bits(users) if bucket_bits is None else bucket_bits
        terms = Terms(epsilon, users, threshold, expires)
        groups = questions_of(encoding.width, bits)
        super().__init__(paper_manifest(self.protocol_name(), encoding, terms, groups))


def questions_of(width: int, bucket_bits: int) -> list[list[Question]]:
    """Every bit of the item beside its bucket, and the whole item."""
    return [[Chunk(bucket_bits, place, 1) for place in range(width)], [explicit_item(width)]]
