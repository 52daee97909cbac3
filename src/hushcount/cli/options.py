"""Options that commands share, and the values they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hushcount.errors import ParameterError

if TYPE_CHECKING:
    from hushcount.jobs.dealing import Partitioning
    from hushcount.jobs.run import Request
    from hushcount.jobs.settings import ReleaseSettings
    from hushcount.jobs.users import UserSettings

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("lines", "csv", "tsv", "jsonl", "parquet", "arrow")

FILE = click.argument("file", required=False)
COLUMN = click.option(
    "--column", "-c", multiple=True, metavar="NAME", help="Column of the keys; several make one key together."
)
SQL = click.option("--sql", metavar="QUERY", help="Count the rows of a DuckDB query instead of FILE.")
FORMAT = click.option(
    "--format",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    help=f"Format of FILE where its ending does not tell: {', '.join(FORMATS)}.",
)
TYPE = click.option(
    "--type",
    "key_type",
    type=click.Choice(("text", "int")),
    default=None,
    metavar="text|int",
    help="Read the keys as text or whole numbers; CSV and JSON keys are text by default.",
)
CHECKPOINT = click.option(
    "--checkpoint", metavar="PATH", help="Save progress there (raw data); a stopped run continues from it."
)
COUNTERS = click.option(
    "--counters", type=int, default=131072, metavar="K", show_default=True, help="Counters kept in memory."
)
COUNTERS_BY_ENGINE = click.option(
    "--counters",
    type=int,
    default=None,
    metavar="K",
    help="Counters kept in memory (131072; on Spark 16384 a shard).",
)

EPSILON = click.option("--epsilon", type=float, required=True, metavar="E", help="Privacy loss; no default.")
DELTA = click.option(
    "--delta", type=float, required=True, metavar="D", help="Chance of a larger loss; no default."
)
MECHANISM = click.option("--mechanism", metavar="NAME", help="How to add noise (default: floor).")
MAX_EVENTS = click.option(
    "--max-events", type=int, metavar="N", help="Public bound on the number of events; more is an error."
)
CONFIDENCE = click.option(
    "--confidence",
    type=float,
    default=0.95,
    metavar="P",
    show_default=True,
    help="Of the intervals lower..upper.",
)
LIMIT = click.option("--limit", type=int, metavar="N", help="Show at most N rows (after the release).")
MIN_COUNT = click.option(
    "--min-count", type=int, metavar="C", help="Show noisy counts from C on (after the release)."
)
OUTPUT = click.option(
    "--output", "-o", metavar="PATH", help="Also write the table: .csv, .tsv, .parquet or .json."
)
JSON = click.option("--json", "style", flag_value="json", help="Print one JSON object instead of a table.")
TABLE = click.option(
    "--table", "style", flag_value="table", help="Print the table for people even into a pipe."
)

DOMAIN = click.option(
    "--domain",
    metavar="FILE|A..B",
    help="All keys that can occur, known to all: a file of one key a line, or a range; goes with --delta 0.",
)
USER = click.option("--user", metavar="NAME", help="Column of the users; protects one user, not one event.")
MAX_KEYS = click.option("--max-keys", type=int, metavar="M", help="Keep at most M different keys of a user.")
KEEP_DUPLICATES = click.option(
    "--keep-duplicates",
    is_flag=True,
    help="Keep at most M rows of a user in all, equal ones too, and count rows.",
)
EXACT = click.option("--exact", is_flag=True, help="Allow exact counts of all keys (memory grows with them).")
COUNT = click.option(
    "--count",
    type=click.Choice(("users", "events")),
    default="users",
    metavar="users|events",
    help="Count the users of a key, or with --max-events-per-user their events.",
)
MAX_EVENTS_PER_USER = click.option(
    "--max-events-per-user", type=int, metavar="M", help="Keep at most M events of a user."
)

ENGINE = click.option(
    "--engine",
    type=click.Choice(("local", "spark")),
    default="local",
    metavar="local|spark",
    help="Count in this process, or in shards on Spark.",
)
SHARDS = click.option("--shards", type=int, default=None, metavar="S", help="Spark: number of shards (64).")
ROW_ID = click.option("--row-id", metavar="NAME", help="Spark: deal rows to shards by this column.")
PARTITION_BY = click.option(
    "--partition-by", type=click.Choice(("key", "file")), metavar="key|file", help="Spark: or by key or file."
)
FILES_CUT_BY = click.option(
    "--files-cut-by", metavar="WORDS", help="Spark: by what attribute of a row files are cut; you assert it."
)

SPARK = (ENGINE, SHARDS, ROW_ID, PARTITION_BY, FILES_CUT_BY)
USERS = (USER, MAX_KEYS, KEEP_DUPLICATES, EXACT, COUNT, MAX_EVENTS_PER_USER)
SOURCE = (COLUMN, SQL, FORMAT, TYPE)
RELEASE = (EPSILON, DELTA, DOMAIN, MECHANISM, MAX_EVENTS, CONFIDENCE, LIMIT, MIN_COUNT, OUTPUT, JSON, TABLE)


def options(*several: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator for several options, listed in this order by --help."""

    def decorate(command: Command) -> Command:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def request(values: dict[str, Any]) -> Request:
    """The data asked for; takes its options out of `values`."""
    from hushcount.jobs.run import Request

    file, sql = values.pop("file"), values.pop("sql")
    columns = list(values.pop("column"))
    column = columns[0] if len(columns) == 1 else columns or None
    form, key_type = values.pop("format"), values.pop("key_type") or "auto"
    if (file is None) == (sql is None):
        raise ParameterError("Give either FILE (- for standard input) or --sql.")
    return Request(file, column, form, key_type, sql)


def settings(values: dict[str, Any]) -> ReleaseSettings:
    """The release asked for; takes its options out of `values`."""
    from dataclasses import fields

    from hushcount.jobs.settings import ReleaseSettings

    return ReleaseSettings(**{field.name: values.pop(field.name) for field in fields(ReleaseSettings)})


def counters(values: dict[str, Any], partitioning: Partitioning | None) -> int:
    """How many counters are kept, or the default of the engine; takes its option out of `values`."""
    from hushcount.jobs.settings import COUNTERS as LOCAL

    given: int | None = values.pop("counters")
    if given is not None:
        return given
    if partitioning is None:
        return LOCAL
    from hushcount.jobs.dealing import COUNTERS

    return COUNTERS


def users(values: dict[str, Any]) -> UserSettings:
    """How users are protected; takes its options out of `values`."""
    from dataclasses import fields

    from hushcount.jobs.users import UserSettings

    return UserSettings(**{field.name: values.pop(field.name) for field in fields(UserSettings)})


def partitioning(values: dict[str, Any], user: str | None) -> Partitioning | None:
    """How Spark deals rows to shards, None for another engine; takes its options out of `values`."""
    from hushcount.jobs.dealing import SHARDS, Partitioning

    spark = values.pop("engine") == "spark"
    names = ("shards", "partition_by", "row_id", "files_cut_by")
    shards, by, row_id, files_cut_by = (values.pop(name) for name in names)
    if spark:
        return Partitioning(SHARDS if shards is None else shards, by, row_id, user, files_cut_by)
    if any(value is not None for value in (shards, by, row_id, files_cut_by)):
        raise ParameterError("--shards, --row-id, --partition-by and --files-cut-by need --engine spark.")
    return None
