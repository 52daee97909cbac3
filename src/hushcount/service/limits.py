"""How many requests one address may make. Addresses are kept in memory only, and for minutes."""

from __future__ import annotations

import ipaddress
import time

_MOST_ADDRESSES = 1 << 16
_BURST = 10  # seconds' worth of requests that may come at once


class Limits:
    """A bucket for every address (of IPv6, for every network of 64 bits) that fills at a steady rate.

    Parameters
    ----------
    rate:
        Requests per second; 0 for no limit.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._left: dict[str, tuple[float, float]] = {}

    def allows(self, address: str, now: float | None = None) -> bool:
        """Return whether one more request of an address is allowed, and count it."""
        if self._rate <= 0:
            return True
        moment, key = time.monotonic() if now is None else now, _network(address)
        left, before = self._left.pop(key, (self._rate * _BURST, moment))
        left = min(left + (moment - before) * self._rate, max(self._rate * _BURST, 1.0))
        while len(self._left) >= _MOST_ADDRESSES:  # the one that has been quiet for longest
            del self._left[next(iter(self._left))]
        self._left[key] = (left - 1 if left >= 1 else left, moment)
        return left >= 1


def _network(address: str) -> str:
    """Return what is limited together.

    >>> _network("10.0.0.1"), _network("2001:db8::1")
    ('10.0.0.1', '2001:db8::/64')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if known.version == 4 else str(ipaddress.ip_network((known, 64), strict=False))
