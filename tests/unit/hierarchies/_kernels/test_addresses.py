"""IPv4 and IPv6 prefixes: which keys are addresses, and how prefixes are written."""

from ipaddress import IPv6Network, ip_address

import pyarrow as pa
import pytest

from hushcount.errors import KeyTypeError, ParameterError
from hushcount.hierarchies.addresses import Ip, Ipv4, Ipv6


@pytest.mark.parametrize(
    ("key", "leaf"),
    [
        ("0.0.0.0", 0),
        ("255.255.255.255", 2**32 - 1),
        ("10.1.2.3", 0x0A010203),
        ("10.01.2.3", None),
        ("00.1.2.3", None),
        ("256.1.2.3", None),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("1.2.3.", None),
        (".1.2.3", None),
        ("1..2.3", None),
        (" 1.2.3.4", None),
        ("1.2.3.4\n", None),
        ("1.2.3.4/8", None),
        ("0x1.2.3.4", None),
        ("-1.2.3.4", None),
        ("99999999999999999999", None),
        ("١.2.3.4", None),
        ("", None),
    ],
)
def test_ipv4_text(key, leaf):
    assert Ipv4(8).leaves(pa.array([key])).to_pylist() == [leaf]
    assert Ipv4(8).leaves(pa.array([key.encode()])).to_pylist() == [leaf]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()])
def test_ipv4_numbers(kind):
    assert Ipv4(8).leaves(pa.array([0, None, 100], kind)).to_pylist() == [0, None, 100]
    if kind == pa.int64():
        keys = pa.array([-1, 2**32, 2**32 - 1, -(2**63)], kind)
        assert Ipv4(8).leaves(keys).to_pylist() == [None, None, 2**32 - 1, None]
    if kind == pa.uint64():
        assert Ipv4(8).leaves(pa.array([2**64 - 1, 2**32 - 1], kind)).to_pylist() == [None, 2**32 - 1]


def test_ipv4_four_bytes():
    keys = pa.array([b"\x0a\x00\x00\x01", None, b"\xff\xff\xff\xff", b"1.23"], pa.binary(4))
    expected = [0x0A000001, None, 0xFFFFFFFF, 0x312E3233]
    assert Ipv4(8).leaves(keys).to_pylist() == expected
    assert Ipv4(8).leaves(keys[1:]).to_pylist() == expected[1:]


def test_ipv6_sixteen_bytes():
    address = bytes(range(16))
    keys = pa.array([address, None], pa.binary(16))
    assert Ipv6(8).leaves(keys).to_pylist() == [address, None]


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("::", "::"),
        ("::1", "::1"),
        ("1::", "1::"),
        ("2001:DB8:0:0:8:800:200C:417A", "2001:db8::8:800:200c:417a"),
        ("::ffff:1.2.3.4", "::ffff:102:304"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("1:2:3:4:5:6:7:8::", None),
        ("1::2::3", None),
        ("1:2:3:4:5:6:7", None),
        ("1:2:3:4:5:6:7:1.2.3.4", None),
        ("fe80::1%eth0", None),
        ("::1/64", None),
        ("12345::", None),
        (":1::", None),
        ("1:", None),
        (":::", None),
        ("::01.2.3.4", None),
        ("::1.2.3.4:1", None),
        ("1.2.3.4", None),
        ("[::1]", None),
        (":", None),
        ("", None),
    ],
)
def test_ipv6_text(key, label):
    hierarchy = Ipv6(16)
    leaves = hierarchy.leaves(pa.array([key]))
    found = [None] if leaves.null_count else hierarchy.labels(leaves, [8]).to_pylist()
    assert found == [label]


