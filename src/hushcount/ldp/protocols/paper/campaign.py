"""What the protocols of Bassily et al. 2020 share: one-bit responses, equal shares of users and of epsilon.

Pure Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_DOWN, Decimal, localcontext

from hushcount.errors import ParameterError
from hushcount.ldp.protocols.campaign import Terms, expiry
from hushcount.ldp.protocols.paper.constants import HEAVY
from hushcount.ldp.wire.encodings import Encoding
from hushcount.ldp.wire.groups import ALL_SHARES, Group
from hushcount.ldp.wire.manifest import LARGEST_INTEGER, THRESHOLD, Manifest
from hushcount.ldp.wire.questions import Prefix, Question
from hushcount.ldp.wire.response import epsilon_text
from hushcount.privacy import check_count

WIDEST_LISTED = 20  # bits of items that an oracle can be asked about one by one
WIDEST_EXPLICIT = 24  # items of so many bits are cells of a table themselves
_HASHED_BITS = 20  # wider items are hashed to so many bits
_LAST_PLACE = Decimal("1e-18")


def paper_manifest(
    protocol: str,
    encoding: Encoding,
    terms: Terms,
    groups: Sequence[Sequence[Question]],
    parameters: Mapping[str, int | str] | None = None,
) -> Manifest:
    """Return the manifest of a campaign that asks for one bit in each group, at equal parts of epsilon."""
    text = epsilon_text(terms.epsilon)
    users = check_count("users", terms.users)
    part = epsilon_part(text, len(groups))
    asked = tuple(Group(part, 1, tuple(group), equal_shares(len(group))) for group in groups)
    wanted = HEAVY * math.sqrt(users) if terms.threshold is None else terms.threshold
    settings = {THRESHOLD: whole_threshold(THRESHOLD, wanted), **(parameters or {})}
    return Manifest(protocol, encoding, text, asked, users, expiry(terms.expires), settings)


def whole_threshold(name: str, value: float) -> int:
    """Return a threshold rounded up; it may exceed the number of users, as in the paper's proofs."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST_INTEGER:
        raise ParameterError(f"{name} must be above 0 and at most {LARGEST_INTEGER}, got {value!r}.")
    return math.ceil(value)


def epsilon_part(epsilon: str, parts: int) -> str:
    """Return an equal part of epsilon as a decimal, rounded down to 18 places.

    >>> epsilon_part("2", 2), epsilon_part("0.5", 2), epsilon_part("1", 1)
    ('1', '0.25', '1')
    """
    with localcontext() as context:
        context.prec, context.rounding = 40, ROUND_DOWN
        return epsilon_text((Decimal(epsilon) / parts).quantize(_LAST_PLACE))


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
