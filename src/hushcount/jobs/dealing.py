"""Which shard a row belongs to: one rule, a function of the row alone."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.privacy import check_count

SHARDS = 64
COUNTERS = 16384  # of each shard
LARGEST_SHARDS = 1 << 16
RULES = ("key", "file")


@dataclass(frozen=True, slots=True)
class Partitioning:
    """A number of shards, and the one rule by which rows are dealt to them.

    By default rows go by their key; by `user` where users are protected; by a `row_id` where one key may be
    too much for one task; by "file" only where the caller asserts by what attribute of a row files are cut.
    """

    shards: int = SHARDS
    by: str | None = None
    row_id: str | None = None
    user: str | None = None
    files_cut_by: str | None = None

    def __post_init__(self) -> None:
        if check_count("shards", self.shards) > LARGEST_SHARDS:
            raise ParameterError(f"shards must be at most {LARGEST_SHARDS}, got {self.shards}.")
        if self.by is not None and self.by not in RULES:
            raise ParameterError(f"partition_by must be one of {', '.join(RULES)}, got {self.by}.")
        given = [name for name, value in self._rules() if value is not None]
        if len(given) > 1:
            raise ParameterError(f"rows are dealt to shards by one rule, got {' and '.join(given)}.")
        if (self.by == "file") != bool((self.files_cut_by or "").strip()):
            raise ParameterError(
                'partition_by="file" goes with files_cut_by, your word on the attribute of a row by which'
                " files are cut."
            )

    def _rules(self) -> tuple[tuple[str, object], ...]:
        return ("user", self.user), ("row_id", self.row_id), ("partition_by", self.by)

    @property
    def keeps_keys_whole(self) -> bool:
        """Whether all rows of a key go to one shard."""
        return self.user is None and self.row_id is None and self.by != "file"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the caller asserts, in words."""
        if self.files_cut_by is None:
            return ()
        return (
            f"files are cut by {self.files_cut_by}, an attribute of the row, not by count or size (asserted"
            " by the caller)",
        )

    @property
    def note(self) -> str:
        """The rule in words."""
        rule = "user" if self.user else "row id" if self.row_id else self.by or "key"
        return f"Rows are dealt to {self.shards} shards by a keyed hash of their {rule}."