@pytest.mark.parametrize(("step", "height"), [(8, 4), (4, 8), (1, 32)])
def test_ipv4_levels(step, height):
    hierarchy = Ipv4(step)
    assert (hierarchy.name, hierarchy.height) == (f"ipv4/{step}", height)
    leaf = hierarchy.leaves(pa.array(["10.255.2.3"]))
    labels = [hierarchy.labels(leaf, [level])[0].as_py() for level in range(height + 1)]
    assert (labels[0], labels[8 // step], labels[-1]) == ("*", "10.0.0.0/8", "10.255.2.3")
    assert labels[12 // step] == ("10.240.0.0/12" if step < 8 else "10.0.0.0/8")
    assert hierarchy.shifts.tolist() == [32 - step * level for level in range(height + 1)]


@pytest.mark.parametrize(("step", "height"), [(16, 8), (8, 16), (4, 32)])
def test_ipv6_levels(step, height):
    hierarchy = Ipv6(step)
    assert (hierarchy.name, hierarchy.height) == (f"ipv6/{step}", height)
    leaf = hierarchy.leaves(pa.array(["2001:db8::1"]))
    labels = [hierarchy.labels(leaf, [level])[0].as_py() for level in range(height + 1)]
    assert (labels[0], labels[32 // step], labels[-1]) == ("*", "2001:db8::/32", "2001:db8::1")


@pytest.mark.parametrize("step", [0, 2, 16, 32, -8, True, 8.0, "8", None])
def test_ipv4_steps(step):
    with pytest.raises(ParameterError) as refused:
        Ipv4(step)
    assert str(refused.value) == f"ipv4 must have steps of 8, 4 or 1 bits, got {step!r}."


@pytest.mark.parametrize("step", [0, 1, 2, 32, True, 16.0])
def test_ipv6_steps(step):
    with pytest.raises(ParameterError) as refused:
        Ipv6(step)
    assert str(refused.value) == f"ipv6 must have steps of 16, 8 or 4 bits, got {step!r}."


def test_types():
    with pytest.raises(KeyTypeError) as refused:
        Ipv4(8).leaves(pa.array([True]))
    assert (
        str(refused.value) == "Keys of hierarchy ipv4/8 must be text, whole numbers or four bytes, got bool."
    )
    with pytest.raises(KeyTypeError) as refused:
        Ipv6(8).leaves(pa.array([1]))
    assert str(refused.value) == "Keys of hierarchy ipv6/8 must be text or 16 bytes, got int64."


def test_nothing():
    for hierarchy in (Ipv4(8), Ipv6(8)):
        leaves = hierarchy.leaves(pa.array([], pa.string()))
        assert len(leaves) == len(hierarchy.shared(leaves)) == len(hierarchy.labels(leaves, [])) == 0
        assert hierarchy.nodes(leaves, 1).type == leaves.type == hierarchy.leaf_type


@pytest.mark.parametrize(("step", "height"), [(8, 4), (4, 8), (1, 32)])
def test_levels_of_both_kinds_of_addresses(step, height):
    hierarchy = Ip(step)
    assert (hierarchy.name, hierarchy.height) == (f"ip/{step}", height)
    leaves = hierarchy.leaves(pa.array(["10.255.2.3", "2001:db8::1"]))
    for level in range(height + 1):
        labels = hierarchy.labels(leaves, [level] * 2).to_pylist()
        alone = [
            Ipv4(step).labels(Ipv4(step).leaves(pa.array(["10.255.2.3"])), [level])[0].as_py(),
            str(IPv6Network(("2001:db8::1", 4 * step * level), strict=False)),
        ]
        if level in (0, height):
            alone[1] = "2001:db8::1" if level else "*"
        assert labels == alone


def test_the_tree_of_both_kinds_is_that_of_each_below_one_root():
    """All pairs of leaves: they share a node exactly if they are of one kind and share so many bits."""
    texts = ["0.0.0.0", "10.1.2.3", "10.1.2.4", "138.1.2.3", "255.255.255.255", "::", "::1", "2001:db8::1"]
    texts += ["2001:db8:0:1::", "a01::", "a01:203::", "ffff::"]  # some bytes of which are those of 10.1.2.3
    for step in (8, 4, 1):
        hierarchy = Ip(step)
        leaves = hierarchy.leaves(pa.array(texts))
        assert leaves.type == hierarchy.leaf_type
        order = sorted(range(len(texts)), key=lambda row: leaves[row].as_py())
        ordered = leaves.take(pa.array(order))
        shared = hierarchy.shared(ordered).tolist()
        for level in range(hierarchy.height + 1):
            nodes = hierarchy.nodes(ordered, level)
            assert hierarchy.nodes(nodes, level).equals(nodes)
            labels = hierarchy.labels(ordered, [level] * len(texts)).to_pylist()
            assert hierarchy.labels(nodes, [level] * len(texts)).to_pylist() == labels
            assert len(set(nodes.to_pylist())) == len(set(labels))
            assert nodes.to_pylist() == sorted(nodes.to_pylist())
            for row in range(1, len(texts)):
                assert (nodes[row] == nodes[row - 1]) == (shared[row] >= level)
                one, other = (ip_address(texts[order[place]]) for place in (row - 1, row))
                below = one.max_prefixlen - level * one.max_prefixlen // hierarchy.height
                alike = one.version == other.version and int(one) >> below == int(other) >> below
                assert (shared[row] >= level) == (alike or level == 0)


def test_one_address_of_ipv4_has_one_leaf():
    hierarchy = Ip()
    address = hierarchy.leaves(pa.array(["10.1.2.3"]))
    for key in ("::ffff:10.1.2.3", "::FFFF:A01:203", "0:0:0:0:0:ffff:a01:203"):
        assert hierarchy.leaves(pa.array([key])).equals(address)
    packed = pa.array([bytes(10) + b"\xff\xff\x0a\x01\x02\x03", None], pa.binary(16))
    assert hierarchy.leaves(packed)[:1].equals(address)
    assert hierarchy.leaves(packed).null_count == 1
    assert hierarchy.leaves(pa.array([b"\x0a\x01\x02\x03"], pa.binary(4))).equals(address)
    sixteen = pa.array([bytes(range(16))], pa.binary(16))
    assert hierarchy.leaves(sixteen)[0].as_py() == b"\x06" + bytes(range(16))
    for key in ("::10.1.2.3", "64:ff9b::10.1.2.3", "::fffe:10.1.2.3", "1::ffff:10.1.2.3"):
        assert hierarchy.leaves(pa.array([key]))[0].as_py()[0] == 6


@pytest.mark.parametrize(
    "key", ["10.1.2.3:443", "[::1]:443", "[::1]", "fe80::1%eth0", "10.1.2", "", "a.example"]
)
def test_what_is_no_address_of_either_kind(key):
    assert Ip().leaves(pa.array([key, None])).to_pylist() == [None, None]


def test_numbers_are_of_neither_kind():
    with pytest.raises(KeyTypeError) as refused:
        Ip(8).leaves(pa.array([1]))
    assert str(refused.value) == "Keys of hierarchy ip/8 must be text, or 4 or 16 bytes, got int64."


@pytest.mark.parametrize("step", [0, 2, 16, True])
def test_ip_steps(step):
    with pytest.raises(ParameterError) as refused:
        Ip(step)
    assert str(refused.value) == f"ip must have steps of 8, 4 or 1 bits, got {step!r}."


def test_no_level_has_more_nodes_than_are_possible():
    assert [Ip(8).possible(level) for level in range(5)] == [
        1,
        *(2**bits + 2 ** (4 * bits) for bits in (8, 16, 24, 32)),
    ]
