"""Exact counts read as numbers of users: each user was counted once for each of at most `max_keys` keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.privacy import USER, PrivacyUnit, check_count
from hushcount.shapes import ManyKeys, Public

if TYPE_CHECKING:
    import pyarrow as pa

    from hushcount.sketches.exact import Exact


@dataclass(slots=True)
class UserHistogram:
    """How many users hold each key, given that no user was counted for more than `max_keys` keys."""

    exact: Exact
    max_keys: int
    unit: PrivacyUnit = USER

    def __post_init__(self) -> None:
        self.max_keys = check_count("max_keys", self.max_keys)

    @property
    def total(self) -> int:
        """How many (user, key) pairs have been counted."""
        return self.exact.total

    def update(self, keys: pa.Array) -> None:
        """Count the keys of users, each once per user."""
        self.exact.update(keys)

    def public(self) -> Public:
        """Return the numbers that no data changes: equal before and after counting."""
        return Public(unit=self.unit, moved=self.max_keys, shape=ManyKeys)

    def shape(self) -> ManyKeys:
        """All keys; a user moves at most `max_keys` of them, by one each."""
        histogram = self.exact.shape()
        return ManyKeys(histogram.keys, histogram.counts, self.max_keys, unit=self.unit)
