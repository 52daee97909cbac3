import pytest

from hushcount.errors import ParameterError
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.keys.labels import NodeLabel

KEYS = {
    "ipv4/8": ["10.1.2.3", "10.1.9.9", "11.0.0.1", "0.0.0.0"],
    "ipv4/1": ["10.1.2.3", "138.0.0.1"],
    "ipv6/16": ["2001:db8::1", "2001:db9::1", "::"],
    "ip/8": ["2001:db8::1", "2001:db9::1", "10.1.2.3", "10.1.9.9", "::", "0.0.0.0", "::ffff:10.1.2.3"],
    "ip/1": ["2001:db8::1", "10.1.2.3", "138.0.0.1"],
    "domain/3": ["www.example.com", "example.com", "www.example.org", "com"],
    "path/3": ["/usr/lib/x", "/usr", "https://a.org/b/c", "/", "a", "a/b", "//a"],
    "date": ["2024-05-17T13", "2024-05-17", "2024", "2023-01"],
}


@pytest.mark.parametrize("name", KEYS)
def test_labels_know_their_level_and_what_is_below_them(name):
    """All pairs of nodes, against the hierarchy itself."""
    import pyarrow as pa

    hierarchy = parse_hierarchy(name)
    leaves = hierarchy.leaves(pa.array(KEYS[name]))
    levels = range(hierarchy.height + 1)
    nodes = {
        hierarchy.labels(leaves[row : row + 1], [level])[0].as_py(): (leaves[row : row + 1], level)
        for level in levels
        for row in range(len(leaves))
    }
    for label, (leaf, level) in nodes.items():
        found = NodeLabel.of(label, name, hierarchy.height)
        assert (found.text, found.level) == (label, level)
        for other, (below, depth) in nodes.items():
            true = depth > level and (
                level == 0 or hierarchy.nodes(below, level).equals(hierarchy.nodes(leaf, level))
            )
            assert found.holds(other) == true, (label, other)


@pytest.mark.parametrize("name", ["parents:places.csv", "function", "columns:a,b"])
def test_labels_of_other_hierarchies(name):
    found = NodeLabel.of("Europe > France", name, 3)
    assert found.level == 2
    assert found.holds("Europe > France > Paris")
    assert not found.holds("Europe > Frances > Paris")


@pytest.mark.parametrize(
    ("name", "label", "example"),
    [
        ("ipv4/8", "10.0.0.0/12", "10.0.0.0/8"),
        ("ipv4/8", "10.0.0.1/8", "10.0.0.0/8"),
        ("ipv4/8", "2001:db8::/32", "10.0.0.0/8"),
        ("ipv4/8", "10.0.0.0/08", "10.0.0.0/8"),  # a published node would be taken for an unpublished one
        ("ipv4/8", "10.0.0.0/32", "10.0.0.0/8"),
        ("ipv6/16", "2001:0db8::/32", "2001:db8::/32"),
        ("ip/8", "10.0.0.0/4", "10.0.0.0/8"),
        ("ip/8", "2000::/8", "10.0.0.0/8"),  # a level is 32 bits of these addresses
        ("path/2", None, "/shop"),
        ("path/2", ("a", "b"), "/shop"),
        ("date", 2024, "2024-05-17"),
        ("ipv6/16", "10.0.0.0/8", "2001:db8::/32"),
        ("path/2", "/a/b/c", "/shop"),
        ("domain/2", "com.example.www", "com.example"),
        ("columns:a", "de > Hesse", "de > Hesse"),
        ("date", "2024-5", "2024-05-17"),
        ("date", "May", "2024-05-17"),
        ("unknown", "x", "2024-05-17"),
    ],
)
def test_other_labels_are_refused(name, label, example):
    height = {"path/2": 2, "domain/2": 2, "columns:a": 1}.get(name, 4)
    with pytest.raises(ParameterError) as caught:
        NodeLabel.of(label, name, height)
    assert str(caught.value) == (
        f"node must be the label of a node of hierarchy {name}, such as * or {example}, got {label!r}."
    )
