"""Parent tables and functions: what is refused before any data is read, and what of the data is malformed."""

import datetime as dt
import traceback
from itertools import pairwise

import pyarrow as pa
import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.hierarchies.parents import parent_function, parent_table

REGIONS = "child,parent\nBerlin,DE\nDE,EU\nParis,FR\nFR,EU\nEU,*\nMoon,\nOslo,NO\n"


def table(folder, text, name="regions.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_table(tmp_path):
    hierarchy = parent_table(table(tmp_path, REGIONS))
    assert (hierarchy.name, hierarchy.height) == ("parents:regions.csv", 3)
    keys = ["Berlin", "DE", "EU", "Moon", "Oslo", "NO", "Rome", None, "*", ""]
    leaves = hierarchy.leaves(pa.array(keys))
    assert [leaf is None for leaf in leaves.to_pylist()] == [False] * 6 + [True] * 4
    labels = hierarchy.labels(leaves[:6], [3] * 6).to_pylist()
    assert labels == [
        "EU > DE > Berlin",
        "EU > DE > ·",
        "EU > · > ·",
        "Moon > · > ·",
        "NO > Oslo > ·",
        "NO > · > ·",
    ]
    assert hierarchy.labels(leaves[:2], [1, 2]).to_pylist() == ["EU", "EU > DE"]


def test_table_of_numbers_and_of_bytes(tmp_path):
    hierarchy = parent_table(table(tmp_path, "child,parent\n11,1\n12,1\n"))
    leaves = hierarchy.leaves(pa.array([11, 12, 1, 2]))
    assert leaves.to_pylist() == [b"1\x0011", b"1\x0012", b"1\x00\xff", None]
    assert hierarchy.leaves(pa.array([b"11", b"\xff"])).to_pylist() == [b"1\x0011", None]


def test_spellings_of_a_table(tmp_path):
    plain = parent_table(table(tmp_path, "child,parent\na,b\n"))
    for text in (
        "\ufeffchild,parent\r\na,b\r\n",
        'child,parent\n"a","b"\n\na,b\n',
        "child, parent\na,b\nb,*\n",
    ):
        other = parent_table(table(tmp_path, text))
        keys = pa.array(["a", "b"])
        assert other.leaves(keys).equals(plain.leaves(keys))


def test_a_greater_height_pads(tmp_path):
    hierarchy = parent_table(table(tmp_path, REGIONS), height=5)
    leaves = hierarchy.leaves(pa.array(["Berlin"]))
    assert hierarchy.labels(leaves, [5]).to_pylist() == ["EU > DE > Berlin > · > ·"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("child,parent\na,b\nb,a\n", "Hierarchy parents:regions.csv must have no cycle."),
        ("child,parent\na,a\n", "Hierarchy parents:regions.csv must have no cycle."),
        ("child,parent\nx,a\na,b\nb,c\nc,a\n", "Hierarchy parents:regions.csv must have no cycle."),
        (
            "child,parent\na,b\na,c\n",
            "Parent table regions.csv names a second parent for a child in row 3.",
        ),
        (
            "child,parent\na,b\na,\n",
            "Parent table regions.csv names a second parent for a child in row 3.",
        ),
        ("child,parent\na\n", "Parent table regions.csv must have a child and a parent in row 2."),
        ("child,parent\na,b,c\n", "Parent table regions.csv must have a child and a parent in row 2."),
        ("child,parent\n,b\n", "Parent table regions.csv must have a child and a parent in row 2."),
        ("child,parent\n*,b\n", "Parent table regions.csv must have a child and a parent in row 2."),
        ("child,parent\na,b\0\n", "Parent table regions.csv must have a child and a parent in row 2."),
        ("a,b\n", "Parent table regions.csv must begin with the line child,parent."),
        ("", "Parent table regions.csv must begin with the line child,parent."),
        ("child,parent\n", "Parent table regions.csv must have a row."),
        ('child,parent\n"a"x,b\n', "Parent table regions.csv is not CSV in UTF-8."),
        (b"child,parent\n\xe9,b\n", "Parent table regions.csv is not CSV in UTF-8."),
        (
            "child,parent\n" + "".join(f"{i},{i + 1}\n" for i in range(128)),
            "Hierarchy parents:regions.csv must not be higher than 128.",
        ),
    ],
)
def test_bad_tables(tmp_path, text, sentence):
    with pytest.raises(ParameterError) as refused:
        parent_table(table(tmp_path, text))
    assert str(refused.value) == sentence


def test_missing_table(tmp_path):
    with pytest.raises(ParameterError) as refused:
        parent_table(tmp_path / "none.csv")
    assert str(refused.value) == "Parent table none.csv cannot be read."


