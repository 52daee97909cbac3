"""Tables of sampling probabilities."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from hushcount.errors import ParameterError
from hushcount.mechanisms.sampling.tabled import SamplingTable, table_from_fields


def test_a_table_serves_larger_counts_by_its_last_probability():
    table = SamplingTable([0.0, 0.25, Fraction(1, 3)])
    assert table.probability([-1, 0, 1, 2, 3, 10**12]).tolist() == [0, 0, 0, 0.25, 1 / 3, 1 / 3]
    assert [table.integer_probability(count, 2) for count in range(5)] == [0, 0, 1, 1, 1]
    assert table.certain_from(64) is None
    assert SamplingTable([0.5, 1, 1]).certain_from(64) == 2


def test_a_function_is_asked_count_by_count():
    table = SamplingTable.of(lambda count: 1 - 0.5**count, last=20)
    assert table.probabilities[:3] == (0.5, 0.75, 0.875)
    assert table.name == "table of 20 probabilities"


def test_a_table_survives_the_header_of_a_file():
    table = SamplingTable([0.1, Fraction(1, 3), 0.7])
    fields = json.loads(json.dumps(table.fields()))
    assert fields.pop("name") == "table"
    again = table_from_fields(**fields)
    assert again == table
    assert [type(each) for each in again.probabilities] == [float, Fraction, float]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: SamplingTable((0.5, 0.4)),
            "probabilities must not decrease with the count, got 0.4 after 0.5.",
        ),
        (lambda: SamplingTable((0.5, 1.1)), "probabilities must lie between 0 and 1, got 1.1."),
        (lambda: SamplingTable((math.nan,)), "probabilities must lie between 0 and 1, got nan."),
        (lambda: SamplingTable(("a",)), "probabilities must lie between 0 and 1, got a."),
        (lambda: SamplingTable(()), "probabilities must be between 1 and 65,536 numbers, got 0."),
        (
            lambda: SamplingTable([0.1] * 65_537),
            "probabilities must be between 1 and 65,536 numbers, got 65,537.",
        ),
        (
            lambda: SamplingTable.of(lambda count: 1 / count, last=9),
            "probabilities must not decrease with the count, got 0.5 after 1.0.",
        ),
        (lambda: SamplingTable.of(lambda count: 1, last=0), "last must be at least 1, got 0."),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(make, text):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == text
