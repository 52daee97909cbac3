"""The leaves of users with the level down to which each user has been before."""

import numpy as np
import pyarrow as pa
import pytest

from hushcount.hierarchies.base import first_below
from hushcount.hierarchies.registry import parse_hierarchy


def found(name, keys, begins):
    hierarchy = parse_hierarchy(name)
    leaves, known = first_below(hierarchy, hierarchy.leaves(pa.array(keys)), np.array(begins, bool))
    labels = hierarchy.labels(leaves, np.full(len(leaves), hierarchy.height)).to_pylist()
    return list(zip(labels, known.tolist(), strict=True))


def test_only_what_is_new_to_a_user_counts():
    keys = ["10.0.1.9", "10.0.0.1", "10.0.0.1", "10.0.0.7", "10.0.0.1", "9.9.9.9"]
    assert found("ipv4/8", keys, [1, 0, 0, 0, 1, 0]) == [
        ("10.0.0.1", -1),
        ("10.0.0.7", 3),
        ("10.0.1.9", 2),
        ("9.9.9.9", -1),
        ("10.0.0.1", 0),
    ]


@pytest.mark.parametrize("name", ["ipv6/16", "path/2", "date", "domain/3"])
def test_every_kind_of_leaves(name):
    keys = {
        "ipv6/16": ["2001:db8::1", "2001:db8::1", "::1"],
        "path/2": ["/a/b", "/a/b", "/c/d"],
        "date": ["2024-05-17T01", "2024-05-17T01", "2025-05-17T01"],
        "domain/3": ["a.b.org", "a.b.org", "a.b.com"],
    }[name]
    assert sorted(level for _, level in found(name, keys, [1, 0, 0])) == [-1, 0]
    assert [level for _, level in found(name, keys, [1, 1, 1])] == [-1, -1, -1]


def test_no_leaves():
    assert found("ipv4/8", pa.array([], pa.string()), []) == []
