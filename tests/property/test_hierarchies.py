"""Every hierarchy on random keys: sorted leaves keep nodes together, labels tell nodes apart."""

from __future__ import annotations

import ipaddress
import re
from datetime import UTC, datetime, timedelta, timezone
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference

from hushcount.hierarchies.base import MARKER, ROOT, Hierarchy, IntegerHierarchy
from hushcount.hierarchies.parents import parent_function
from hushcount.hierarchies.registry import parse_hierarchy
from hushcount.keys.arrays import encode_rows as encode
from hushcount.shapes import LeafCounts
from hushcount.sketches.leaves import (
    HeavyNodes,
    count_leaves,
    heavy_hitters_by_level,
    hierarchical_heavy_hitters,
    leaf_batches,
)

SEEDED = settings(max_examples=25, deadline=None, derandomize=True, database=None)
# Whatever could be mistaken for padding, for the root, for a separator or for an escape.
PARTS = st.sampled_from(
    ["a", "b", "aa", MARKER, ROOT, "\\", "\\·", "\\\\", ">", " > ", "a > b", "ÿ", "\x01", " "]
)
NUMBERS = st.sampled_from([0, 1, 2, 127, 128, 254, 255])
HOURS = st.datetimes(datetime(2023, 12, 30), datetime(2024, 3, 1))


def texts(parts: Any, separator: str, most: int = 6) -> Any:
    return st.lists(parts, min_size=1, max_size=most).map(separator.join)


def composites(columns: int, parts: Any) -> Any:
    rows = st.lists(parts, min_size=columns, max_size=columns)
    return rows.map(lambda row: encode([pa.array([part]) for part in row])[0].as_py())


def up(key: Any) -> Any:
    """The parent of a text is the text without its last letter, of bytes likewise."""
    return key[:-1] or None


CASES: dict[str, tuple[Hierarchy, Any]] = {
    **{
        f"ipv4/{step}": (parse_hierarchy(f"ipv4/{step}"), texts(NUMBERS.map(str), ".", 4))
        for step in (8, 4, 1)
    },
    **{
        f"ipv6/{step}": (
            parse_hierarchy(f"ipv6/{step}"),
            st.lists(NUMBERS, min_size=16, max_size=16).map(
                lambda row: str(ipaddress.IPv6Address(bytes(row)))
            ),
        )
        for step in (16, 8, 4)
    },
    "domain/3": (parse_hierarchy("domain/3"), texts(PARTS, ".")),
    "path/3": (
        parse_hierarchy("path/3"),
        st.tuples(st.sampled_from(["", "/", "http://", "file:///"]), texts(PARTS, "/")).map("".join),
    ),
    "date": (
        parse_hierarchy("date"),
        st.tuples(HOURS, st.sampled_from([4, 7, 10, 13])).map(lambda pair: pair[0].isoformat()[: pair[1]]),
    ),
    "columns:a": (parse_hierarchy("columns:a"), PARTS),
    "columns:a,b,c": (parse_hierarchy("columns:a,b,c"), composites(3, st.one_of(PARTS, st.just("")))),
    "columns of bytes": (parse_hierarchy("columns:a,b"), composites(2, st.binary(max_size=2))),
    "function": (parent_function(up, 4), st.text("ab·*>\\", min_size=1, max_size=5)),
    "function of bytes": (parent_function(up, 4), st.binary(min_size=1, max_size=5)),
}
NAMES = sorted(CASES)


def leaves_of(name: str, data: Any, most: int = 30) -> tuple[Hierarchy, pa.Array]:
    """Sorted distinct leaves of random keys."""
    hierarchy, keys = CASES[name]
    found = hierarchy.leaves(pa.array(data.draw(st.lists(keys, min_size=1, max_size=most))))
    return hierarchy, pa.array(sorted(set(found.drop_null().to_pylist())), hierarchy.leaf_type)


def nodes_of(hierarchy: Hierarchy, leaves: pa.Array) -> list[list[Any]]:
    """Of every leaf the nodes from the root down."""
    by_level = [hierarchy.nodes(leaves, level).to_pylist() for level in range(hierarchy.height + 1)]
    return [list(path) for path in zip(*by_level, strict=True)]


