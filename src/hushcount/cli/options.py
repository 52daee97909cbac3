"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hushcount.errors import ParameterError

if TYPE_CHECKING:
    from hushcount.jobs.dealing import Partitioning
    from hushcount.jobs.run import Request

Command = TypeVar("Command", bound=Callable[..., Any])
FORMATS = ("lines", "csv", "tsv", "jsonl", "parquet", "arrow")

FILE = click.argument("file", required=False)
COLUMN = click.option(
    "--column",
    "-c",
    multiple=True,
    metavar="NAME",
    help="Column to count. Repeat it to count combinations of columns.",
)
SQL = click.option("--sql", metavar="QUERY", help="Count the rows of a DuckDB query instead of FILE.")
FORMAT = click.option(
    "--format",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    help=f"Format of FILE, if its extension does not show it: {', '.join(FORMATS)}.",
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
    help="Counters kept in memory (131072; on Spark 16384 per shard); more find rarer keys.",
)

EPSILON = click.option(
    "--epsilon",
    type=float,
    required=True,
    metavar="E",
    help="Limit on the privacy loss, such as 1; smaller is more private and noisier.",
)
DELTA = click.option(
    "--delta",
    type=float,
    required=True,
    metavar="D",
    help="Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.",
)
MECHANISM = click.option(
    "--mechanism",
    metavar="NAME",
    help="How to add noise (default: floor); `hushcount explain` describes each.",
)
MAX_EVENTS = click.option(
    "--max-events",
    type=int,
    metavar="N",
    help="A bound on the number of events that may be known to all; more events are an error.",
)
CONFIDENCE = click.option(
    "--confidence",
    type=float,
    default=0.95,
    metavar="P",
    show_default=True,
    help="Confidence level of the intervals [lower, upper].",
)
LIMIT = click.option("--limit", type=int, metavar="N", help="Show at most N rows; costs no privacy.")
MIN_COUNT = click.option(
    "--min-count",
    type=int,
    metavar="C",
    help="Show only rows with a noisy count of at least C; costs no privacy.",
)
OUTPUT = click.option(
    "--output", "-o", metavar="PATH", help="Also write the table: .csv, .tsv, .parquet or .json."
)
JSON = click.option("--json", "style", flag_value="json", help="Print one JSON object instead of a table.")
TABLE = click.option(
    "--table", "style", flag_value="table", help="Print the table as on a terminal, even into a pipe."
)

ALLOW_LARGE_DELTA = click.option(
    "--allow-large-delta", is_flag=True, help="Take a --delta above 0.01, which protects almost nobody."
)
MAX_KEY_BYTES = click.option(
    "--max-key-bytes",
    type=int,
    default=4096,
    metavar="N",
    show_default=True,
    help="Longest key in bytes; what is done with a longer one is decided by --on-bad.",
)
ON_BAD = click.option(
    "--on-bad",
    type=click.Choice(("drop", "fail")),
    default="drop",
    metavar="drop|fail",
    show_default=True,
    help="Drop malformed and too long keys, or stop at the first.",
)
DOMAIN = click.option(
    "--domain",
    metavar="FILE|A..B",
    help="All keys that can occur, known to everybody: a file with one key per line, or a range;"
    " requires --delta 0.",
)
USER = click.option(
    "--user", metavar="NAME", help="Column of the users. Protects one user, not one event; needs --max-keys."
)
MAX_KEYS = click.option(
    "--max-keys", type=int, metavar="M", help="Keep at most M different keys of each user, each counted once."
)
KEEP_DUPLICATES = click.option(
    "--keep-duplicates",
    is_flag=True,
    help="Keep at most M rows of each user, equal ones too, and count rows.",
)
EXACT = click.option(
    "--exact", is_flag=True, help="Allow exact counts of all keys; memory grows with their number."
)
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
ROW_ID = click.option(
    "--row-id", metavar="NAME", help="Spark: assign rows to shards by this column, a unique row number."
)
PARTITION_BY = click.option(
    "--partition-by",
    type=click.Choice(("key", "file")),
    metavar="key|file",
    help="Spark: assign rows to shards by key (default) or by file (needs --files-cut-by).",
)
FILES_CUT_BY = click.option(
    "--files-cut-by",
    metavar="WORDS",
    help="Spark: the attribute that decides in which file a row is, such as country; you state it.",
)

SPARK = (ENGINE, SHARDS, ROW_ID, PARTITION_BY, FILES_CUT_BY)
USERS = (USER, MAX_KEYS, KEEP_DUPLICATES, EXACT, COUNT, MAX_EVENTS_PER_USER)
SOURCE = (COLUMN, SQL, FORMAT, TYPE, MAX_KEY_BYTES, ON_BAD)
RELEASE = (
    EPSILON,
    DELTA,
    ALLOW_LARGE_DELTA,
    DOMAIN,
    MECHANISM,
    MAX_EVENTS,
    CONFIDENCE,
    LIMIT,
    MIN_COUNT,
    OUTPUT,
    JSON,
    TABLE,
)


def options(*several: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator for several options, listed in this order by --help."""

    def decorate(command: Command) -> Command:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def data(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a command as the parameters of its job."""
    file, columns = values.pop("file"), list(values.pop("column"))
    if (file is None) == (values["sql"] is None):
        raise ParameterError("Give either FILE (- for standard input) or --sql.")
    column = columns[0] if len(columns) == 1 else columns or None
    return values | {"data": file, "column": column, "key_type": values["key_type"] or "auto"}


def request(values: dict[str, Any]) -> Request:
    """Return the data asked for; takes its options out of `values`."""
    from hushcount.jobs.run import Request
    from hushcount.jobs.settings import taken

    given = data(values)
    asked = taken(Request, given)
    for name in [name for name in values if name not in given]:
        del values[name]
    return asked


def partitioning(values: dict[str, Any]) -> Partitioning | None:
    """Return how Spark assigns rows to shards, None for another engine; takes its options out of `values`."""
    from hushcount.jobs.dealing import SHARDS, Partitioning

    spark = values.pop("engine") == "spark"
    names = ("shards", "partition_by", "row_id", "files_cut_by")
    shards, by, row_id, files_cut_by = (values.pop(name) for name in names)
    if spark:
        return Partitioning(SHARDS if shards is None else shards, by, row_id, values["user"], files_cut_by)
    if any(value is not None for value in (shards, by, row_id, files_cut_by)):
        raise ParameterError("--shards, --row-id, --partition-by and --files-cut-by need --engine spark.")
    return None
