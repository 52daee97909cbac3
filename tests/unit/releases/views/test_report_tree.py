"""The icicle of a report: each box a tree item, in place, the largest if there are many."""

from xml.etree import ElementTree

from tests.unit.releases.tree_example import tree

from hushcount.releases.views import report_tree
from hushcount.releases.views.report_tree import caption, icicle_of


def items(release):
    return list(ElementTree.fromstring(icicle_of(release)))


def test_every_node_is_an_item_in_depth_first_order():
    boxes = items(tree())
    assert [box.get("aria-label").split(" ")[0] for box in boxes] == tree().nodes.to_pylist()
    assert [box.get("aria-level") for box in boxes] == ["1", "2", "3", "4", "3", "2"]
    assert [box.get("tabindex") for box in boxes] == ["0"] + ["-1"] * 5
    assert boxes[0].get("aria-label") == "* 1,000, residual 120"


def test_places_are_shares_of_the_whole():
    whole, inner = items(tree())[:2]
    assert (whole.get("x"), whole.get("y"), whole.get("height")) == ("0.000%", "0.0000%", "100.0000%")
    assert (inner.get("x"), inner.get("width"), inner.get("height")) == ("25.000%", "25.000%", "48.0000%")


def test_labels_only_where_there_is_room():
    nodes = [("*", 0, -1, 0, 1000), ("a", 1, 0, 990, 990), ("b", 1, 0, 10, 10)]
    shown = [[text.get("display") for text in box.findall("text")] for box in items(tree(nodes))]
    assert shown == [[None, None], [None, None], ["none", "none"]]


def test_of_many_nodes_the_largest_are_drawn(monkeypatch):
    monkeypatch.setattr(report_tree, "BOXES", 3)
    assert [box.get("aria-label").split(" ")[0] for box in items(tree())] == [
        "*",
        "10.0.0.0/8",
        "192.0.0.0/8",
    ]
    assert "The 3 largest nodes are drawn" in caption(tree())
    monkeypatch.undo()
    assert "largest" not in caption(tree())


def test_an_empty_tree():
    assert items(tree([])) == []
