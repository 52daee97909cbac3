"""Batches of a relay: whole, or refused."""

import pytest

from hushcount.errors import ParameterError, ReportError
from hushcount.ldp.wire.batch import pack_batch, unpack_batch

GOOD = pack_batch([bytes([number]) * 27 for number in range(4)])


def test_a_batch_holds_its_reports():
    assert len(GOOD) == 8 + 4 * 27 + 8
    assert unpack_batch(GOOD) == b"".join(bytes([number]) * 27 for number in range(4))
    assert unpack_batch(pack_batch([])) == b""


@pytest.mark.parametrize("torn", [GOOD[:-1], GOOD + b"x", GOOD[:40] + b"x" + GOOD[41:], GOOD[:12], GOOD[:4]])
def test_a_torn_batch_is_refused_whole(torn):
    with pytest.raises(ReportError) as error:
        unpack_batch(torn)
    assert str(error.value) == "the batch is damaged or was cut short, so none of its reports is taken."


def test_something_else_is_no_batch():
    with pytest.raises(ReportError) as error:
        unpack_batch(b"HCS1" + GOOD[4:])
    assert str(error.value) == "a batch must begin with HCB2."


def test_a_batch_of_broken_reports_is_not_made():
    with pytest.raises(ParameterError) as error:
        pack_batch(bytes(26))
    assert str(error.value) == "a batch holds whole reports of 27 bytes and at most 4294967295 of them."
