"""Bitstogram: heavy items found by chunks in buckets, every user asked once. Light; the search loads late."""

from __future__ import annotations

from hushcount.ldp.bitstogram_forecast import Forecast
from hushcount.ldp.bitstogram_plan import chunked, manifest_of
from hushcount.ldp.campaign import Campaign, Terms
from hushcount.ldp.encodings import Encoding

PROTOCOL = "bitstogram"


class Bitstogram(Campaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Items are hashed to buckets; one question for each chunk of an item asks for bucket and chunk together, a
    last one for the whole item. Every report counts in the estimate of every item (docs/ldp-bitstogram.md).

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: chunks and shares by bitstogram_plan.chunked; without a threshold, the least that is found
    reliably; `symbol_bits` is the length of a response in bits, by default that of the least variance.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    >>> from hushcount.ldp.words import Words
    >>> protocol = Bitstogram(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client(nonce=7).report("tea"))
    18
    """

    __slots__ = ("plan",)

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        threshold: float | None = None,
        symbol_bits: int | None = None,
        expires: int | None = None,
    ) -> None:
        plan = chunked(encoding.width)
        terms = Terms(epsilon, users, threshold, expires, symbol_bits)
        super().__init__(manifest_of(PROTOCOL, plan, encoding, terms))
        self.plan = Forecast.of(plan, self.manifest)