def in_common(one: list[Any], other: list[Any]) -> int:
    return max(level for level, pair in enumerate(zip(one, other, strict=True)) if pair[0] == pair[1])


@pytest.mark.parametrize("name", NAMES)
@SEEDED
@given(data=st.data())
def test_shared_levels_are_those_of_equal_nodes(name: str, data: Any) -> None:
    hierarchy, leaves = leaves_of(name, data)
    paths = nodes_of(hierarchy, leaves)
    expected = [-1, *(in_common(paths[index - 1], paths[index]) for index in range(1, len(paths)))]
    assert hierarchy.shared(leaves).tolist() == expected[: len(paths)]
    assert hierarchy.shared(leaves).dtype == np.int16
    for start in range(1, len(leaves)):
        assert hierarchy.shared(leaves[start:], leaves[start - 1]).tolist() == expected[start:]
        assert hierarchy.shared(leaves[start:], leaves[start])[0] == hierarchy.height


@pytest.mark.parametrize("name", NAMES)
@SEEDED
@given(data=st.data())
def test_leaves_of_a_node_come_together(name: str, data: Any) -> None:
    hierarchy, leaves = leaves_of(name, data)
    for level in range(hierarchy.height + 1):
        nodes = hierarchy.nodes(leaves, level)
        assert nodes.type == hierarchy.leaf_type
        runs = [node for node, _ in groupby(nodes.to_pylist())]
        assert len(runs) == len(set(runs))
        for above in range(level + 1):
            assert hierarchy.nodes(nodes, above).equals(hierarchy.nodes(leaves, above))
    assert hierarchy.nodes(leaves, hierarchy.height).equals(leaves)
    assert len(set(hierarchy.nodes(leaves, 0).to_pylist())) <= 1


@pytest.mark.parametrize("name", NAMES)
@SEEDED
@given(data=st.data())
def test_labels_tell_nodes_apart(name: str, data: Any) -> None:
    hierarchy, leaves = leaves_of(name, data)
    labelled: dict[str, tuple[int, Any]] = {}
    for level in range(hierarchy.height + 1):
        nodes, levels = hierarchy.nodes(leaves, level), [level] * len(leaves)
        labels = hierarchy.labels(leaves, np.array(levels, np.int16))
        assert labels.type == pa.string()
        assert labels.equals(hierarchy.labels(nodes, levels))
        for label, node in zip(labels.to_pylist(), nodes.to_pylist(), strict=True):
            assert labelled.setdefault(label, (level, node)) == (level, node)
            assert (label == ROOT) == (level == 0)


@pytest.mark.parametrize("name", NAMES)
@SEEDED
@given(data=st.data())
def test_any_array_of_the_same_keys(name: str, data: Any) -> None:
    hierarchy, keys = CASES[name]
    array = pa.array(data.draw(st.lists(st.one_of(keys, st.none()), min_size=1, max_size=12)))
    if pa.types.is_null(array.type):
        return
    leaves = hierarchy.leaves(array)
    assert leaves.type == hierarchy.leaf_type
    assert len(leaves) == len(array)
    large = pa.large_string() if pa.types.is_string(array.type) else pa.large_binary()
    for other in (
        array.dictionary_encode(),
        array.cast(large),
        pa.concat_arrays([array, array])[len(array) :],
    ):
        assert hierarchy.leaves(other).equals(leaves)
    assert hierarchy.leaves(array[1:]).to_pylist() == leaves[1:].to_pylist()
    assert all(
        leaf is None for leaf, key in zip(leaves.to_pylist(), array.to_pylist(), strict=True) if key is None
    )


