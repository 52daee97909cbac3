"""Hashtogram of 002: a frequency oracle over any domain, the median of rows that hash the items."""

from __future__ import annotations

from hushcount.ldp.campaign import Campaign, Terms
from hushcount.ldp.encodings import Encoding
from hushcount.ldp.paper_campaign import median_item, paper_manifest, root_bits
from hushcount.ldp.paper_constants import ROWS

PROTOCOL = "hashtogram"


class Hashtogram(Campaign):
    """A campaign that estimates the count of any item it is asked about (002, Algorithm 7).

    Users are divided over `rows` rows of 2^cell_bits cells, each with a hash of its own; an estimate is the
    median of the rows. Every row's estimate is unbiased: the part of other items in its cell is taken off.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: by default 285 rows of about sqrt(users) cells; those of the lemmas: paper_constants.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    >>> from hushcount.ldp.encodings import Bytes
    >>> protocol = Hashtogram(Bytes(20), epsilon=1.0, users=1_000_000)
    >>> protocol.client(nonce=7).report(b"tea")[-1] in (0, 1)
    True
    """

    __slots__ = ()

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        rows: int = ROWS,
        cell_bits: int | None = None,
        threshold: float | None = None,
        expires: int | None = None,
    ) -> None:
        bits = root_bits(users) if cell_bits is None else cell_bits
        terms = Terms(epsilon, users, threshold, expires)
        question = median_item(encoding.width, rows, bits)
        super().__init__(paper_manifest(PROTOCOL, encoding, terms, [[question]]))
