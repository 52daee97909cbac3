"""The indented tree on a terminal."""

import io

from rich.console import Console
from tests.unit.releases.tree_example import tree

from hushcount.releases.views.trees import branches, rich_tree


def printed(release, rows=None):
    stream = io.StringIO()
    Console(file=stream, width=100).print(rich_tree(release, rows))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_branches_join_children_to_parents():
    assert list(branches(tree().rows)) == ["", "├─ ", "│  ├─ ", "│  │  └─ ", "│  └─ ", "└─ "]


def test_several_outermost_nodes_stand_at_the_margin():
    release = tree([("a", 1, -1, 9, 9), ("b", 1, -1, 5, 8), ("c", 2, 1, 3, 3)])
    assert list(branches(release.rows)) == ["", "", "└─ "]


def test_the_whole_tree():
    lines = printed(tree())
    assert lines[0] == f"node{'residual':>24}   total   95% interval of the total"
    assert [" ".join(line.rstrip("█▏▎▍▌▋▊▉ ").split()) for line in lines[2:]] == [
        "* 120 1,000 990 … 1,010",
        "├─ 10.0.0.0/8 80 480 470 … 490",
        "│ ├─ 10.2.0.0/16 50 250 240 … 260",
        "│ │ └─ 10.2.3.4 200 200 190 … 210",
        "│ └─ 10.1.0.0/16 150 150 140 … 160",
        "└─ 192.0.0.0/8 400 400 390 … 410",
    ]


def test_the_first_rows():
    assert len(printed(tree(), rows=2)) == 4


def test_an_empty_tree_has_a_head():
    assert len(printed(tree([]))) == 2


def test_control_characters_are_seen():
    lines = printed(tree([("a\x1b[2J", 1, -1, 9, 9)]))
    assert "a\\x1b[2J" in lines[2]
