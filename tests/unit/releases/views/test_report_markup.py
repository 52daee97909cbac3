"""Markup: texts are escaped whatever they are, and nothing ends the block of data early."""

import json

import pytest

from hushcount.releases.views.report_markup import Markup, element, in_script, joined, number

HOSTILE = ["<script>", "</p>", '"', "'", "&amp;", "a\u202eb", "\x00", "\x1b[0m", "]]>", "<!--", "\u2028"]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_cannot_leave_their_place(text):
    made = element("p", text, title=text)
    assert made.count("<") == 2
    assert made.startswith('<p title="')
    assert made.count('"') == 2
    assert not any(char in made for char in "\x00\x1b\u202e\u2028")


def test_markup_is_kept_and_text_is_not_trusted():
    inner = element("b", "x")
    assert element("p", inner, "<b>") == "<p><b>x</b>&lt;b&gt;</p>"
    assert isinstance(joined((inner, "y")), Markup)


def test_attributes():
    made = element("input", type="search", data_field="a", class_="b", hidden="", size=None, x=1.0)
    assert made == '<input type="search" data-field="a" class="b" hidden x="1">'


@pytest.mark.parametrize("text", [*HOSTILE, "</script><script>alert(1)</script>", "\udcff", "é\ud800"])
def test_data_keep_their_values_inside_a_script(text):
    block = in_script(json.dumps({text: [text]}, ensure_ascii=False))
    assert not any(char in block for char in "<>&")
    block.encode("utf-8")
    assert json.loads(block) == {text: [text]}


def test_coordinates():
    assert [number(value) for value in (0.0, 100.0, 33.3333, 7, "x%")] == ["0", "100", "33.33", "7", "x%"]
