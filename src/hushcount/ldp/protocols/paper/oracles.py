"""ExplicitHist and Hashtogram (Bassily et al. 2020), which estimate the count of any item."""

from __future__ import annotations

from hushcount.errors import ParameterError
from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.protocols.paper.campaign import (
    WIDEST_EXPLICIT,
    WIDEST_LISTED,
    explicit_item,
    median_item,
    paper_manifest,
    root_bits,
)
from hushcount.ldp.protocols.paper.constants import ROWS
from hushcount.ldp.wire.encodings import Encoding


class ExplicitHist(Campaign):
    """A campaign that estimates the count of every item of a small domain (Bassily et al. 2020, Algorithm 5).

    Every user sends one bit of a row of a public matrix. The matrix is Hadamard's, with its column picked by
    the nonce, so one table of all items is summed up. The estimate of a count f is unbiased with variance
    n a^2 - f, where a = (e^epsilon + 1) / (e^epsilon - 1).

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: items of at most 24 bits.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    Parameters
    ----------
    encoding:
        How items become integers of at most 24 bits.
    epsilon:
        Privacy loss of one report, above 0 and at most 20.
    users:
        About how many users will report; a public number.
    threshold:
        Smallest estimate that `heavy_hitters` publishes; by default 15 sqrt(users).
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Categories
    >>> protocol = ExplicitHist(Categories(("tea", "milk", "salt")), epsilon=1.0, users=1000)
    >>> protocol.client(nonce=7).report("tea")[-1] in (0, 1)
    True
    """

    __slots__ = ()
    widest_listed = WIDEST_LISTED

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
        groups = [[explicit_item(encoding.width)]]
        super().__init__(paper_manifest(self.protocol_name(), encoding, terms, groups))


class Hashtogram(Campaign):
    """A campaign that estimates the count of any item it is asked about (Bassily et al. 2020, Algorithm 7).

    Users are divided over rows of hashed cells, each row with a hash of its own; the estimate is the median
    of the rows. That of each row is unbiased: the average share of other items in its cell is subtracted.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: `constants` gives those of the paper's lemmas.
    Proof: docs/proofs/ldp.md. Checked by: tests/privacy/test_ldp.py, tests/statistical/test_ldp_paper.py

    Parameters
    ----------
    encoding:
        How items become integers. `heavy_hitters` can list items of at most 20 bits; for wider ones ask
        `hushcount.ldp.frequencies` about chosen items.
    epsilon:
        Privacy loss of one report, above 0 and at most 20.
    users:
        About how many users will report; a public number.
    rows:
        Number of rows, odd; by default the 285 of the paper's experiments.
    cell_bits:
        Each row has 2^cell_bits cells; by default about sqrt(users).
    threshold:
        Smallest estimate that `heavy_hitters` publishes; by default 15 sqrt(users).
    expires:
        End of the campaign in seconds since 1970; by default thirty days from now.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Bytes
    >>> protocol = Hashtogram(Bytes(20), epsilon=1.0, users=1_000_000)
    >>> protocol.client(nonce=7).report(b"tea")[-1] in (0, 1)
    True
    """

    __slots__ = ()
    widest_listed = WIDEST_LISTED

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
        groups = [[median_item(encoding.width, rows, bits)]]
        super().__init__(paper_manifest(self.protocol_name(), encoding, terms, groups))
