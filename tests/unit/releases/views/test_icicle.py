"""The icicle: boxes where they belong, words that are escaped, nothing that is not published."""

import re
from xml.etree import ElementTree

import pytest
from tests.unit.releases.tree_example import tree

from hushcount.errors import ParameterError
from hushcount.releases.views.icicle import HEAD, boxes, icicle

SVG = "{http://www.w3.org/2000/svg}"


def drawn(release):
    """(words, left, top, height) of every box."""
    root = ElementTree.fromstring(icicle(release))
    for group in root.iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        yield (
            group.find(f"{SVG}title").text,
            *(float(rect.get(name)) for name in ("x", "y", "height")),
        )


def test_heights_are_totals_and_columns_are_nesting():
    places = {words.split(":")[0]: place for words, *place in drawn(tree())}
    root, inner, leaf = places["*"], places["10.0.0.0/8"], places["10.2.3.4"]
    assert root[1] == HEAD
    assert (root[2] + 1) * 0.48 == pytest.approx(inner[2] + 1, abs=0.02)
    assert (root[2] + 1) * 0.2 == pytest.approx(leaf[2] + 1, abs=0.02)
    assert root[0] < inner[0] < places["10.2.0.0/16"][0] < leaf[0]
    assert places["192.0.0.0/8"][1] == pytest.approx(inner[1] + inner[2] + 1, abs=0.02)


def test_a_child_starts_where_its_parent_does():
    places = {words.split(":")[0]: place for words, *place in drawn(tree())}
    assert places["10.2.0.0/16"][1] == places["10.0.0.0/8"][1] == places["10.2.3.4"][1]


def test_children_larger_than_their_parent_still_fit():
    (root,) = boxes(tree([("*", 0, -1, 5, 5), ("a", 1, 0, 7, 7), ("b", 1, 0, 4, 4)]))
    assert (root.size, root.depth) == (11, 2)
    assert [box.label for box in root.inner] == ["a", "b"]


def test_titles_say_what_hovering_asks():
    assert next(drawn(tree()))[0] == "*: total 1,000, residual 120, level 0"


def test_labels_are_escaped():
    picture = icicle(tree([("<script>&\x1b", 1, -1, 100, 100)]))
    assert "<script>" not in picture
    assert "&lt;script&gt;&amp;\\x1b" in picture
    ElementTree.fromstring(picture)


def test_long_labels_end_in_dots_and_small_boxes_have_none():
    nodes = [("x" * 500, 1, -1, 10**6, 10**6), ("tiny", 1, -1, 1, 1)]
    picture = icicle(tree(nodes))
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", picture)
    assert any(re.fullmatch(r"x+…", words) for words in shown)
    assert "tiny" not in shown


def test_an_empty_tree_says_so():
    assert "No node was published: a node needs a noisy residual of at least 50." in icicle(tree([]))


def test_a_file(tmp_path):
    tree().plot().write(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text() == icicle(tree())


def test_another_ending_is_refused():
    with pytest.raises(ParameterError, match=r"^plot must end in \.svg, got tree\.pdf\.$"):
        tree().plot().write("tree.pdf")


def test_colours_are_hex():
    """Several renderers show hsl() as black."""
    picture = icicle(tree())
    assert "hsl" not in picture
    fills = re.findall(r'rx="2" fill="([^"]*)"', picture)
    assert len(fills) == 6
    assert all(re.fullmatch("#[0-9a-f]{6}", fill) for fill in fills)
    assert len(set(fills)) > 2


def test_labels_have_no_padding():
    picture = icicle(tree([("//·/·/·", 4, -1, 100, 100)]))
    assert "<title>/: total 100, residual 100, level 4</title>" in picture
