"""Who meets whom on which data: one row each. A contest on more rows is run by `--full` alone."""

from __future__ import annotations

from dataclasses import dataclass

ROWS, COUNT_USERS = "count(*)", "count(DISTINCT user)"
EPSILON, DELTA, MAX_KEYS = 1.0, 1e-8, 8


@dataclass(frozen=True)
class Entrant:
    """A program, the environment that it needs, and its task."""

    name: str
    environment: str
    program: str
    task: str


@dataclass(frozen=True)
class Contest:
    """Entrants on the same data and budget."""

    name: str
    title: str
    rows: int
    counted: str
    entrants: tuple[Entrant, ...]
    epsilon: float = EPSILON
    full: bool = False


def ours(name: str, task: str) -> Entrant:
    """Return a task of hushcount."""
    return Entrant(name, "", "with_hushcount.py", task)


def theirs(name: str, task: str) -> Entrant:
    """Return a task of another library that protects."""
    environment = name.lower().replace("-", "_")
    return Entrant(name, environment, f"with_{environment}.py", task)


def open_count(name: str, task: str) -> Entrant:
    """Return a program without privacy."""
    return Entrant(name, "", "without_privacy.py", task)


EXACT, SKETCH = ours("hushcount, exact", "exact"), ours("hushcount, sketch", "sketch")
OPENDP, PIPELINEDP, TUMULT = "OpenDP", "PipelineDP", "Tumult"
CONTESTS = (
    Contest(
        "events",
        "Events: how often each key occurs",
        1_000_000,
        ROWS,
        (EXACT, SKETCH, *(theirs(name, "exact") for name in (OPENDP, PIPELINEDP, TUMULT))),
    ),
    Contest(
        "users",
        f"Users: how many users have each key, at most {MAX_KEYS} keys of a user",
        1_000_000,
        COUNT_USERS,
        (ours("hushcount", "users"), *(theirs(name, "users") for name in (OPENDP, PIPELINEDP, TUMULT))),
    ),
    Contest(
        "keys",
        f"Keys alone: which keys there are, at most {MAX_KEYS} keys of a user where a library needs a bound",
        1_000_000,
        COUNT_USERS,
        (ours("hushcount", "keys"), *(theirs(name, "keys") for name in (PIPELINEDP, TUMULT))),
    ),
    Contest(
        "many-events",
        "Events, twenty times as many",
        20_000_000,
        ROWS,
        (EXACT, SKETCH, theirs(OPENDP, "exact"), theirs(TUMULT, "exact")),
        full=True,
    ),
    Contest(
        "without-privacy",
        "Beside programs that protect nobody: their thousand most frequent keys",
        20_000_000,
        ROWS,
        (
            SKETCH,
            open_count("DuckDB, every count", "duckdb"),
            open_count("DuckDB, approx_top_k", "approx_top_k"),
            open_count("polars, every count", "polars"),
            open_count("Apache DataSketches", "datasketches"),
            open_count("Spark, approx_top_k", "spark"),
        ),
        full=True,
    ),
    Contest(
        "local",
        "The local model: 1,024 items, epsilon 2, each report made by a client of its own",
        50_000,
        ROWS,
        (
            ours("hushcount", "local"),
            *(theirs("pure-ldp", task) for task in ("hashing", "unary", "hadamard")),
        ),
        epsilon=2.0,
    ),
)
