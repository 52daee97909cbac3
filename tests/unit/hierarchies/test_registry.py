"""From words to hierarchies, and what happens to malformed keys."""

import pyarrow as pa
import pytest

from hushcount.errors import DataError, ParameterError
from hushcount.hierarchies.addresses import Ipv4
from hushcount.hierarchies.base import IntegerHierarchy, good_leaves
from hushcount.hierarchies.dates import Date
from hushcount.hierarchies.registry import FORMS, named_hierarchy, parse_hierarchy
from hushcount.sketches.leaves import count_leaves


@pytest.mark.parametrize(
    ("text", "name", "height"),
    [
        ("ipv4/8", "ipv4/8", 4),
        ("ipv4/4", "ipv4/4", 8),
        ("ipv4/1", "ipv4/1", 32),
        ("ipv4", "ipv4/8", 4),
        ("ipv6/16", "ipv6/16", 8),
        ("ipv6/8", "ipv6/8", 16),
        ("ipv6/4", "ipv6/4", 32),
        ("ip", "ip/8", 4),
        ("ip/4", "ip/4", 8),
        ("ip/1", "ip/1", 32),
        ("domain", "domain/4", 4),
        ("domain/7", "domain/7", 7),
        ("path", "path/4", 4),
        ("path/2", "path/2", 2),
        ("date", "date", 4),
        ("columns:country,region,city", "columns:country,region,city", 3),
    ],
)
def test_names(text, name, height):
    hierarchy = parse_hierarchy(text)
    assert (hierarchy.name, hierarchy.height) == (name, height)
    assert parse_hierarchy(hierarchy.name).name == name
    assert parse_hierarchy(hierarchy) is hierarchy
    assert parse_hierarchy(text, height=height).height == height


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ip4",
        "ipv4/",
        "ipv4/x",
        "ipv4/8/8",
        "ipv4/-8",
        "date/3",
        "columns:",
        "columns",
        "parents:",
        "IPV4/8",
        "path/²",
    ],
)
def test_unknown_names(text):
    with pytest.raises(ParameterError) as refused:
        parse_hierarchy(text)
    assert str(refused.value) == f"hierarchy must be one of {FORMS}, got {text!r}."


def test_a_name_alone_reads_no_file(tmp_path):
    path = tmp_path / "regions.csv"
    path.write_text("child,parent\na,b\n")
    assert parse_hierarchy(f"parents:{path}").height == 2
    assert parse_hierarchy(f"parents:{path}", height=3).height == 3
    with pytest.raises(ParameterError, match=r"^hierarchy must be one of "):
        named_hierarchy(f"parents:{path}")


@pytest.mark.parametrize(
    ("hierarchy", "height", "sentence"),
    [
        ("ipv4/8", 5, "height must be 4 for hierarchy ipv4/8, got 5."),
        (Ipv4(8), 3, "height must be 4 for hierarchy ipv4/8, got 3."),
        (str.lower, None, "height must be given with a function as the hierarchy, got None."),
        (str.lower, 0, "hierarchy must have a height from 1 to 128 as a whole number, got 0."),
        (str.lower, True, "hierarchy must have a height from 1 to 128 as a whole number, got True."),
        (3, None, "hierarchy must be a name or a function, got int."),
        (None, None, "hierarchy must be a name or a function, got NoneType."),
    ],
)
def test_heights(hierarchy, height, sentence):
    with pytest.raises(ParameterError) as refused:
        parse_hierarchy(hierarchy, height)
    assert str(refused.value) == sentence


def test_functions():
    assert parse_hierarchy(lambda key: key[:-1] or None, height=3).height == 3


def test_which_hierarchies_are_of_numbers():
    numbers = [
        isinstance(parse_hierarchy(name), IntegerHierarchy) for name in ("ipv4/1", "date", "ipv6/8", "path")
    ]
    assert numbers == [True, True, False, False]
    assert isinstance(Date(), IntegerHierarchy)


def test_malformed_keys_are_dropped_or_stop_the_run():
    keys = pa.array(["10.0.0.1", "secret", None])
    assert good_leaves(Ipv4(8), keys).to_pylist() == [0x0A000001]
    with pytest.raises(DataError) as refused:
        good_leaves(Ipv4(8), keys, "fail")
    assert str(refused.value) == (
        'The data have a key that is malformed for hierarchy ipv4/8 (on_bad="fail").'
        " An address is written alone: cut off a port (host:port), brackets and a zone first."
    )
    with pytest.raises(DataError):
        count_leaves(Ipv4(8), keys, "fail")
    assert good_leaves(Ipv4(8), keys.take([0, 2]), "fail").to_pylist() == [0x0A000001]
