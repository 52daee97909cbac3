"""Bitstogram: heavy items are found in hash buckets, and every user is asked once. Pure Python."""

from __future__ import annotations

from hushcount.ldp.protocols.bitstogram.forecast import Forecast
from hushcount.ldp.protocols.bitstogram.plan import chunked, coded, manifest_of
from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.wire.encodings import Encoding


class Bitstogram(Campaign):
    """A campaign that finds the items held by at least `threshold` of about `users` users.

    Items are hashed to buckets. One question for each chunk of an item asks for bucket and chunk together; a
    last question asks for the whole item. Every report counts in the estimate of every item
    (docs/ldp-bitstogram.md).

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: chunks and shares by plan.chunked.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20; a text keeps its decimal digits exactly.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    symbol_bits:
        Bits of a response, 1 to 5; by default those of the smallest variance.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.

    Examples
    --------
    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = Bitstogram(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> len(protocol.client(nonce=7).report("tea"))
    18
    """

    __slots__ = ()
    plan: Forecast

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
        manifest = manifest_of(self.protocol_name(), plan, encoding, terms)
        super().__init__(manifest, Forecast.of(plan, manifest))


class BitstogramBinary(Campaign):
    """A campaign that finds the items held by at least `threshold` users from one-bit responses.

    Items are hashed to buckets. A report flips its parity of the bucket by one bit of the item's codeword in
    the extended BCH(128, 29) code; the server decodes each bucket from the sizes of its estimates. A last
    question asks for the whole item.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: parts and shares by plan.coded.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/acceptance/test_ldp_bitstogram.py

    Parameters
    ----------
    encoding:
        How items become integers, such as `Words` or `Integers`.
    epsilon:
        Privacy loss of one report, above 0 and at most 20; a text keeps its decimal digits exactly.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest count to find; by default the smallest that is found reliably.
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.

    Examples
    --------
    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = BitstogramBinary(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
    >>> protocol.client(nonce=7).report("tea")[-1] in (0, 1)
    True
    """

    __slots__ = ()
    plan: Forecast

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
        manifest = manifest_of(self.protocol_name(), plan, encoding, terms)
        super().__init__(manifest, Forecast.of(plan, manifest))
