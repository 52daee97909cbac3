"""`hushcount inspect`: what the operator may see of a sketch file."""

from __future__ import annotations

import click

EPILOG = """\b
Example:
  hushcount inspect monday.hc
"""


@click.command(epilog=EPILOG)
@click.argument("sketch")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(sketch: str, as_json: bool) -> None:
    """Describe the file SKETCH to its owner.

    A sketch is raw data, and so is this description: neither is private. No key is shown.
    """
    from hushcount.cli import show
    from hushcount.jobs.sketch_files import inspect_sketch

    facts = inspect_sketch(sketch)
    show.warn("Raw data, not a release: publish neither the file nor these lines.")
    if as_json:
        show.print_json({"hushcount": 1, "kind": "sketch", "sketch": facts.to_dict()})
        return
    show.print_facts({name.replace("_", " "): _words(value) for name, value in facts.to_dict().items()})


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
