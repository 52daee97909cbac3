"""Batches of reports, as a relay sends them: a name, a count, the reports, a checksum. Pure Python.

    HCB2 (4 bytes) | number of reports (4, little-endian) | reports (27 each) | start of SHA-256 (8)

The checksum is of all bytes before it, so a batch that was cut short is refused whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.versions import DRAWN

MAGIC = b"HCB2"
MOST_REPORTS = (1 << 32) - 1
_FRONT = len(MAGIC) + 4
_CHECKSUM = 8


def pack_batch(reports: bytes | Sequence[bytes]) -> bytes:
    """Return reports of version 2 as one batch.

    Parameters
    ----------
    reports:
        Packed reports, one after the other, or a list of single ones.

    Examples
    --------
    >>> unpack_batch(pack_batch([bytes(27), bytes(27)])) == bytes(54)
    True
    """
    joined = reports if isinstance(reports, bytes) else b"".join(reports)
    count, rest = divmod(len(joined), DRAWN.report_bytes)
    if rest or count > MOST_REPORTS:
        raise ParameterError(
            f"a batch holds whole reports of {DRAWN.report_bytes} bytes and at most {MOST_REPORTS} of them."
        )
    body = MAGIC + count.to_bytes(4, "little") + joined
    return body + sha256(body).digest()[:_CHECKSUM]


def unpack_batch(batch: bytes) -> bytes:
    """Return the packed reports of a batch, or raise ReportError if it is torn or of another kind.

    Parameters
    ----------
    batch:
        The bytes of one batch.
    """
    if batch[: len(MAGIC)] != MAGIC:
        raise ReportError(f"a batch must begin with {MAGIC.decode()}.")
    body, checksum = batch[:-_CHECKSUM], batch[-_CHECKSUM:]
    count = int.from_bytes(body[len(MAGIC) : _FRONT], "little")
    if len(body) != _FRONT + count * DRAWN.report_bytes or sha256(body).digest()[:_CHECKSUM] != checksum:
        raise ReportError("the batch is damaged or was cut short, so none of its reports is taken.")
    return body[_FRONT:]
