"""All nodes of a hierarchy that everybody knows: their numbers, places and labels, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from hushcount.errors import ParameterError
from hushcount.hierarchies.known import known_nodes
from hushcount.hierarchies.registry import parse_hierarchy


def sizes(known):
    return [level.size for level in known.levels]


def test_a_table_of_parents_lists_all_nodes(tmp_path):
    path = tmp_path / "geo.csv"
    path.write_text(
        "child,parent\nBerlin,Germany\nMunich,Germany\nGermany,Europe\nParis,France\nFrance,Europe\n"
    )
    known = known_nodes(parse_hierarchy(f"parents:{path}"))
    # Europe alone, the two countries alone, and three towns are leaves.
    assert sizes(known) == [1, 1, 3, 6]
    assert known.size == 11
    assert known.most_nodes(2) == 1 + 1 + 2 + 2


def test_addresses_are_numbered():
    known = known_nodes(parse_hierarchy("ipv4/8"))
    assert sizes(known) == [256**level for level in range(5)]
    level = known.levels[2]
    nodes = level.nodes(np.array([0, 258], np.uint64))
    assert parse_hierarchy("ipv4/8").labels(nodes, [2, 2]).to_pylist() == ["0.0.0.0/16", "1.2.0.0/16"]
    assert level.places(nodes).tolist() == [0, 258]


@pytest.mark.parametrize(
    ("hierarchy", "keys"),
    [
        ("path/2", ["/a/x", "/a/y", "/b", "/a/x"]),
        ("ipv6/16", ["::1", "::2", "ffff::"]),
        ("ipv4/1", ["10.0.0.1", "10.0.0.3", "200.0.0.1"]),
        ("date", ["2026-01-01", "2026-02-01", "2027-01-01"]),
    ],
)
def test_listed_keys_have_all_nodes_above_them(hierarchy, keys):
    parsed = parse_hierarchy(hierarchy)
    known = known_nodes(parsed, pa.array(keys))
    leaves = parsed.leaves(pa.array(keys))
    for depth, level in enumerate(known.levels):
        nodes = parsed.nodes(leaves, depth)
        assert level.nodes(level.places(nodes)).equals(nodes)
        assert level.size == len(set(nodes.to_pylist()))
    assert known.size == sum(sizes(known))
    assert known.digest == known_nodes(parsed, pa.array(keys[::-1])).digest
    assert known.digest != known_nodes(parsed, pa.array(keys[:2])).digest


@pytest.mark.parametrize("hierarchy", ["path/3", "ipv6/16", "domain", "date"])
def test_hierarchies_of_which_nobody_knows_all_nodes_are_refused(hierarchy):
    with pytest.raises(ParameterError) as caught:
        known_nodes(parse_hierarchy(hierarchy))
    name = parse_hierarchy(hierarchy).name
    assert str(caught.value) == (
        "delta = 0 needs a hierarchy of which everybody knows all nodes, because every one of them gets"
        f" noise, and {name} is none: give domain, a public list of all keys, or a table of parents"
        " (parents:FILE.csv)."
    )


def test_a_malformed_key_in_the_list_is_refused():
    with pytest.raises(ParameterError, match="domain must hold well-formed keys of hierarchy ipv4/8 only"):
        known_nodes(parse_hierarchy("ipv4/8"), pa.array(["10.0.0.1", "tea"]))


def test_a_node_that_is_not_known_has_no_place():
    known = known_nodes(parse_hierarchy("path/1"), pa.array(["/a", "/b"]))
    with pytest.raises(ParameterError, match="all leaves must be those of the known hierarchy"):
        known.levels[1].places(parse_hierarchy("path/1").leaves(pa.array(["/c"])))
