"""What a caller can choose from by name, and by which rule Spark assigns rows to shards.

It is light, so that the help of the program can list it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.sources.formats import registry

FORMATS = registry.FORMATS
KINDS = ("space-saving", "misra-gries", "exact")  # of sketches that count a stream of events
USER_KINDS = (*KINDS, "user-misra-gries")  # and of users
METHODS = ("offline", "streaming")
COUNTED = ("users", "events")
ON_BAD = ("drop", "fail")
SCHEMES = ("pps", "ppswor")
SELECTIONS = ("steered", "sips", "weighted")  # how weights of users are spread over keys
CELLS = ("count-min", "count-sketch")
SHARDS = 64
PER_SHARD = 16384  # of each shard; all shards come to the driver
LARGEST_SHARDS = 1 << 16
RULES = ("key", "file")
ROW_IDS = (
    "row ids belong to the rows: none depends on other rows or on how Spark splits the data (asserted by the"
    " caller)"
)


@dataclass(frozen=True, slots=True)
class Partitioning:
    """A number of shards, and the one rule by which rows are assigned to them.

    By default rows go by their key; by `user` if users are protected; by a `row_id` if one key has too many
    rows for one task; by "file" only if the caller states on which attribute of a row its file depends.
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
        rules = ("user", self.user), ("row_id", self.row_id), ("partition_by", self.by)
        given = [name for name, value in rules if value is not None]
        if len(given) > 1:
            raise ParameterError(f"Rows are assigned to shards by one rule, got {' and '.join(given)}.")
        if (self.by == "file") != bool((self.files_cut_by or "").strip()):
            raise ParameterError(
                'partition_by="file" needs files_cut_by, your statement of the attribute of a row on which'
                " alone its file depends; nothing else takes it."
            )

    @property
    def keeps_keys_whole(self) -> bool:
        """Return whether all rows of a key go to one shard."""
        return self.user is None and self.row_id is None and self.by != "file"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what the caller asserts, in words."""
        if self.row_id is not None:
            return (ROW_IDS,)
        if self.files_cut_by is None:
            return ()
        return (
            f"files are cut by {self.files_cut_by}, an attribute of the row, not by count or size (asserted"
            " by the caller)",
        )

    @property
    def note(self) -> str:
        """Return the rule in words."""
        rule = "user" if self.user else "row id" if self.row_id else self.by or "key"
        return f"Rows are assigned to {self.shards} shards by a keyed hash of their {rule}."
