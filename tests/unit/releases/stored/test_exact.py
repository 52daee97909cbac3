from fractions import Fraction

import pytest

from hushcount.releases.stored.exact import (
    canonical,
    digest,
    fields_from,
    float_from,
    number_from,
    number_plain,
    parsed,
    shown_plain,
    whole_from,
    whole_plain,
)


def test_the_canonical_form_is_one_text():
    values = {"b": [1, True, None], "a": "ä\u2028\x1b", "A": {}}
    assert canonical(values) == '{"A":{},"a":"ä\u2028\\u001b","b":[1,true,null]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical([float("nan")])


def test_the_digest_is_of_all_but_itself_and_the_signature():
    values = {"hushcount": 2, "notes": []}
    found = digest(values)
    assert found == "sha256:91d42bbe15f1536328757ccd60b309eb359f3cbf425d0af3a79b062dfbf145be"  # by sha256sum
    assert digest(values | {"digest": "x", "signature": {}}) == found
    assert digest(values | {"notes": ["a"]}) != found


@pytest.mark.parametrize("value", [0.1, 1.0, 1e-8, 1e300, 5e-324, Fraction(1, 3), Fraction(2, 1)])
def test_numbers_are_their_shortest_text(value):
    text = number_plain(value)
    assert number_from(text) == value
    assert type(number_from(text)) is type(value)


@pytest.mark.parametrize(
    "text", ["0.10", "1.0", " 1", "1e-8", "inf", "nan", "-inf", "2/4", "1/0", "1_0", 1, None]
)
def test_no_other_text_is_a_number(text):
    with pytest.raises(ValueError, match=r"number|Fraction|float|numerator|zero|convert") as refused:
        number_from(text)
    assert refused.type in (ValueError, ZeroDivisionError)


def test_a_fraction_is_no_floating_point_number():
    with pytest.raises(ValueError, match="number"):
        float_from("1/3")


def test_whole_numbers():
    assert [whole_plain(value) for value in (2**53, 2**53 + 1, -(2**63))] == [
        2**53,
        "9007199254740993",
        "-9223372036854775808",
    ]
    assert [whole_from(whole_plain(value)) for value in (0, -(2**64), 2**53 + 1)] == [0, -(2**64), 2**53 + 1]
    for value in (True, 1.0, "5", "9007199254740992", 2**53 + 1, str(2**64 + 1), "+9007199254740993", None):
        with pytest.raises(ValueError, match="whole number"):
            whole_from(value)
    with pytest.raises(ValueError, match="whole number"):
        whole_from(0, 1)


def test_numbers_for_people_are_written_alike_everywhere():
    assert [shown_plain(value) for value in (1 / 3, 12345678.9876, 1e-5, 1e16, 3.0, True, "a", None)] == [
        0.333333333,
        12345679.0,
        "1e-05",
        "1e+16",
        3,
        True,
        "a",
        None,
    ]
    assert shown_plain(float("nan")) == "nan"


def test_objects_have_each_name_once_and_no_other():
    assert parsed(b'{"a": 1}') == {"a": 1}
    for data in (b'{"a": 1, "a": 1}', b"[]", b'{"a": Infinity}', b"{"):
        with pytest.raises(ValueError, match=r"name|object|number|Expecting"):
            parsed(data)
    for value in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, [], None):
        with pytest.raises(ValueError, match="names"):
            fields_from(value, ("a", "b"))
