"""Options that say how the rows of a file are read."""

from __future__ import annotations

import click

from hushcount.errors import ParameterError
from hushcount.jobs.choices import FORMATS, PATTERN

READ = (
    click.option(
        "--format",
        metavar="FORMAT",
        type=click.Choice(tuple(FORMATS)),
        help=f"Format of FILE, if its extension does not show it: {', '.join(FORMATS)}. The last two are"
        " access logs of web servers, with columns such as host, time, path, status and agent.",
    ),
    click.option(
        "--pattern",
        metavar="REGEX",
        help="In place of --format, for lines of any log: a regular expression whose named groups are the"
        ' columns, such as "(?P<host>[0-9.]+) .* (?P<status>[0-9]{3})". Lines that it does not match are'
        " malformed.",
    ),
)


def named(values: dict[str, object]) -> dict[str, object]:
    """Return the values of a command, whose format may be that of lines that a pattern cuts."""
    others = {name: value for name, value in values.items() if name != "pattern"}
    if values["pattern"] is None:
        return others
    if values["format"] is not None:
        raise ParameterError("--pattern takes the place of --format; give one of them.")
    return others | {"format": f"{PATTERN}{values['pattern']}"}
