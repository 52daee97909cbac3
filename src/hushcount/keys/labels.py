"""Labels of the nodes of a hierarchy: their levels, and which is below which.

A release that was read from a file has the name of its hierarchy and labels, and nothing else. That is
enough, because a label shows all ancestors of its node.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_network

from hushcount.errors import ParameterError

ROOT = "*"
# What stands between the components of a label, by how the name of the hierarchy begins, and an example.
_COMPONENTS = {
    "path": ("/", "/shop"),
    "domain": (".", "com.example"),
    "columns:": (" > ", "de > Hesse"),
    "parents:": (" > ", "Europe > France"),
    "function": (" > ", "I > I2"),
}
_V4, _V6 = 32, 128
# The bits of the addresses that a hierarchy takes, those of which its name tells the step first; an example.
_ADDRESSES = {
    "ipv4/": ((_V4,), "10.0.0.0/8"),
    "ipv6/": ((_V6,), "2001:db8::/32"),
    "ip/": ((_V4, _V6), "10.0.0.0/8"),
}
_PART = r"(?:\d\d|·)"
_DATE = re.compile(rf"\d{{4}}(-{_PART})?(?(1)(-{_PART})?)(?(2)(T{_PART})?)")


@dataclass(frozen=True, slots=True)
class NodeLabel:
    """The label of a node: its level, and whether the node of another label is below it."""

    text: str
    level: int
    holds: Callable[[str], bool]

    @classmethod
    def of(cls, text: str, hierarchy: str, height: int) -> NodeLabel:
        """Return the label of a node of a hierarchy, or raise if no node of it can have this label.

        >>> shop = NodeLabel.of("/shop", "path/2", 2)
        >>> shop.level, shop.holds("/shop/tea"), shop.holds("/shopping/tea")
        (1, True, False)
        """
        if text == ROOT:
            return cls(text, 0, lambda other: other != ROOT)
        found, example = _read(text if isinstance(text, str) else "", hierarchy)
        if not isinstance(text, str) or found is None or not 1 <= found.level <= height:
            raise ParameterError(
                f"node must be the label of a node of hierarchy {hierarchy}, such as * or {example},"
                f" got {text!r}."
            )
        return found


def ancestors(text: str, hierarchy: str) -> list[str]:
    """Return the labels of all nodes above that of a label, from the root down.

    >>> ancestors("10.1.0.0/16", "ipv4/8"), ancestors("/shop/tea", "path/2"), ancestors("2024-05-17", "date")
    (['*', '10.0.0.0/8'], ['*', '/shop'], ['*', '2024', '2024-05'])
    """
    if text == ROOT:
        return []
    for name, (bits, _) in _ADDRESSES.items():
        if hierarchy.startswith(name):
            prefix = ip_network(text)
            step = int(hierarchy.removeprefix(name)) * prefix.max_prefixlen // bits[0]
            lengths = range(step, prefix.prefixlen, step)
            return [ROOT, *(_written(prefix.supernet(new_prefix=length)) for length in lengths)]
    between = next((mark for name, (mark, _) in _COMPONENTS.items() if hierarchy.startswith(name)), "[-T]")
    marks = re.finditer(between if hierarchy == "date" else re.escape(between), text)
    # A path may begin with a slash, which is part of its first component.
    return [ROOT, *(text[: mark.start()] for mark in marks if mark.start() or between != "/")]


def _read(text: str, hierarchy: str) -> tuple[NodeLabel | None, str]:
    """Return a label, None if it is malformed, and an example of a good one."""
    for name, (bits, example) in _ADDRESSES.items():
        if hierarchy.startswith(name):
            return _address(text, bits, int(hierarchy.removeprefix(name))), example
    for name, (between, example) in _COMPONENTS.items():
        if hierarchy.startswith(name):
            # A path may begin with a slash, which is part of its first component.
            level = 1 + text.count(between, 1 if between == "/" else 0)
            return NodeLabel(text, level, partial(_begins, text + between)), example
    found = _DATE.fullmatch(text) if hierarchy == "date" else None
    if found is None:
        return None, "2024-05-17"
    level = 1 + sum(part is not None for part in found.groups())
    return NodeLabel(text, level, partial(_begins, (f"{text}-", f"{text}T"))), "2024-05-17"


def _begins(start: str | tuple[str, ...], text: str) -> bool:
    """Return whether a label begins in one of these ways."""
    return text.startswith(start)


def _written(prefix: IPv4Network | IPv6Network) -> str:
    """Return how a table writes a prefix; Python writes some addresses of IPv6 in another way since 3.13."""
    start, length = prefix.network_address, prefix.prefixlen
    address = str(start)
    if isinstance(start, IPv6Address) and start.ipv4_mapped is not None:
        high, low = divmod(int(start.ipv4_mapped), 1 << 16)
        address = f"::ffff:{high:x}:{low:x}"
    return address if length == prefix.max_prefixlen else f"{address}/{length}"


def _address(text: str, bits: tuple[int, ...], step: int) -> NodeLabel | None:
    """Return the label of a prefix, or None if it is none of this step, which longer addresses multiply."""
    try:
        prefix = ip_network(text)
    except ValueError:
        return None
    step = step * prefix.max_prefixlen // bits[0]
    if prefix.max_prefixlen not in bits or prefix.prefixlen % step or text != _written(prefix):
        return None

    def holds(other: str) -> bool:
        below = None if other == ROOT else ip_network(other)
        if below is None or below == prefix or below.version != prefix.version:
            return False
        return below.subnet_of(prefix)  # type: ignore[arg-type]

    return NodeLabel(text, prefix.prefixlen // step, holds)
