"""Questions: the cell and the flip of an item, and what a manifest may ask."""

import pytest

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.public_randomness import PublicRandomness, multiply_shift
from hushcount.ldp.wire.questions import KINDS, Chunk, CodeBit, Prefix, QuestionPlace, from_dict

PUBLIC = PublicRandomness(bytes(32))


def place(row=0, extra=0, width=30, question=2):
    return QuestionPlace(PUBLIC, width, 1, question, row, extra)


def hashed(purpose, question, row, value, shape):
    width, bits = shape
    return multiply_shift(value, PUBLIC.constants(purpose, (1, question, row), 1 + -(-width // 32)), bits)


def test_a_short_prefix_is_its_own_cell():
    assert Prefix(15, 1, 15).cell(0b1011 << 26, place()) == (0b1011 << 11, 0)


def test_a_long_prefix_is_hashed_in_each_row():
    value = 123_456_789
    cells = [Prefix(20, 16, 8).cell(value, place(row)) for row in range(16)]
    assert cells == [(hashed(b"cell", 2, row, value >> 10, (20, 8)), 0) for row in range(16)]
    assert len(set(cells)) > 8


def test_a_signed_prefix_is_flipped_by_another_hash():
    value = 123_456_789
    flips = [Prefix(30, 64, 8, 1).cell(value, place(row))[1] for row in range(64)]
    assert flips == [hashed(b"sign", 2, row, value, (30, 1)) for row in range(64)]
    assert set(flips) == {0, 1}


def test_a_chunk_stands_below_the_bucket_of_the_whole_item():
    value = (0b1111 << 20) | (0b1100000011 << 10) | 5
    for start, chunk in [(0, 0b1111), (10, 0b1100000011), (20, 5)]:
        bucket = hashed(b"bucket", 65535, 3, value, (30, 12))
        assert Chunk(12, start, 10, 4).cell(value, place(3)) == (bucket << 10 | chunk, 0)


def test_chunks_of_all_questions_share_the_bucket():
    cells = [Chunk(12, 10 * part, 10).cell(987_654_321, place(question=part))[0] for part in range(3)]
    assert len({cell >> 10 for cell in cells}) == 1


def test_top_bits_kept_in_the_bucket_come_back():
    value = 0b10110 << 25 | 4711
    bucket = Chunk(12, 0, 1, quotient_bits=5).cell(value, place())[0] >> 1
    assert bucket ^ hashed(b"bucket", 65535, 0, 4711, (25, 12)) == 0b10110


def test_a_code_bit_flips_by_the_column_that_the_extra_word_picks():
    columns = (0b01, 0b10, 0b11, 0b100)
    question = CodeBit(12, columns, 2)
    for part, column in enumerate(columns):
        for value in range(8):
            cell, flip = question.cell(value, place(1, part << 30))
            assert flip == bin(column & value).count("1") % 2
            assert cell == hashed(b"bucket", 65535, 1, value, (30, 12))
    assert question.position((1 << 32) - 1) == 3


def test_shapes():
    assert (Prefix(30, 16, 18).cell_bits, Prefix(30, 16, 18).hashed, Prefix(15, 1, 15).hashed) == (
        18,
        True,
        False,
    )
    assert (Chunk(12, 0, 10).cell_bits, CodeBit(12, (1, 2)).cell_bits) == (22, 12)
    assert [
        Prefix(3, 1, 3).flips,
        Prefix(3, 1, 3, 1).flips,
        Chunk(1, 0, 1).flips,
        CodeBit(1, (1,)).flips,
    ] == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("question", "least"),
    [
        (Prefix(15, 1, 15), 15),
        (Chunk(12, 20, 10), 30),
        (Chunk(12, 0, 1, quotient_bits=4), 5),
        (CodeBit(4, (1, 1 << 28)), 29),
        (CodeBit(4, (1, 1), quotient_bits=4), 5),
    ],
    ids=repr,
)
def test_least_width_of_an_item(question, least):
    assert question.fits(least)
    assert question.fits(least + 1)
    assert not question.fits(least - 1)


@pytest.mark.parametrize(
    "question",
    [Prefix(15, 1, 15), Prefix(30, 285, 12, 1), Chunk(12, 10, 10, 2), CodeBit(12, (1, 1 << 99), 3)],
    ids=repr,
)
def test_fields_come_back(question):
    assert from_dict(question.to_dict()) == question
    assert type(question) is KINDS[question.kind]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Prefix(0, 1, 1), "bits must be at least 1, got 0."),
        (lambda: Prefix(1025, 1, 10), "bits must be at most 1024, got 1025."),
        (lambda: Prefix(5, 0, 5), "rows must be at least 1, got 0."),
        (lambda: Prefix(5, 65537, 5), "rows must be at most 65536, got 65537."),
        (lambda: Prefix(5, 1, 6), "cell_bits must be at most 5, got 6."),
        (lambda: Prefix(50, 1, 33), "cell_bits must be at most 32, got 33."),
        (lambda: Prefix(5, 1, 5, 2), "signed must be at most 1, got 2."),
        (lambda: Prefix(5, 1, True), "cell_bits must be a whole number, got True."),
        (lambda: Chunk(0, 0, 1), "bucket_bits must be at least 1, got 0."),
        (lambda: Chunk(12, -1, 1), "start must be at least 0, got -1."),
        (lambda: Chunk(12, 0, 0), "bits must be at least 1, got 0."),
        (lambda: Chunk(12, 0, 21), "bucket_bits + bits must be at most 32, got 33."),
        (lambda: Chunk(12, 0, 1, quotient_bits=13), "quotient_bits must be at most 12, got 13."),
        (lambda: CodeBit(33, (1,)), "bucket_bits must be at most 32, got 33."),
        (lambda: CodeBit(12, ()), "the number of columns must be at least 1, got 0."),
        (lambda: CodeBit(12, (1, 2, 3)), "the number of columns must be a power of two, got 3."),
        (lambda: CodeBit(12, (1, 0)), "a column must be at least 1, got 0."),
    ],
)
def test_bad_parameters(make, text):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == text


UNKNOWN = "the kind of a question must be one that this version knows, got "


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (None, UNKNOWN + "None."),
        ({"kind": {}}, UNKNOWN + "{}."),
        ({"kind": "name"}, UNKNOWN + "'name'."),
        ({"kind": "prefix", "bits": 5}, "the fields of a question of kind prefix break its rules."),
        (
            {"kind": "code_bit", "bucket_bits": 5, "columns": ["x"]},
            "the fields of a question of kind code_bit break its rules.",
        ),
        (
            {"kind": "code_bit", "bucket_bits": 5, "columns": 5},
            "the fields of a question of kind code_bit break its rules.",
        ),
        (
            {"kind": "code_bit", "bucket_bits": 5, "columns": [5]},
            "the fields of a question of kind code_bit break its rules.",
        ),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ManifestError) as error:
        from_dict(fields)
    assert str(error.value) == text
