"""SuccinctHist (Bassily et al. 2020): heavy items are found bit by bit in buckets, then counted."""

from __future__ import annotations

from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.protocols.paper.campaign import explicit_item, paper_manifest, root_bits
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.questions import Chunk, Question


class SuccinctHist(Campaign):
    """A campaign that finds the items held by at least `threshold` users (Bassily et al. 2020, Algorithm 6).

    Every user answers twice with epsilon / 2: for the bucket of the item together with one of its bits, and
    for the item itself. An item is found if in every bit it outweighs the rest of its bucket.
    docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: constants.succinct_proof gives those of the paper's lemma.
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

    Examples
    --------
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
    """Return the questions: every bit of the item beside its bucket, and the whole item."""
    return [[Chunk(bucket_bits, place, 1) for place in range(width)], [explicit_item(width)]]
