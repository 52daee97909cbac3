"""Options that name a database, to read from or to write to."""

from __future__ import annotations

import click

from hushcount.errors import ParameterError
from hushcount.jobs.choices import IF_EXISTS

READ = (
    click.option(
        "--database",
        metavar="URI",
        help="Read from a database instead of FILE: postgresql://..., a DuckDB or an SQLite file.",
    ),
    click.option(
        "--relation", metavar="NAME", help="The table or view of --database to count; or give --sql."
    ),
)
WRITE = (
    click.option(
        "--if-exists",
        type=click.Choice(IF_EXISTS),
        help="--output may be a relation, postgresql://...#NAME or a.duckdb#NAME: if it exists, stop (fail),"
        " replace it, or append to it.",
    ),
)


def data(values: dict[str, object]) -> object:
    """Return the data that a command names, of which there must be one: a file, a query or a database."""
    database, file = values.get("database"), values["data"]
    asked = [values["sql"], values.get("relation")]
    if database is not None:
        if file is not None or asked.count(None) != 1:
            raise ParameterError("Give either --sql or --relation with --database, and no FILE.")
        return database
    if values.get("relation") is not None:
        raise ParameterError("--relation names a table of a database, so it needs --database.")
    if (file is None) == (values["sql"] is None):
        raise ParameterError("Give either FILE (- for standard input) or --sql.")
    return file
