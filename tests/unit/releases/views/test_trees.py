"""The indented tree on a terminal."""

import io
from dataclasses import replace

from rich.console import Console
from tests.unit.releases.tree_example import tree

from hushcount.releases.views.trees import branches, rich_tree, short_labels


def printed(release, rows=None, width=100):
    stream = io.StringIO()
    Console(file=stream, width=width).print(rich_tree(release, rows, width))
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
        "│ ├─ 10.2.0.0/16 50 250 240 … 260 *",
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


def test_a_narrow_tree_keeps_to_its_width():
    lines = printed(tree(), width=58)
    assert max(map(len, lines)) <= 58
    assert "95% interval" in lines[0]
    assert "990 … 1,010" in lines[2]


def test_of_long_nodes_the_end_is_shown():
    """Paths of one folder looked all the same."""
    long = [(f"/home/user/documents/letters/{name}.txt", 4, -1, 9, 9) for name in ("tea", "milk")]
    lines = printed(tree([*long, ("/home/user/pictures/a-long-name.jpeg", 4, 1, 9, 9)]), width=58)
    assert {line[:12] for line in lines[2:]} == {"…ers/tea.txt", "…rs/milk.txt", "└─ …ame.jpeg"}
    assert max(map(len, lines)) <= 58


PATHS = [
    ("*", 0, -1, 0, 900),
    ("//·/·/·", 4, 0, 100, 100),
    ("/usr", 1, 0, 50, 500),
    ("/usr/lib/·/·", 4, 2, 100, 100),
    ("/usr/·/·/·", 4, 2, 90, 90),
    ("/usr/bin/ls", 3, 2, 80, 80),
    ("/opt/a", 2, 0, 70, 70),
]


def test_nodes_show_what_they_have_more_than_their_parent():
    release = tree(PATHS)
    labels = dict(
        zip(release.nodes.to_pylist(), short_labels(replace(release, hierarchy="path/4")), strict=True)
    )
    assert labels == {
        "*": "*",
        "//·/·/·": "/",
        "/usr": "/usr",
        "/usr/lib/·/·": "lib",
        "/usr/·/·/·": "·",
        "/usr/bin/ls": "bin/ls",
        "/opt/a": "/opt/a",
    }
    domains = tree([("com", 1, -1, 9, 9), ("com.example.·", 3, 0, 5, 5), ("com.a.b", 3, 0, 4, 4)])
    assert short_labels(replace(domains, hierarchy="domain/3")) == ["com", "example", "a.b"]
    rows = tree([("de", 1, -1, 9, 9), ("de > Hesse", 2, 0, 5, 5), ("de > ·", 2, 0, 4, 4)])
    assert short_labels(replace(rows, hierarchy="columns:a,b")) == ["de", "Hesse", "·"]
    assert short_labels(tree())[1:4] == ["10.0.0.0/8", "10.2.0.0/16", "10.2.3.4"]
