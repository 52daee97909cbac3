"""Files of reports: one malformed report costs no other, in whatever blocks the file is read."""

import io
import random

import numpy as np
import pytest
from tests.unit.ldp.server.test_aggregator import CAMPAIGN, many, packed, report

from hushcount.errors import ParameterError
from hushcount.ldp.server import reports as reading
from hushcount.ldp.server.aggregator import Aggregator

GOOD = packed(*many(3000))
LENGTH, VERSION, OTHER = "length", "version", "campaign"


def counted(data):
    """Reports counted, and those refused with their reasons."""
    aggregator = Aggregator(CAMPAIGN).read(io.BytesIO(data))
    return aggregator.reports, {reason: number for reason, number in aggregator.refused.items() if number}


def inserted(data, place, more):
    """The file with something between two reports."""
    return data[: 18 * place] + more + data[18 * place :]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (GOOD, (3000, {})),
        (b"0" * 18 + GOOD, (3000, {VERSION: 1})),
        (inserted(GOOD, 6, GOOD[:17]), (3000, {LENGTH: 1})),
        (inserted(GOOD, 6, GOOD[:19]), (3000, {LENGTH: 1, "duplicate": 1})),
        (inserted(GOOD, 6, b"x"), (3000, {LENGTH: 1})),
        (inserted(GOOD, 6, b"\n" * 40), (3000, {LENGTH: 1, VERSION: 2})),
        (inserted(GOOD, 6, b"\1" * 36), (3000, {OTHER: 2})),
        (GOOD[5:], (2999, {LENGTH: 1})),
        (GOOD[:-5], (2999, {LENGTH: 1})),
        (GOOD + b"\1\2", (3000, {LENGTH: 1})),
        (b"", (0, {})),
        (b"\0" * 10_000, (0, {VERSION: 555, LENGTH: 1})),
    ],
)
def test_one_malformed_report_costs_no_other(monkeypatch, data, expected):
    assert counted(data) == expected
    aggregator = Aggregator(CAMPAIGN).add(data)
    assert aggregator.reports == expected[0]
    for size in (1, 2, 7):  # blocks of so many reports
        monkeypatch.setattr(reading, "_BLOCK", size)
        assert counted(data) == expected


def test_a_report_that_carries_a_header_hurts_itself_alone():
    header = report(1)[:9]
    hostile = header + header[:8] + bytes((1,))  # its nonce begins like a report
    data = packed(*many(10))
    for place in range(11):
        number, refused = counted(inserted(data, place, hostile))
        assert number >= 10
        assert sum(refused.values()) <= 1


def test_random_damage():
    """Every report that was left whole is counted, unless a damaged one before it hides its first byte."""
    generator = random.Random(5)
    for _ in range(50):
        data = packed(*many(200))
        pieces = [data[start : start + 18] for start in range(0, len(data), 18)]
        damaged = set(generator.sample(range(200), 20))
        for place in damaged:
            size = generator.choice([0, 3, 9, 17, 19, 40])
            pieces[place] = bytes(generator.randrange(2, 256) for _ in range(size))
        assert counted(b"".join(pieces))[0] == 200 - len(damaged)


def test_lines(tmp_path):
    lines = [report(nonce).hex() for nonce in range(1, 5)]
    text = "\n".join([lines[0], "zz", lines[1].upper(), "", lines[2] + " ", lines[3][:-2], "0" * 5000]) + "\n"
    aggregator = Aggregator(CAMPAIGN).read(io.BytesIO(text.encode()), "hex")
    assert (aggregator.reports, aggregator.refused[LENGTH]) == (3, 8)  # the long line in five pieces


def test_progress_and_the_form():
    read = []
    Aggregator(CAMPAIGN).read(io.BytesIO(GOOD), tell=read.append)
    assert sum(read) == len(GOOD)
    with pytest.raises(ParameterError) as caught:
        Aggregator(CAMPAIGN).read(io.BytesIO(GOOD), "csv")
    assert str(caught.value) == "form must be one of packed, hex, batch, got 'csv'."


def test_the_end_of_a_campaign_holds_for_files():
    aggregator = Aggregator(CAMPAIGN).read(io.BytesIO(GOOD), now=CAMPAIGN.expires)
    assert (aggregator.reports, aggregator.refused["expired"]) == (0, 3000)


def test_nonces_are_a_set():
    nonces = reading.NonceSet()
    values = np.random.default_rng(3).integers(0, 5000, 20_000).astype(np.uint64)
    seen = set()
    for start in range(0, len(values), 700):
        block = values[start : start + 700]
        expected = []
        for value in block.tolist():
            expected.append(value not in seen)
            seen.add(value)
        assert nonces.add(block[:, None]).tolist() == expected
        assert len(nonces) == len(seen)
