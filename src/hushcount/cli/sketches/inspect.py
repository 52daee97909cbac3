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
    """Describe the file SKETCH, a sketch of any kind or an oracle, to its owner.

    A sketch is raw data, and so is its description: neither is private. No key is shown. An oracle
    may be published.
    """
    from hushcount.cli import show
    from hushcount.jobs.sketch_files import inspect_oracle, inspect_sketch, is_oracle

    kind = "oracle" if is_oracle(sketch) else "sketch"
    facts = inspect_oracle(sketch) if kind == "oracle" else inspect_sketch(sketch).to_dict()
    if kind == "sketch":
        show.warn("Raw data, not a release: publish neither the file nor these lines.")
    if as_json:
        show.print_json({"hushcount": 1, "kind": kind, kind: facts})
        return
    show.print_facts({name.replace("_", " "): _words(value) for name, value in facts.items()})


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