@pytest.mark.parametrize("name", [name for name in NAMES if "function" not in name])
@SEEDED
@given(
    keys=st.lists(
        st.one_of(st.binary(max_size=30), st.text("0123456789:./-T \xff%x", max_size=20).map(str.encode))
    )
)
def test_any_bytes_have_a_whole_leaf_or_none(name: str, keys: list[bytes]) -> None:
    hierarchy, _ = CASES[name]
    leaves = hierarchy.leaves(pa.array(keys, pa.binary()))
    whole = leaves.drop_null()
    whole.validate(full=True)
    if hierarchy.leaf_type == pa.binary():
        assert all(leaf.count(b"\0") == hierarchy.height - 1 for leaf in whole.to_pylist())
    elif isinstance(hierarchy, IntegerHierarchy):
        assert all(leaf >> int(hierarchy.shifts[0]) == 0 for leaf in whole.to_pylist())
    hierarchy.labels(whole, [hierarchy.height] * len(whole)).validate(full=True)


def packed(text: str, kind: Any) -> bytes | None:
    """An address by the standard library; a zone is malformed."""
    try:
        return kind(text).packed if "%" not in text else None
    except ValueError:
        return None


GROUPS = st.sampled_from(["0", "1", "ffff", "AB", "00a", "12345", "", "", "g"])
QUADS = texts(st.sampled_from(["0", "1", "10", "255", "256", "01", ""]), ".", 5)
ADDRESSES = st.tuples(texts(GROUPS, ":", 9), st.one_of(st.just(""), QUADS, QUADS.map(":{}".format))).map(
    "".join
)


@settings(SEEDED, max_examples=100)
@given(keys=st.lists(st.one_of(ADDRESSES, st.text(":1a.%", max_size=8)), min_size=1, max_size=20))
def test_ipv6_equals_the_standard_library(keys: list[str]) -> None:
    expected = [packed(key, ipaddress.IPv6Address) for key in keys]
    assert parse_hierarchy("ipv6/4").leaves(pa.array(keys)).to_pylist() == expected


@settings(SEEDED, max_examples=100)
@given(keys=st.lists(st.one_of(QUADS, st.text("012.5 ", max_size=8)), min_size=1, max_size=20))
def test_ipv4_equals_the_standard_library(keys: list[str]) -> None:
    expected = [packed(key, ipaddress.IPv4Address) for key in keys]
    numbers = [None if address is None else int.from_bytes(address) for address in expected]
    assert parse_hierarchy("ipv4/1").leaves(pa.array(keys)).to_pylist() == numbers


def domain_leaf(name: str, depth: int) -> bytes | None:
    """The components of a domain name, by its definition."""
    parts = name.encode().removesuffix(b".") if len(name) > 1 else name.encode()
    found = [part.lower() for part in parts.split(b".")][::-1]
    if not all(found) or re.search(rb"[\x00-\x20\x7f/:@?#\[\]\\]", name.encode()) or found[0].isdigit():
        return None
    return b"\0".join((found + [b"\xff"] * depth)[:depth])


@SEEDED
@given(keys=st.lists(st.text("aZ09-._/é *", max_size=12), min_size=1, max_size=20), depth=st.integers(1, 5))
def test_domains_equal_the_obvious(keys: list[str], depth: int) -> None:
    leaves = parse_hierarchy(f"domain/{depth}").leaves(pa.array(keys))
    assert leaves.to_pylist() == [domain_leaf(key, depth) for key in keys]


def path_leaf(text: str, depth: int) -> bytes | None:
    """The components of a path, by its definition."""
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text)
    rest = re.split(r"[?#]" if scheme else r"[?]", text[scheme.end() if scheme else 0 :])[0]
    if not rest or "\0" in rest:
        return None
    parts = [part for part in rest.split("/") if part]
    if rest[0] == "/":
        parts = ["/" + (parts[0] if parts else ""), *parts[1:]]
    elif scheme:
        parts[0] = re.sub("[A-Z]", lambda letter: letter[0].lower(), parts[0].rpartition("@")[2])
    if not parts[0]:
        return None
    return b"\0".join(([part.encode() for part in parts] + [b"\xff"] * depth)[:depth])


