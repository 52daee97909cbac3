"""Options that several commands share, and how an option is declared.

An option is declared as `--help` shows it: `whole("--limit N", "Show at most N rows.")`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import click

from hushcount.cli import databases, formats
from hushcount.errors import ParameterError
from hushcount.jobs.choices import COUNTED, ENGINES, LOCAL, ON_BAD, RULES, SPARK, Partitioning

if TYPE_CHECKING:
    from hushcount.jobs.request import Request

Command = TypeVar("Command", bound=Callable[..., object])
Values = dict[str, object]


class Decorator(Protocol):
    """Adds an option to a command."""

    def __call__(self, command: Command, /) -> Command:
        """Return the command with the option."""
        ...


def text(
    shown: str,
    words: str,
    kind: type | click.Choice[str] | click.ParamType[int] = str,
    required: bool = False,
    default: object = None,
) -> Decorator:
    """Return an option.

    Parameters
    ----------
    shown : str
        Its names and, last, what stands for its value, such as "--output -o PATH". A word without dashes
        before that is the name of the parameter.
    words : str
        What it means, in whole sentences.
    kind : type
        The type of its value.
    required : bool
        Whether it must be given.
    default : object
        The value if it is not given; the help states it.
    """
    *names, value = shown.split(" ")
    if default is None:
        return click.option(*names, metavar=value, help=words, type=kind, required=required)
    return click.option(*names, metavar=value, help=words, type=kind, default=default, show_default=True)


whole = partial(text, kind=int)


def kept_keys(words: str, metavar: str = "M") -> Decorator:
    """Return the option of how many keys of a user are kept: a whole number, or the word auto.

    The jobs that need a number say so, and why.
    """
    return click.option("--max-keys", metavar=metavar, help=words, callback=_whole_or_auto)


def _whole_or_auto(context: click.Context, parameter: click.Parameter, given: str | None) -> int | str | None:
    """Return the number or the word, or say what is wrong with it."""
    if given is None or given == "auto":
        return given
    try:
        return int(given)
    except ValueError:
        raise click.BadParameter(f"{given!r} is no whole number, nor auto.", context, parameter) from None


real = partial(text, kind=float)


def choice(shown: str, words: str, several: tuple[str, ...], default: str | None = None) -> Decorator:
    """Return an option whose value is one of several words."""
    return text(f"{shown} {'|'.join(several)}", words, click.Choice(several), default=default)


def flag(names: str, words: str, value: str | None = None) -> Decorator:
    """Return an option without a value; if it is given, the parameter is True, or `value`."""
    return click.option(*names.split(" "), is_flag=True, flag_value=value or True, help=words)


def options(*several: Decorator) -> Decorator:
    """Return one decorator for several options, listed in this order by --help."""

    def decorate(command: Command) -> Command:
        for option in reversed(several):
            command = option(command)
        return command

    return decorate


def _columns(_context: object, _parameter: object, given: tuple[str, ...]) -> str | list[str] | None:
    """Return the columns as a job takes them: one, several, or none named."""
    return given[0] if len(given) == 1 else list(given) or None


FILE = click.argument("data", metavar="[FILE]", required=False)
SOURCE = (
    click.option(
        "--column",
        "-c",
        multiple=True,
        callback=_columns,
        metavar="NAME",
        help="Column to count. Repeat it to count combinations of columns.",
    ),
    text("--sql QUERY", "Count the rows of a DuckDB query instead of FILE, or of a query of --database."),
    *databases.READ,
    *formats.READ,
    choice(
        "--type key_type",
        "Read the keys as text or whole numbers; CSV and JSON keys are text by default.",
        ("text", "int"),
    ),
    whole(
        "--max-key-bytes N",
        "Longest key in bytes; what is done with a longer one is decided by --on-bad.",
        default=4096,
    ),
    choice("--on-bad", "Drop malformed and too long keys, or stop at the first.", ON_BAD, default="drop"),
    text("--window DAY|FROM/TO", "Count only rows of this time: a day, or FROM to TO without TO itself."),
    text("--time COLUMN", "Column of the time of each row: times, or text such as 2026-11-15T06:00:00Z."),
    text("--time-zone ZONE", "Zone of --window and of times without one, such as Europe/Zurich (UTC)."),
)
CHECKPOINT = text("--checkpoint PATH", "Save progress there (raw data); a stopped run continues from it.")
COUNTERS = whole("--counters K", "Counters kept in memory; more find rarer keys.", default=131072)
COUNTERS_BY_ENGINE = whole(
    "--counters K", "Counters kept in memory (131072; on Spark all keys without it); more find rarer keys."
)


def _or_rho(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    """Return epsilon, or raise if neither it nor rho is given."""
    if given is None and context.params.get("rho") is None:
        raise click.MissingParameter(ctx=context, param=parameter)
    return given


EPSILON = click.option(
    "--epsilon",
    type=float,
    metavar="E",
    callback=_or_rho,
    help="Limit on the privacy loss, such as 1; smaller is more private and noisier.",
)
RHO = real(
    "--rho R", "In place of --epsilon, for Gaussian noise: the budget in zCDP, from which epsilon follows."
)
DELTA = real(
    "--delta D",
    "Probability with which that limit may fail, such as 1e-8; keep it far below 1 / number of people.",
    required=True,
)
ALLOW_LARGE_DELTA = flag("--allow-large-delta", "Take a --delta above 0.01, which protects almost nobody.")
LEDGER = (
    text(
        "--ledger L",
        "Charge the release to this ledger, a file or postgresql://..., before data are read."
        " Default: HUSHCOUNT_LEDGER.",
    ),
    text("--dataset NAME", "The dataset in the ledger whose budget pays."),
    text(
        "--run-id NAME",
        "Name of the run; a retry with the same name gets the stored answer. Default: a hash of the"
        " question.",
    ),
    flag("--again", "Draw new noise and pay again, even if an answer is stored."),
)
BUDGET = (EPSILON, RHO, DELTA, ALLOW_LARGE_DELTA, *LEDGER)
MECHANISM = text("--mechanism NAME", "How to add noise (default: floor); `hushcount explain` describes each.")
MAX_EVENTS = whole(
    "--max-events N", "A public bound on the number of events, not taken from the data; more are an error."
)
CONFIDENCE = real("--confidence P", "Confidence level of the intervals [lower, upper].", default=0.95)
LIMIT = whole("--limit N", "Show at most N rows; costs no privacy.")
PER = text("--per COLUMN", "With --limit: show N rows of each value of this column, one of several.")
MIN_COUNT = whole("--min-count C", "Show only rows with a noisy count of at least C; costs no privacy.")
OUTPUT = text("--output -o PATH", "Also write the table: .csv, .tsv, .parquet, .json, or a.duckdb#NAME.")
FORM = (
    OUTPUT,
    text("--sign KEY", "Sign --output, a .json, with this Ed25519 private key (PEM)."),
    flag("--excel", "Write .csv with an apostrophe before keys that a spreadsheet would take for formulas."),
    flag("--sidecar", "Also write PATH.json beside --output PATH: the guarantee, without rows."),
    *databases.WRITE,
)
SOURCE_NAME = text(
    "--source-name NAME", "What the data are called; nothing else in JSON and reports names them."
)
JSON = flag("--json style", "Print one JSON object instead of a table.", value="json")
TABLE = flag("--table style", "Print the table as on a terminal, even into a pipe.", value="table")
PLOT = text("--plot PATH", "Also draw the counts by rank: .svg.")
REPORT = text(
    "--report PATH", "Also write a page for people: .html, with the table, pictures and what is protected."
)
FILES = (*FORM, SOURCE_NAME, PLOT, REPORT)
DRY_RUN = flag(
    "--dry-run",
    "Open and check the data, say what a release would protect, show, write and cost, and stop there:"
    " no noise, nothing spent.",
)
SHOWN = (JSON, TABLE)
DOMAIN = text(
    "--domain FILE|A..B",
    "All keys that can occur, known to everybody: a file with one key per line, or a range;"
    " requires --delta 0; with --user the noise is for all rows of a user together.",
)
RELEASE = (*BUDGET, DOMAIN, MECHANISM, MAX_EVENTS, CONFIDENCE, LIMIT, PER, MIN_COUNT, *FILES, DRY_RUN, *SHOWN)

VERBS = """How to put parts together: `merge` adds up raw sketches into one sketch; `release A B`
publishes raw sketches of disjoint data together, as shards; `add` adds up published tables;
`oracle merge` adds up published oracles."""
USER = text("--user NAME", "Column of the users. Protects one user, not one event; needs --max-keys.")
BOUNDED = (USER, kept_keys("Keep at most M different keys of each user."))
USERS = (
    USER,
    kept_keys("Keep at most M different keys of each user, each counted once; or auto.", "M|auto"),
    flag("--keep-duplicates", "Count rows, not users: keep at most M rows of each user, equal ones too."),
    flag("--exact", "Count every key exactly, on disk, in bounded memory: the default with --user."),
    whole("--min-users K", "Publish only keys that at least K users hold, whatever the noise."),
    choice(
        "--count",
        "Count the users of a key, or with --max-events-per-user their events.",
        COUNTED,
        default="users",
    ),
    whole("--max-events-per-user M", "Keep at most M events of a user."),
)
ENGINE = choice("--engine", "Read and count in this process, or on Spark.", ENGINES, default=LOCAL)
SHARDED = (
    ENGINE,
    whole("--shards S", "Spark: count in sketches of S shards (64), in place of exact counts."),
    text("--row-id NAME", "Spark: assign rows to shards by this column, a unique row number."),
    choice("--partition-by", "Spark: assign rows to shards by key, or by file (see --files-cut-by).", RULES),
    text(
        "--files-cut-by WORDS", "Spark: what decides in which file a row is, such as country; you state it."
    ),
)


def formed(values: Values) -> Values:
    """Return the values of a command; the output says how it is written, which is checked here."""
    from hushcount.jobs.settings import taken
    from hushcount.releases.writers import Form, check_output

    named = ("sign", "excel", "sidecar", "if_exists")
    given = {name: values[name] for name in named if values.get(name)}
    if not given:
        return values
    if values["output"] is None:
        raise ParameterError("--sign, --excel, --sidecar and --if-exists need --output.")
    form = taken(Form, given, path=values["output"])
    check_output(form)
    return values | {"output": form}


def data(values: Values) -> Values:
    """Return the values of a command, whose data are a file, a query or a database."""
    read = {"data": databases.data(values), "key_type": values["key_type"] or "auto"}
    return formats.named(values) | read


def request(values: Values) -> Request:
    """Return the data that a command asks for."""
    from hushcount.jobs.request import Request
    from hushcount.jobs.settings import taken

    return taken(Request, data(values))


def partitioning(values: Values) -> Partitioning | None:
    """Return how Spark assigns rows to shards, None for another engine or if it was not told."""
    from hushcount.jobs.settings import taken

    names = ("shards", "partition_by", "row_id", "files_cut_by")
    given = {name: values[name] for name in names if values[name] is not None}
    if values["engine"] == SPARK and given:
        return taken(Partitioning, given, user=values["user"], by=values["partition_by"])
    if given:
        raise ParameterError("--shards, --row-id, --partition-by and --files-cut-by need --engine spark.")
    return None
