"""One rule by which rows go to shards."""

import pytest

from hushcount.errors import ParameterError
from hushcount.jobs.choices import Partitioning


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({}, "key"),
        ({"by": "key"}, "key"),
        ({"row_id": "line"}, "row id"),
        ({"user": "who"}, "user"),
        ({"by": "file", "files_cut_by": "country"}, "file"),
    ],
)
def test_the_rule_is_said(options, rule):
    assert (
        Partitioning(3, **options).note == f"Rows are assigned to 3 shards by a keyed hash of their {rule}."
    )


def test_only_an_assertion_is_assumed():
    assert Partitioning(3).assumptions == ()
    assert Partitioning(3, row_id="line").assumptions == (
        "row ids belong to the rows: none depends on other rows or on how Spark splits the data (asserted by"
        " the caller)",
    )
    assert Partitioning(3, "file", files_cut_by="day").assumptions == (
        "files are cut by day, an attribute of the row, not by count or size (asserted by the caller)",
    )


ASSERTION = (
    'partition_by="file" needs files_cut_by, your statement of the attribute of a row on which alone its file'
    " depends; nothing else takes it."
)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shards": 0}, "shards must be at least 1, got 0."),
        ({"shards": True}, "shards must be a whole number, got True."),
        ({"shards": 65537}, "shards must be at most 65536, got 65537."),
        ({"by": "size"}, "partition_by must be one of key, file, got size."),
        (
            {"by": "key", "row_id": "a"},
            "Rows are assigned to shards by one rule, got row_id and partition_by.",
        ),
        ({"user": "u", "row_id": "a"}, "Rows are assigned to shards by one rule, got user and row_id."),
        (
            {"user": "u", "row_id": "a", "by": "key"},
            "Rows are assigned to shards by one rule, got user and row_id and partition_by.",
        ),
        ({"by": "file"}, ASSERTION),
        ({"by": "file", "files_cut_by": ""}, ASSERTION),
        ({"by": "file", "files_cut_by": "  "}, ASSERTION),
        ({"files_cut_by": "country"}, ASSERTION),
    ],
)
def test_refusals(options, sentence):
    with pytest.raises(ParameterError) as refused:
        Partitioning(**options)
    assert str(refused.value) == sentence


def test_counters_by_default():
    """131072 counters in each of 64 shards would be eight million rows on the driver."""
    import inspect

    from hushcount.jobs import choices, top
    from hushcount.jobs.spark import release

    assert (choices.PER_SHARD, top.COUNTERS) == (16384, 131072)
    for function in (
        top.top,
        release.top,
    ):  # it depends on the engine, and on whether anything asks for sketches
        assert inspect.signature(function).parameters["counters"].default is None