@pytest.mark.parametrize("height", [1, 2])
def test_height_mismatch(tmp_path, height):
    with pytest.raises(ParameterError) as refused:
        parent_table(table(tmp_path, REGIONS), height)
    assert str(refused.value) == f"height must be at least 3 for hierarchy parents:regions.csv, got {height}."


def test_function_of_text():
    hierarchy = parent_function(lambda code: code[:-1] or None, 3)
    leaves = hierarchy.leaves(pa.array(["abc", "ab", "abcd", "", None, "abc"]))
    # An empty text is a node of its own: the function says so.
    assert leaves.to_pylist() == [b"a\0ab\0abc", b"a\0ab\0\xff", None, b"\0\xff\0\xff", None, b"a\0ab\0abc"]
    assert hierarchy.name == "function"


@pytest.mark.parametrize(
    ("keys", "parent", "expected"),
    [
        (pa.array([125, 7]), lambda n: n // 10 or None, [b"1\x0012\x00125", b"7\0\xff\0\xff"]),
        (pa.array([b"\xfe\x01"]), lambda b: b[:-1] or None, [b"\xfe\0\xfe\x01\0\xff"]),
        (pa.array([b"\x01\x00"]), lambda b: b[:-1] or None, [None]),
        (pa.array([b"\xff"]), lambda b: None, [None]),
        (
            pa.array([dt.date(2024, 5, 17)]),
            lambda d: d.year if isinstance(d, dt.date) else None,
            [b"2024\x002024-05-17\0\xff"],
        ),
        (pa.array([1_000_000_001], pa.timestamp("ns")), lambda t: None, [b"1970-01-01 00:00:01\0\xff\0\xff"]),
    ],
    ids=["int", "bytes", "zero byte", "padding", "date", "nanoseconds"],
)
def test_function_of_other_keys(keys, parent, expected):
    assert parent_function(parent, 3).leaves(keys).to_pylist() == expected


def test_a_function_may_refuse_a_key():
    leaves = parent_function({"a": None, "b": "a"}.__getitem__, 2).leaves(pa.array(["b", "x", "a"]))
    assert leaves.to_pylist() == [b"a\0b", None, b"a\0\xff"]
    leaves = parent_function(lambda key: int(key) and None, 1).leaves(pa.array(["1", "secret"]))
    assert leaves.to_pylist() == [b"1", None]


def test_a_function_that_never_ends_gives_no_leaf():
    assert parent_function(lambda key: key, 3).leaves(pa.array(["a"])).to_pylist() == [None]


@pytest.mark.parametrize(
    ("parent", "sentence"),
    [
        (lambda key: key.nothing, "The function of the hierarchy failed with AttributeError."),
        (lambda key: 1 / 0, "The function of the hierarchy failed with ZeroDivisionError."),
        (
            lambda key: 1.5,
            "The function of the hierarchy must return text, bytes, a whole number or None, got float.",
        ),
    ],
)
def test_a_broken_function_stops_without_quoting_the_key(parent, sentence):
    with pytest.raises(DataError) as refused:
        parent_function(parent, 3).leaves(pa.array(["secret"]))
    assert str(refused.value) == sentence
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
    assert "'secret'" not in "".join(traceback.format_exception(refused.value))


def test_the_function_sees_each_key_once_a_batch():
    seen = []
    parent_function(seen.append, 2).leaves(pa.array(["a", "b", "a", "b", "a"]))
    assert seen == ["a", "b"]


def test_keys_that_python_cannot_hold():
    with pytest.raises(DataError) as refused:
        parent_function(lambda key: None, 2).leaves(pa.array([2**62], pa.timestamp("s")))
    assert str(refused.value) == "The data have keys beyond what Python can hold; cast them to text first."


def test_what_is_no_function():
    with pytest.raises(ParameterError) as refused:
        parent_function(3, 2)
    assert str(refused.value) == "hierarchy must be a name or a function, got int."


def test_a_table_that_would_take_too_much_memory_is_refused(tmp_path):
    """A node is stored with all its ancestors, so 12 MB of rows once took 4.3 GB."""
    chain = [f"{index:03d}" + "x" * 60 for index in range(100)]
    rows = ["child,parent", *(f"{child},{parent}" for parent, child in pairwise(chain))]
    rows += [f"leaf{index},{chain[-1]}" for index in range(25_000)]
    text = (
        "Hierarchy parents:regions.csv is too large: its nodes with all their ancestors take more than"
        " 134217728 bytes. Use fewer levels or shorter names."
    )
    with pytest.raises(ParameterError) as refused:
        parent_table(table(tmp_path, "\n".join(rows)))
    assert str(refused.value) == text
    assert parent_table(table(tmp_path, "\n".join(rows[:1000]))).height == 101
