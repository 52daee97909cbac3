"""ExplicitHist of 002: a frequency oracle that asks every user for one bit of a row of a public matrix."""

from __future__ import annotations

from hushcount.errors import ParameterError
from hushcount.ldp.campaign import Campaign, Terms
from hushcount.ldp.encodings import Encoding
from hushcount.ldp.paper_campaign import WIDEST_EXPLICIT, explicit_item, paper_manifest

PROTOCOL = "explicit_hist"


class ExplicitHist(Campaign):
    """A campaign that estimates the count of every item of a small domain (002, Algorithm 5).

    The matrix Z is Hadamard's, its column picked by the nonce, so a table of all items is summed up once.
    An estimate of f is unbiased with variance n a^2 - f, a = (e^epsilon + 1) / (e^epsilon - 1).

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: items of at most 24 bits; `threshold` is what heavy_hitters publishes from, 15 sqrt(users).
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    >>> from hushcount.ldp.encodings import Categories
    >>> protocol = ExplicitHist(Categories(("tea", "milk", "salt")), epsilon=1.0, users=1000)
    >>> protocol.client(nonce=7).report("tea")[-1] in (0, 1)
    True
    """

    __slots__ = ()

    def __init__(
        self,
        encoding: Encoding,
        *,
        epsilon: float | str,
        users: int,
        threshold: float | None = None,
        expires: int | None = None,
    ) -> None:
        if encoding.width > WIDEST_EXPLICIT:
            raise ParameterError(
                f"ExplicitHist takes items of at most {WIDEST_EXPLICIT} bits, got {encoding.width};"
                " use Hashtogram."
            )
        terms = Terms(epsilon, users, threshold, expires)
        super().__init__(paper_manifest(PROTOCOL, encoding, terms, [[explicit_item(encoding.width)]]))
