"""What the maker of a campaign decides, from the words of the command line."""

import pytest

from hushcount.errors import ParameterError
from hushcount.jobs.ldp.campaigns import ITEM_FORMS, CampaignSettings, encoding_of, expected_quality
from hushcount.ldp import Bytes, Integers, PackedWords, Words

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    ("form", "truncate", "encoding"),
    [
        ("words:6", False, Words(LETTERS, 6)),
        ("words:3:xyz", True, Words("xyz", 3, 1)),
        ("packed-words:6", False, PackedWords(LETTERS, 6)),
        ("bytes:5", True, Bytes(5, 1)),
        ("integers:64", False, Integers(64)),
    ],
)
def test_forms_of_items(form, truncate, encoding):
    assert encoding_of(form, truncate) == encoding


@pytest.mark.parametrize(
    "form", ["", "words", "words:", "words:x", "bytes:-1", "integers:1e3", "poems:4", "bytes:99999999999"]
)
def test_other_forms(form):
    with pytest.raises(ParameterError) as caught:
        encoding_of(form, False)
    assert str(caught.value) == f"--items must be one of {ITEM_FORMS}, got {form!r}."


def settings(protocol):
    return CampaignSettings(
        items="integers:8", truncate=False, protocol=protocol, epsilon=2.0, users=1000, threshold=None,
        symbol_bits=None,
    )  # fmt: skip


def test_only_practical_protocols_have_a_forecast():
    assert expected_quality(settings("tree-hist").campaign(), 1.2).recall > 0
    assert expected_quality(settings("hashtogram").campaign(), 1.2) is None
