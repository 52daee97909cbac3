"""Encodings: items to integers and back; what does not fit is None, never an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.errors import ManifestError, ParameterError
from hushcount.ldp.wire.encodings import Bytes, Categories, Integers, PackedWords, Words, from_dict

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ENCODINGS = [
    Words(LETTERS, 6),
    Words("ab", 3, 1),
    PackedWords(LETTERS, 6),
    PackedWords("äß", 4),
    Bytes(3),
    Bytes(2, 1),
    Integers(1),
    Integers(64),
    Categories(("tea", "milk", "salt")),
]


def test_a_letter_of_26_takes_five_bits_and_padding_is_zero():
    words = Words(LETTERS, 6)
    assert (words.width, words.symbol_bits, words.symbols, words.padded) == (30, 5, 27, True)
    assert words.encode("az") == 1 << 25 | 26 << 20
    assert words.encode("") == 0
    assert words.decode(0) == ""


def test_a_prefix_is_the_top_bits():
    words = Words(LETTERS, 6)
    assert words.encode("banana") >> 15 == words.encode("ban") >> 15
    assert words.encode("banana") >> 15 != words.encode("bat") >> 15


def test_words_of_26_letters_pack_into_29_bits():
    words = PackedWords(LETTERS, 6)
    assert (words.width, words.symbol_bits, words.symbols, words.padded) == (29, 29, 27**6, False)
    assert words.encode("zzzzzz") == 27**6 - 1


def test_bytes_take_nine_bits_so_that_zero_bytes_are_kept():
    encoding = Bytes(3)
    assert (encoding.width, encoding.symbol_bits, encoding.symbols, encoding.padded) == (27, 9, 257, True)
    assert len({encoding.encode(item) for item in (b"", b"\0", b"\0\0", b"\0\0\0")}) == 4
    assert encoding.encode("é") == encoding.encode(b"\xc3\xa9")


def test_other_shapes():
    assert (Integers(5).width, Integers(5).symbol_bits, Integers(5).symbols) == (5, 1, 2)
    names = Categories(("tea", "milk", "salt"))
    assert (names.width, names.symbol_bits, names.symbols, names.padded) == (2, 2, 3, False)


@given(st.text(LETTERS, max_size=6))
def test_words_come_back(word):
    for encoding in (Words(LETTERS, 6), PackedWords(LETTERS, 6)):
        value = encoding.encode(word)
        assert 0 <= value < 1 << encoding.width
        assert encoding.decode(value) == word


@given(st.binary(max_size=3))
def test_bytes_come_back(item):
    value = Bytes(3).encode(item)
    assert 0 <= value < 1 << 27
    assert Bytes(3).decode(value) == item


@pytest.mark.parametrize(
    "encoding",
    [Words("ab", 3), PackedWords("ab", 3), Bytes(1), Integers(5), Categories(["x", "y", "z"])],
    ids=repr,
)
def test_an_integer_decodes_to_the_item_that_it_encodes_or_to_nothing(encoding):
    items = {}
    for value in range(1 << encoding.width):
        item = encoding.decode(value)
        if item is not None:
            assert encoding.encode(item) == value
            items[item] = value
    assert (
        len(items)
        == {"words": 15, "packed_words": 15, "bytes": 257, "integers": 32, "categories": 3}[encoding.kind]
    )
    assert encoding.decode(-1) is None
    assert encoding.decode(1 << encoding.width) is None


@pytest.mark.parametrize("encoding", ENCODINGS, ids=repr)
@pytest.mark.parametrize(
    "item",
    [None, True, 1.5, [], {}, object(), -1, 1 << 64, "not in any alphabet?", "\ud800", bytearray(b"a")],
)
def test_what_does_not_fit_is_none(encoding, item):
    if isinstance(encoding, Bytes) and encoding.truncate and item == "not in any alphabet?":
        assert encoding.encode(item) == encoding.encode("no")
    else:
        assert encoding.encode(item) is None


def test_too_long_is_cut_only_where_the_manifest_says_so():
    assert Words("ab", 3).encode("abba") is None
    assert Words("ab", 3, 1).encode("abba") == Words("ab", 3).encode("abb")
    assert Words("ab", 3, 1).encode("abbx") == Words("ab", 3).encode("abb")
    assert Words("ab", 3, 1).encode("axb") is None
    assert PackedWords("ab", 3, 1).encode("abba") == PackedWords("ab", 3).encode("abb")
    assert Bytes(2).encode(b"abc") is None
    assert Bytes(2, 1).encode("aé") == Bytes(2).encode(b"a\xc3")


def test_integers_of_other_libraries_fit():
    import numpy as np

    assert Integers(8).encode(np.int64(200)) == 200
    assert Integers(8).encode(np.uint8(200)) == 200
    assert Integers(8).encode(np.float64(200)) is None


@pytest.mark.parametrize("encoding", ENCODINGS, ids=repr)
def test_fields_come_back(encoding):
    assert from_dict(encoding.to_dict()) == encoding
    assert hash(from_dict(encoding.to_dict())) == hash(encoding)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Words("", 3), "the number of letters must be at least 1, got 0."),
        (lambda: Words("aba", 3), "the letters of an alphabet must be distinct."),
        (lambda: Words(["a"], 3), "alphabet must be text without halves of surrogate pairs."),
        (lambda: Words("a\ud800", 3), "alphabet must be text without halves of surrogate pairs."),
        (lambda: Words("ab", 0), "length must be at least 1, got 0."),
        (lambda: Words("ab", True), "length must be a whole number, got True."),
        (lambda: Words("ab", 2.0), "length must be a whole number, got 2.0."),
        (lambda: Words("ab", 513), "an item must have at most 1024 bits, got 1026."),
        (lambda: Words("ab", 3, 2), "truncate must be 0 or 1, got 2."),
        (lambda: Words("ab", 3, True), "truncate must be 0 or 1, got True."),
        (lambda: PackedWords(LETTERS, 300), "an item must have at most 1024 bits, got 1427."),
        (lambda: Bytes(114), "an item must have at most 1024 bits, got 1026."),
        (lambda: Bytes(-1), "length must be at least 1, got -1."),
        (lambda: Integers(0), "bits must be at least 1, got 0."),
        (lambda: Integers(1025), "bits must be at most 1024, got 1025."),
        (lambda: Categories(("tea",)), "the number of names must be at least 2, got 1."),
        (lambda: Categories(("tea", "tea")), "names must be distinct."),
        (lambda: Categories("tea"), "names must be a list of texts."),
        (lambda: Categories(("tea", 5)), "a name must be text without halves of surrogate pairs."),
    ],
)
def test_bad_parameters(make, text):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value) == text


UNKNOWN = "the kind of the encoding must be one that this version knows, got "
BROKEN = "the fields of the encoding of kind integers break its rules."


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (None, UNKNOWN + "None."),
        ([], UNKNOWN + "None."),
        ({"bits": 5}, UNKNOWN + "None."),
        ({"kind": ["words"]}, UNKNOWN + "['words']."),
        ({"kind": "colours"}, UNKNOWN + "'colours'."),
        ({"kind": "integers"}, BROKEN),
        (
            {"kind": "integers", "bits": 5, "more": 1},
            BROKEN,
        ),
        ({"kind": "integers", "bits": "5"}, BROKEN),
        (
            {"kind": "integers", "bits": 5, "width": 7},
            BROKEN,
        ),
    ],
)
def test_bad_fields(fields, text):
    with pytest.raises(ManifestError) as error:
        from_dict(fields)
    assert str(error.value) == text
