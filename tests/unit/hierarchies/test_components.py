"""Domain names, paths and columns: what their components are, and which keys are malformed."""

import datetime as dt

import pyarrow as pa
import pytest

import hushcount as hc
from hushcount.errors import KeyTypeError, ParameterError
from hushcount.hierarchies.components import columns, domain, path
from hushcount.keys.arrays import encode_rows as encode
from hushcount.sources.open import open_source


def label(hierarchy, key):
    """The label of the leaf of one key; None where it is malformed."""
    leaves = hierarchy.leaves(pa.array([key]))
    return None if leaves.null_count else hierarchy.labels(leaves, [hierarchy.height])[0].as_py()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("www.Example.COM", "com.example.www"),
        ("example.com.", "com.example.·"),
        ("com", "com.·.·"),
        ("a.b.c.d.e", "e.d.c"),
        ("bücher.example", "example.bücher.·"),
        ("É.fr", "fr.É.·"),
        ("_dmarc.x.org", "org.x._dmarc"),
        ("·.com", "com.\\·.·"),
        ("*.com", "com.*.·"),
        ("*", "\\*.·.·"),
        ("10.0.0.1", None),
        ("example.com..", None),
        ("a..b", None),
        (".com", None),
        (".", None),
        ("", None),
        ("a b.com", None),
        ("a\0.com", None),
        ("example.com:80", None),
        ("http://example.com", None),
        ("deep.malformed part.a.b.c", None),
        ("x@example.com", None),
    ],
)
def test_domain(key, expected):
    assert label(domain(3), key) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("https://Example.com/A/b?q=1#f", "example.com/A/b"),
        ("https://user:secret@Host:8080/a", "host:8080/a/·"),
        ("http://h", "h/·/·"),
        ("http://h/", "h/·/·"),
        ("http://h?q=/a", "h/·/·"),
        ("HTTP://h/a/b/c/d", "h/a/b"),
        ("file:///usr/lib", "/usr/lib/·"),
        ("/usr//lib/", "/usr/lib/·"),
        ("//usr", "/usr/·/·"),
        ("usr/lib", "usr/lib/·"),
        ("/", "//·/·"),
        ("/a/./..", "/a/./.."),
        ("/search?q=secret", "/search/·/·"),
        ("/C#/notes", "/C#/notes/·"),
        ("C:\\a", "C:\\\\a/·/·"),
        ("·/x", "\\·/x/·"),
        ("*", "\\*/·/·"),
        ("http://", None),
        ("http://?q", None),
        ("http://user@/a", None),
        ("?q", None),
        ("", None),
        ("/a\0b", None),
    ],
)
def test_path(key, expected):
    assert label(path(3), key) == expected


def test_path_of_bytes():
    assert label(path(2), b"/a/\xe9") == "/a/\\xe9"
    assert label(path(2), b"/a/\xff") is None


def test_columns():
    table = pa.table({"country": ["de", "de", "fr"], "city": ["Kassel", "", None], "code": [3, 4, 5]})
    source = open_source(table, column=["country", "city", "code"])
    hierarchy = columns(["country", "city", "code"])
    leaves = hierarchy.leaves(next(source.batches()).keys)
    assert hierarchy.name == "columns:country,city,code"
    assert hierarchy.labels(leaves, [3, 3]).to_pylist() == ["de > Kassel > 3", "de >  > 4"]
    assert hierarchy.labels(leaves, [1, 2]).to_pylist() == ["de", "de > "]


def test_one_column():
    hierarchy = columns(["day"])
    assert hierarchy.height == 1
    assert hierarchy.leaves(pa.array(["a", "b\0", None])).to_pylist() == [b"a", None, None]
    assert hierarchy.leaves(pa.array([b"\xff", b"\xff\xff"])).to_pylist() == [None, b"\xff\xff"]
    assert hierarchy.leaves(pa.array([dt.date(2024, 5, 17)])).to_pylist() == [b"2024-05-17"]


@pytest.mark.parametrize("value", [b"a\0b", b"\xff"])
def test_columns_that_could_be_mistaken(value):
    keys = encode([pa.array([value, b"good"]), pa.array([b"x", b"y"])])
    assert columns(["a", "b"]).leaves(keys).to_pylist() == [None, b"good\0y"]


@pytest.mark.parametrize(
    "key", [b"", b"1:a", b"1:a1:b1:c", b"1:a9:b", b"x", b"1a1:b", b":a1:b", b"1:a1:", b"99999999999:a1:b"]
)
def test_columns_of_other_keys(key):
    assert columns(["a", "b"]).leaves(pa.array([key])).to_pylist() == [None]


@pytest.mark.parametrize("names", [[], [""], ["a", "a"], ["a", ""]])
def test_column_names(names):
    with pytest.raises(ParameterError) as refused:
        columns(names)
    assert str(refused.value) == f"columns must be a list of different names, got {','.join(names)!r}."


@pytest.mark.parametrize("depth", [0, -1, 129, True, 2.0, float("nan"), None])
@pytest.mark.parametrize("made", [domain, path])
def test_depths(made, depth):
    with pytest.raises(ParameterError) as refused:
        made(depth)
    name = made.__name__
    assert str(refused.value) == f"{name} must have a height from 1 to 128 as a whole number, got {depth!r}."


def test_types():
    with pytest.raises(KeyTypeError) as refused:
        domain(3).leaves(pa.array([1]))
    assert str(refused.value) == "Keys of hierarchy domain/3 must be text, got int64."


@pytest.mark.parametrize("made", [domain, path])
def test_padding_is_no_component_of_a_key(made):
    """One key says less than another that has the marker written out."""
    hierarchy = made(2)
    keys = ["x", "·.x"] if made is domain else ["x", "x/·"]
    leaves = hierarchy.leaves(pa.array(keys))
    assert len(set(leaves.to_pylist())) == 2
    assert len(set(hierarchy.labels(leaves, [2, 2]).to_pylist())) == 2
    assert hierarchy.nodes(leaves, 1).unique().to_pylist() == [b"x"]


def test_a_null_level_is_padded_and_the_row_is_kept():
    country = pa.array(["de", "de", None, None, "de", "-"])
    city = pa.array(["Bonn", None, "Oslo", None, "", ":"])
    keys = encode([country, city], padded=True)
    assert len(encode([country, city])) == 3
    assert len(keys) == 5  # a row without any value has no key
    hierarchy = columns(["country", "city"])
    leaves = hierarchy.leaves(keys)
    assert leaves.to_pylist() == [b"de\x00Bonn", b"de\x00\xff", b"\xff\x00Oslo", b"de\x00", b"-\x00:"]
    assert hierarchy.labels(leaves, [2] * 5).to_pylist() == [
        "de > Bonn",
        "de > ·",
        "· > Oslo",
        "de > ",
        "- > :",
    ]


def test_a_tree_of_columns_counts_rows_with_a_null():
    """One event must not vanish because its deepest level is not known."""
    rows = pa.table({"country": ["de"] * 900, "city": ["Bonn"] * 500 + [None] * 400})
    for method in ("offline", "streaming"):
        tree = hc.tree(
            rows, hierarchy="columns:country,city", threshold=250, epsilon=2.0, delta=1e-6, method=method
        )
        assert sorted(tree.table["node"].to_pylist()) == ["de > Bonn", "de > ·"]
        assert "A null in a key column is padded with ·; rows of nulls alone are dropped." in tree.notes
