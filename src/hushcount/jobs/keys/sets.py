"""The sets of keys of all users, read from their source and kept out of core."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hushcount.privacy import USER, PrivacyUnit
from hushcount.shapes import KeySets, Public
from hushcount.sources.duckdb.key_sets import KeptSets

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class UserSets:
    """At most `largest` different keys of each user."""

    largest: int
    unit: PrivacyUnit = USER
    total: int = 0
    kept: KeptSets = field(default_factory=KeptSets)

    def __post_init__(self) -> None:
        self.unit = replace(USER, rows=self.largest)

    def update(self, keys: pa.Array) -> None:
        """Keep a batch of structs of user and key, users together."""
        self.total += len(keys)
        self.kept.add(keys.field("user"), keys.field("key"))

    def public(self) -> Public:
        """Return the bound on the keys of a user."""
        return Public(unit=self.unit, moved=self.largest, shape=KeySets)

    def shape(self) -> KeySets:
        """Return the sets, of which sums can be taken."""
        return KeySets(self.kept.sums, self.largest, self.unit)
