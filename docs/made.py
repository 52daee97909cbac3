"""The two references: one page for each command, and one for each group of public names."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

import hushcount
from hushcount.cli.main import COMMANDS, with_manners

# Public names in the order in which a reader meets them; those that stand nowhere come under "More".
GROUPS = {
    "Publishing": ("top", "tree", "sample", "keys", "oracle", "watch", "feed", "heavy_hitters"),
    "Sketches": (
        *(
            "SpaceSaving",
            "MisraGries",
            "Exact",
            "UserMisraGries",
            "HierarchySketch",
            "CountMin",
            "CountSketch",
        ),
        *("TrackedSketch", "tracked_sketch", "BottomK", "WeightedSample", "load", "release", "exact_tree"),
    ),
    "Releases": ("Release", "TreeRelease", "Oracle", "Guarantee", "add_releases", "read_release"),
    "Budgets and checks": ("Budget", "Ledger", "plan", "plan_watch", "verify", "Audit", "audit"),
}


def write_commands(folder: Path) -> None:
    """Write a page for each command of the program."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COMMANDS:
        command = with_manners(COMMANDS[name])
        sections = "\n".join(_sections(command, f"hushcount {name}"))
        (folder / f"{name}.md").write_text(f"# hushcount {name}\n\n{sections}")


def _sections(command: click.Command, path: str, depth: int = 1) -> Iterator[str]:
    """Yield what is said of a command and of those below it."""
    context = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\n{path} {usage}\n```\n"
    yield from _paragraphs(command.help or "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield f"{'#' * (depth + 1)} {path} {name}\n"
            yield from _sections(command.commands[name], f"{path} {name}", depth + 1)
        return
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield f"`{record[0]}`\n: {_escaped(record[1]) or 'No more to say.'}\n"
    yield from _paragraphs(command.epilog or "")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs; those that begin with a backspace, which click never wraps, stay as they are."""
    for paragraph in _cleaned(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```text\n{paragraph.lstrip(chr(8)).strip(chr(10))}\n```\n"
        elif paragraph.strip():
            yield _escaped(" ".join(paragraph.split())) + "\n"


def _cleaned(text: str) -> str:
    return "\n".join(line.rstrip() for line in inspect.cleandoc(text).splitlines())


def _escaped(text: str) -> str:
    """Return text in which Markdown finds no marks."""
    for mark in "\\`*_[]<>{}|$#":
        text = text.replace(mark, "\\" + mark)
    return text


def write_names(folder: Path) -> None:
    """Write a page for each group of public names, from their docstrings."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, names in _groups():
        body = "\n".join(_directive("hushcount", name) for name in names)
        (folder / f"{title.lower().replace(' ', '-')}.rst").write_text(
            f"{title}\n{'=' * len(title)}\n\n{body}"
        )
    for module in ("ldp", "errors", "testing", "engines"):
        title = f"hushcount.{module}"
        found = getattr(hushcount, module)
        names = [name for name in getattr(found, "__all__", dir(found)) if not name.startswith("_")]
        own = [name for name in names if callable(getattr(found, name)) and _of_ours(getattr(found, name))]
        body = f".. automodule:: {title}\n\n" + "\n".join(_directive(title, name) for name in own)
        (folder / f"{module}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n{body}")


def _of_ours(found: object) -> bool:
    return getattr(found, "__module__", "").startswith("hushcount")


def _groups() -> Iterator[tuple[str, tuple[str, ...]]]:
    known = {name for names in GROUPS.values() for name in names}
    yield from GROUPS.items()
    rest = [name for name in hushcount.__all__ if name not in known and callable(getattr(hushcount, name))]
    yield "More", tuple(rest)


def _directive(module: str, name: str) -> str:
    """Return what lets Sphinx document a name."""
    found = getattr(__import__(module, fromlist=[name]), name)
    kind = "class" if isinstance(found, type) else "function"
    members = "   :members:\n   :inherited-members: object, Exception, tuple\n" if kind == "class" else ""
    return f".. auto{kind}:: {module}.{name}\n{members}"
