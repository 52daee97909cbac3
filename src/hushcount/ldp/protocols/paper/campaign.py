"""What the protocols of Bassily et al. 2020 share, and their oracles, ExplicitHist and Hashtogram.

Responses have one bit, and users and epsilon are divided equally. Pure Python.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.ldp.protocols.campaign import Campaign
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import LARGEST_INTEGER, THRESHOLD
from hushcount.ldp.wire.questions import Prefix, Question
from hushcount.ldp.wire.response import epsilon_part
from hushcount.privacy import check_count

ROWS = 285  # hash pairs in the experiments of the paper, section 4
HEAVY = 15  # there a count of HEAVY * sqrt(n) is heavy
WIDEST_LISTED = 20  # bits of items that an oracle can be asked about one by one
WIDEST_EXPLICIT = 24  # items of so many bits are cells of a table themselves
_HASHED_BITS = 20  # wider items are hashed to so many bits


@dataclass(kw_only=True, eq=False, repr=False)
class PaperCampaign(Campaign):
    """A campaign that asks for one bit in each group, at equal parts of epsilon."""

    @abstractmethod
    def questions(self) -> Sequence[Sequence[Question]]:
        """Return the questions of each group."""

    def _groups(self, epsilon: str) -> tuple[Group, ...]:
        """Return the groups, in each of which every question is asked of as many users."""
        groups = self.questions()
        part = epsilon_part(epsilon, len(groups))
        return tuple(Group(part, 1, tuple(group), equal_shares(len(group))) for group in groups)

    def _parameters(self) -> dict[str, int]:
        """Return the threshold, by default that of the paper's experiments."""
        wanted = HEAVY * math.sqrt(self.answers) if self.threshold is None else self.threshold
        return {THRESHOLD: whole_threshold(THRESHOLD, wanted)}

    def _bits(self, given: int | None) -> int:
        """Return the given bits of cells or buckets, by default those of about sqrt(users) of them."""
        return root_bits(self.answers) if given is None else given


def whole_threshold(name: str, value: float) -> int:
    """Return a threshold rounded up; it may exceed the number of users, as in the paper's proofs."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST_INTEGER:
        raise ParameterError(f"{name} must be above 0 and at most {LARGEST_INTEGER}, got {value!r}.")
    return math.ceil(value)


def equal_shares(questions: int) -> tuple[int, ...]:
    """Return shares of 2^32 that differ by at most 1.

    >>> equal_shares(3)
    (1431655766, 1431655765, 1431655765)
    """
    return tuple(ALL_SHARES // questions + (number < ALL_SHARES % questions) for number in range(questions))


def root_bits(users: int) -> int:
    """Return the bits of about sqrt(users) cells, as in the experiments of Bassily et al. 2020.

    >>> root_bits(10_000_000)
    12
    """
    return max(math.ceil(math.log2(check_count("users", users)) / 2), 1)


def odd_rows(rows: int) -> int:
    """Return an odd number of rows, so that their median is one of them, or raise."""
    if check_count("rows", rows) % 2 == 0:
        raise ParameterError(f"rows must be odd, so that one of them is the median, got {rows}.")
    return rows


def median_item(width: int, rows: int, cell_bits: int) -> Prefix:
    """Return Hashtogram's question: the item, hashed in each row without a sign."""
    return Prefix(width, odd_rows(rows), min(cell_bits, width))


def explicit_item(width: int) -> Prefix:
    """Return ExplicitHist's question: the item itself, or a hash of it if a table would be too large."""
    return Prefix(width, 1, width if width <= WIDEST_EXPLICIT else _HASHED_BITS)


@dataclass(kw_only=True, eq=False, repr=False)
class ExplicitHist(PaperCampaign):
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
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Categories
    >>> protocol = ExplicitHist(Categories(("tea", "milk", "salt")), epsilon=1.0, users=1000)
    >>> protocol.client().report("tea")[-2] in (0, 1)
    True
    """

    widest_listed = WIDEST_LISTED

    def questions(self) -> list[list[Question]]:
        """Return the question for the item itself."""
        width = self.encoding.width
        if width > WIDEST_EXPLICIT:
            raise ParameterError(
                f"ExplicitHist takes items of at most {WIDEST_EXPLICIT} bits, got {width}; use Hashtogram."
            )
        return [[explicit_item(width)]]


@dataclass(kw_only=True, eq=False, repr=False)
class Hashtogram(PaperCampaign):
    """A campaign that estimates the count of any item it is asked about (Bassily et al. 2020, Algorithm 7).

    Users are divided over rows of hashed cells, each row with a hash of its own; the estimate is the median
    of the rows. That of each row is unbiased: the average share of other items in its cell is subtracted.

    Theorem: every report is epsilon-locally differentially private.
    Neighbours: any two items of one user, or an item and none.
    Parameters: docs/ldp-paper.md gives those of the paper's lemmas.
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
    reports:
        Reports of each user, each about another of their items at an equal part of epsilon; by default one.
    terms:
        Who runs the campaign and what they promise, as `hushcount.ldp.Terms`; by default nobody is named.

    Examples
    --------
    >>> from hushcount.ldp.wire.encodings import Bytes
    >>> protocol = Hashtogram(Bytes(20), epsilon=1.0, users=1_000_000)
    >>> protocol.client().report(b"tea")[-2] in (0, 1)
    True
    """

    widest_listed = WIDEST_LISTED
    rows: int = ROWS
    cell_bits: int | None = None

    def questions(self) -> list[list[Question]]:
        """Return the question for the item, hashed in each row."""
        return [[median_item(self.encoding.width, self.rows, self._bits(self.cell_bits))]]
