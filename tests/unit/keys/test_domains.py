"""Public domains: places and keys, edges of 64 bits, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import KeyTypeError, ParameterError
from hushcount.keys.domains import IntegerRange, KnownKeys, as_domain, within


@pytest.mark.parametrize(
    ("domain", "keys", "kind", "inside"),
    [
        (IntegerRange(-5, 5), [-6, -5, 0, 5, 6], pa.int64(), [-5, 0, 5]),
        (IntegerRange(0, (1 << 64) - 1), [0, 7, (1 << 64) - 1], pa.uint64(), [0, 7, (1 << 64) - 1]),
        (IntegerRange(0, (1 << 64) - 1), [-1, 0, 7], pa.int64(), [0, 7]),
        (IntegerRange(-(1 << 63), (1 << 63) - 1), [-(1 << 63), 0, (1 << 63) - 1], pa.int64(), None),
        (IntegerRange(-10, 300), [0, 200, 255], pa.uint8(), [0, 200, 255]),
        (IntegerRange(1000, 2000), [0, 200, 255], pa.uint8(), []),
        (IntegerRange(-10, -1), [0, 1], pa.uint64(), []),
        (IntegerRange(100, 200), [-128, 100, 127], pa.int8(), [100, 127]),
        (IntegerRange(5, 9), [5, 1 << 63], pa.uint64(), [5]),
    ],
)
def test_keys_of_a_range_have_places(domain, keys, kind, inside):
    inside = keys if inside is None else inside
    places, mask = domain.places(pa.array(keys, kind))
    assert [key for key, kept in zip(keys, mask, strict=True) if kept] == inside
    assert [int(place) for place in places] == [key - domain.first for key in inside]
    assert domain.keys(places).to_pylist() == inside
    assert domain.keys(places).type == domain.key_type


def test_the_type_of_published_keys_is_that_of_the_domain():
    assert IntegerRange(0, 10).key_type == pa.int64()
    assert IntegerRange(0, 1 << 63).key_type == pa.uint64()
    assert KnownKeys.of(pa.array(["a"], pa.large_string())).key_type == pa.string()


def test_known_keys():
    domain = KnownKeys.of(["a", "b", None, "b", "c"])
    assert domain.size == 3
    places, inside = domain.places(pa.array(["c", "x", "a"]))
    assert places.tolist() == [2, 0]
    assert inside.tolist() == [True, False, True]
    assert domain.keys(np.array([1, 2], np.uint64)).to_pylist() == ["b", "c"]
    numbers = KnownKeys.of([1, 1 << 62])
    assert numbers.places(pa.array([1 << 62, 5], pa.uint64()))[0].tolist() == [1]


def test_as_domain():
    assert as_domain("3..9") == as_domain(range(3, 10)) == as_domain(IntegerRange(3, 9)) == IntegerRange(3, 9)
    assert as_domain(" -3 .. 9 ").size == 13
    assert as_domain(np.array([4, 5])).size == 2
    assert as_domain("0..18446744073709551615").size == 1 << 64


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("9..3", "last must be at least first = 9, got 3."),
        ("a..b", "domain must be A..B or a list of keys, got 'a..b'."),
        ("", "domain must be A..B or a list of keys, got ''."),
        (5, "domain must be A..B or a list of keys, got int."),
        (b"ab", "domain must be A..B or a list of keys, got bytes."),
        (range(0, 10, 2), "domain must be a range with step 1 that is not empty, got range(0, 10, 2)."),
        (range(3, 3), "domain must be a range with step 1 that is not empty, got range(3, 3)."),
        ([], "domain must hold at least one key, got none."),
        (
            "-1..9223372036854775808",
            "domain must fit 64-bit integers, signed or unsigned, got -1..9223372036854775808.",
        ),
        (
            "0..18446744073709551616",
            "domain must fit 64-bit integers, signed or unsigned, got 0..18446744073709551616.",
        ),
    ],
)
def test_what_is_no_domain_is_refused(value, message):
    with pytest.raises(ParameterError) as error:
        as_domain(value)
    assert str(error.value) == message


def test_types_must_agree():
    with pytest.raises(
        KeyTypeError, match=r"^domain must hold keys of one type, all text or whole numbers\.$"
    ):
        as_domain(["a", 5])
    with pytest.raises(
        KeyTypeError, match=r"^domain holds integers, keys are string; read them as whole numbers\.$"
    ):
        IntegerRange(0, 5).places(pa.array(["a"]))
    with pytest.raises(KeyTypeError, match=r"^domain holds string, keys are int64\.$"):
        KnownKeys.of(["a"]).places(pa.array([5]))
    with pytest.raises(ParameterError, match=r"^first must be a whole number, got True\.$"):
        IntegerRange(True, 5)


@pytest.mark.parametrize(
    ("domain", "text", "inside"),
    [
        (IntegerRange(0, 9), ["7", " 7\t", "007", "-0", "10", "-1", "", "7.0", "7e0", "+7", "٧", "tea"], 4),
        (IntegerRange(0, (1 << 64) - 1), ["18446744073709551615", "18446744073709551616", "9" * 60], 1),
        (IntegerRange(-(1 << 63), 5), ["-9223372036854775808", "-9223372036854775809", "-" + "9" * 20], 1),
        (KnownKeys.of([3, 4]), ["4", "03", "5", "x"], 2),
        (KnownKeys.of(["3", "4"]), ["4", "3", "5", "03"], 2),
    ],
)
@pytest.mark.parametrize("encode", [pa.array, lambda text: pa.array(text).dictionary_encode()])
def test_keys_as_text(domain, text, inside, encode):
    kept, mask = within(domain, encode(text))
    assert mask.tolist() == [True] * inside + [False] * (len(text) - inside)
    assert kept.type == domain.key_type
    if pa.types.is_integer(kept.type):
        assert kept.to_pylist() == [int(key) for key in text[:inside]]


def test_lists_have_digests():
    digests = {KnownKeys.of(keys).digest for keys in (["a", "b"], ["b", "a"], ["ab"], [1, 2], [2, 1])}
    assert len(digests) == 5
    assert KnownKeys.of(["a", "b"]).digest == KnownKeys.of(["a", "b", "a"]).digest
