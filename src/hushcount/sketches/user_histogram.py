"""Exact counts read as numbers of users: each user was counted once for each of at most `max_keys` keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushcount.privacy import USER, PrivacyUnit, check_count
from hushcount.shapes import ManyKeys

if TYPE_CHECKING:
    from hushcount.sketches.exact import Exact


@dataclass(frozen=True, slots=True)
class UserHistogram:
    """How many users hold each key, given that no user was counted for more than `max_keys` keys."""

    exact: Exact
    max_keys: int
    unit: PrivacyUnit = USER

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_keys", check_count("max_keys", self.max_keys))

    def shape(self) -> ManyKeys:
        """All keys; a user moves at most `max_keys` of them, by one each."""
        histogram = self.exact.shape()
        return ManyKeys(histogram.keys, histogram.counts, self.max_keys, unit=self.unit)
