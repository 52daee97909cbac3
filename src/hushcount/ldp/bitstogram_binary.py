"""Bitstogram with one bit a report: the bits of a codeword of the item in each bucket."""

from __future__ import annotations

from hushcount.ldp.bitstogram_forecast import Forecast
from hushcount.ldp.bitstogram_plan import coded, manifest_of
from hushcount.ldp.campaign import Campaign, Terms
from hushcount.ldp.encodings import Encoding

PROTOCOL = "bitstogram_binary"


class BitstogramBinary(Campaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users, one bit a report.

    Items are hashed to buckets. A report flips its parity of the bucket by one bit of the item's codeword in
    the extended BCH(128, 29) code; the server decodes each bucket softly. A last question is for whole items.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: parts and shares by bitstogram_plan.coded; without a threshold, the least that is found
    reliably.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    >>> from hushcount.ldp.words import Words
    >>> protocol = BitstogramBinary(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client(nonce=7).report("tea")[-1] in (0, 1)
    True
    """

    __slots__ = ("plan",)

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        threshold: float | None = None,
        expires: int | None = None,
    ) -> None:
        plan = coded(encoding.width)
        terms = Terms(epsilon, users, threshold, expires, symbol_bits=1)
        super().__init__(manifest_of(PROTOCOL, plan, encoding, terms))
        self.plan = Forecast.of(plan, self.manifest)