@settings(SEEDED, max_examples=60)
@given(
    keys=st.lists(
        st.tuples(
            st.sampled_from(["", "http://", "a+1.b-://", "1a://", "ftp:/"]),
            st.text("aZ/@?#.:é\0", max_size=12),
        ),
        min_size=1,
        max_size=20,
    ),
    depth=st.integers(1, 5),
)
def test_paths_equal_the_obvious(keys: list[tuple[str, str]], depth: int) -> None:
    joined = ["".join(key) for key in keys]
    leaves = parse_hierarchy(f"path/{depth}").leaves(pa.array(joined))
    assert leaves.to_pylist() == [path_leaf(key, depth) for key in joined]


ZONES = st.sampled_from([-1439, -60, -30, 0, 1, 60, 330, 1439]).map(
    lambda ahead: timezone(timedelta(minutes=ahead))
)
TIMES = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31))


@settings(SEEDED, max_examples=60)
@given(times=st.lists(st.tuples(TIMES, ZONES), min_size=1, max_size=20), separator=st.sampled_from("Tt "))
def test_dates_equal_the_standard_library(times: list[tuple[datetime, timezone]], separator: str) -> None:
    hierarchy = parse_hierarchy("date")
    zoned = [time.replace(tzinfo=zone) for time, zone in times]
    expected = [time.astimezone(UTC).strftime("%Y-%m-%dT%H").rjust(13, "0") for time in zoned]
    text = hierarchy.leaves(pa.array([time.isoformat(separator) for time in zoned]))
    assert hierarchy.labels(text, [4] * len(text)).to_pylist() == expected
    for unit in ("s", "ms", "us"):
        assert hierarchy.leaves(pa.array(zoned, pa.timestamp(unit, "UTC"))).equals(text)
    days = hierarchy.leaves(pa.array([time.astimezone(UTC).date() for time in zoned]))
    assert hierarchy.nodes(days, 3).equals(hierarchy.nodes(text, 3))


def as_counts(found: HeavyNodes, values: Any) -> dict[Any, int]:
    return dict(
        zip(zip(found.levels.tolist(), found.nodes.to_pylist(), strict=True), values.tolist(), strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
@SEEDED
@given(data=st.data(), threshold=st.integers(1, 40))
def test_exact_heavy_nodes_equal_the_obvious(name: str, data: Any, threshold: int) -> None:
    hierarchy, leaves = leaves_of(name, data)
    counts = np.array(
        data.draw(st.lists(st.integers(1, 20), min_size=len(leaves), max_size=len(leaves))), np.int64
    )
    cut = data.draw(st.integers(0, len(leaves)))
    rows = [(leaves[:cut], counts[:cut]), (leaves[cut:], counts[cut:])]
    shape = LeafCounts(hierarchy, lambda: leaf_batches(hierarchy, rows))
    paths = dict(zip(leaves.to_pylist(), nodes_of(hierarchy, leaves), strict=True))
    asked = (
        dict(zip(leaves.to_pylist(), counts.tolist(), strict=True)),
        lambda leaf, level: paths[leaf][level],
        hierarchy.height,
    )
    found = hierarchical_heavy_hitters(shape, threshold)
    totals = reference.heavy_hitters_by_level(*asked, 1)
    residuals = as_counts(found, found.residuals)
    assert residuals == reference.hierarchical_heavy_hitters(*asked, threshold)
    assert as_counts(found, found.totals) == {key: totals[key] for key in residuals}
    by_level = heavy_hitters_by_level(shape, threshold)
    assert as_counts(by_level, by_level.totals) == reference.heavy_hitters_by_level(*asked, threshold)


@SEEDED
@given(keys=st.lists(st.text("01.x", max_size=8), max_size=60))
def test_counts_are_those_of_the_good_keys(keys: list[str]) -> None:
    hierarchy = parse_hierarchy("ipv4/8")
    batches = list(count_leaves(hierarchy, pa.array(keys, pa.string())).batches())
    found = {
        leaf: count
        for batch in batches
        for leaf, count in zip(batch.leaves.to_pylist(), batch.counts.tolist(), strict=True)
    }
    leaves = hierarchy.leaves(pa.array(keys, pa.string())).drop_null().to_pylist()
    assert found == reference.exact(leaves)
    assert list(found) == sorted(found)
