"""TreeHist as in Bassily et al. 2020: a binary prefix tree, count sketches, medians, two responses."""

from __future__ import annotations

from hushcount.ldp.protocols.campaign import Campaign, Terms
from hushcount.ldp.protocols.paper.campaign import odd_rows, paper_manifest, root_bits, whole_threshold
from hushcount.ldp.protocols.paper.constants import ROWS
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.questions import Prefix

PUBLISHED = "published"  # parameter: the threshold of the final estimates, if it is not that of pruning


class TreeHistPaper(Campaign):
    """A campaign that finds the items held by at least `threshold` users.

    Bassily et al. 2020, Algorithms 1 to 3. Every user answers twice with epsilon / 2: for the count sketch of
    one level of the binary prefix tree, and for that of whole items. Prefixes whose estimate reaches the
    threshold are followed; the counts of the items at the end are estimated from the second answers.
    docs/ldp-paper.md lists what differs from the paper.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: by default those of the paper's experiments; constants.tree_proof gives those of its proof.
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

    Examples
    --------
    >>> from hushcount.ldp.wire.words import Words
    >>> protocol = TreeHistPaper(Words("abcdefghijklmnopqrstuvwxyz", 6), epsilon=2.0, users=10_000_000)
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
        rows: int = ROWS,
        cell_bits: int | None = None,
        threshold: float | None = None,
        published: float | None = None,
        expires: int | None = None,
    ) -> None:
        bits = root_bits(users) if cell_bits is None else cell_bits
        terms = Terms(epsilon, users, threshold, expires)
        more = {} if published is None else {PUBLISHED: whole_threshold(PUBLISHED, published)}
        groups = questions_of(encoding.width, odd_rows(rows), bits)
        super().__init__(paper_manifest(self.protocol_name(), encoding, terms, groups, more))


def questions_of(width: int, rows: int, cell_bits: int) -> list[list[Prefix]]:
    """Return the count sketches of all levels of the tree, and that of whole items."""
    levels = [Prefix(bits, rows, min(cell_bits, bits), 1) for bits in range(1, width + 1)]
    return [levels, levels[-1:]]
