"""What a caller can choose from by name, and by which rule Spark assigns rows to shards.

It is light, so that the help of the program can list it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hushcount.errors import ParameterError
from hushcount.privacy import check_count
from hushcount.sources.formats import registry
from hushcount.stores import results

if TYPE_CHECKING:
    from hushcount.files.atomic import PathLike

FORMATS = registry.FORMATS
PATTERN = registry.PATTERN
KINDS = ("space-saving", "misra-gries", "exact")  # of sketches that count a stream of events
USER_KINDS = (*KINDS, "user-misra-gries")  # and of users
METHODS = ("offline", "streaming")
COUNTED = ("users", "events")
ON_BAD = ("drop", "fail")
IF_EXISTS = results.IF_EXISTS
SCHEMES = ("pps", "ppswor")
SELECTIONS = ("steered", "sips", "weighted")  # how weights of users are spread over keys
CELLS = ("count-min", "count-sketch")
HIERARCHY = "hierarchy"  # a sketch of every level of a tree
SKETCHES = (*USER_KINDS, *CELLS, HIERARCHY)
DEPTH, WIDTH = 5, 1 << 16  # rows of cells, and cells in a row
LEVEL_COUNTERS = 16384  # for each level of a tree
SHARDS = 64
PER_SHARD = 16384  # of each shard; all shards come to the driver
LARGEST_SHARDS = 1 << 16
MOST_KEYS = 1 << 20  # of a user: noise for more drowns any table, and working it out takes ever more memory
AUTO = "auto"
RULES = ("key", "file")
ENGINES = LOCAL, SPARK = ("local", "spark")
ROW_IDS = (
    "row ids belong to the rows: none depends on other rows or on how Spark splits the data (asserted by the"
    " caller)"
)


def check_max_keys(max_keys: object) -> int:
    """Return how many keys of a user are kept, or raise; only a table can have it chosen from the data."""
    if max_keys == AUTO:
        raise ParameterError("max_keys = auto is for a table of exact counts of users; give a number here.")
    return check_count("max_keys", cast("int", max_keys), most=MOST_KEYS)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SketchSize:
    """The kind of a sketch that is written to a file, and its size: what is not given has a default.

    Several `threads` share the counters; each counts the keys that a hash deals to it.
    `hierarchy` and `height` are for the sketch of a tree; `depth` and `width` for sketches of cells, or
    `like`, a file whose kind, size and hash functions are taken over, so that the two can be merged.
    """

    kind: str = KINDS[0]
    counters: int | None = None
    threads: int = 1
    hierarchy: str | None = None
    height: int | None = None
    depth: int | None = None
    width: int | None = None
    like: PathLike | None = None

    def __post_init__(self) -> None:
        if self.kind not in SKETCHES:
            raise ParameterError(f"kind must be one of {', '.join(SKETCHES)}, got {self.kind}.")
        for name in ("hierarchy", "height"):
            self._only_for(name, (HIERARCHY,))
        for name in ("depth", "width", "like"):
            self._only_for(name, CELLS)
        self._only_for("counters", (*USER_KINDS, HIERARCHY))
        if check_count("threads", self.threads) > 1 and self.kind != KINDS[0]:
            raise ParameterError(f"threads cannot be combined with kind {self.kind}.")
        if self.kind == HIERARCHY and self.hierarchy is None:
            raise ParameterError("kind hierarchy needs hierarchy, such as ipv4/8.")
        if self.like is not None and (self.depth, self.width) != (None, None):
            raise ParameterError("like cannot be combined with depth and width, which it gives.")

    def _only_for(self, name: str, kinds: tuple[str, ...]) -> None:
        """Raise if a size is given that this kind of sketch does not have."""
        if getattr(self, name) is not None and self.kind not in kinds:
            raise ParameterError(f"{name} cannot be combined with kind {self.kind}.")

    @property
    def ordered(self) -> bool:
        """Whether what the sketch holds depends on the order of rows."""
        return self.kind not in ("exact", *CELLS)
