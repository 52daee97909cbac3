"""Messages of jobs in the words of the command line: options in place of parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

import click

# Where a name without an underscore stands for a parameter; elsewhere it may be a word or a column's name.
MEANT = (
    r"^{name}(?= must| needs| cannot| goes| takes| is for| is too| above)",
    r"\b{name}(?= = )",
    r"(?<=needs ){name}(?=[,.;:])",
    r"(?<=combined with ){name}(?=[,.;:])",
    r"(?<=given with ){name}\b",
    r"(?<=cut by ){name}\b",
    r"(?<=either ){name}(?= or |, )",
    r"(?<= or ){name}(?=, )",
)


class ShortGroup(click.Group):
    """A group whose name alone is short for one of its commands."""

    short_for: ClassVar[str]


def command_of(program: click.Group, arguments: Sequence[str]) -> click.Command:
    """Return the command that the words of a command line lead to."""
    found: click.Command = program
    context = click.Context(program)
    for word in arguments:
        if not isinstance(found, click.Group):
            break
        following = found.get_command(context, word)
        if following is not None:
            found = following
    return found.commands[found.short_for] if isinstance(found, ShortGroup) else found


def in_options(sentence: str, command: click.Command) -> str:
    """Return a message with the options of a command in place of the parameters of a function.

    >>> top = click.Command("top", params=[click.Option(["--max-keys"]), click.Option(["--user"])])
    >>> in_options("max_keys needs user, so that one user has a bound.", top)
    '--max-keys needs --user, so that one user has a bound.'
    """
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.name is not None:
            option = max(parameter.opts, key=len)
            sentence = re.sub(rf'\b{parameter.name}="([\w-]+)"', rf"{option} \1", sentence)
            sentence = re.sub(rf"\b{parameter.name}=True\b", option, sentence)
            for pattern in _meant(parameter.name):
                sentence = re.sub(pattern, option, sentence)
    return sentence


def with_options(sentences: Sequence[str], command: click.Command) -> tuple[str, ...]:
    """Return sentences of a release with options in place of parameters whose names can mean nothing else.

    >>> top = click.Command("top", params=[click.Option(["--max-events"]), click.Option(["--count"])])
    >>> with_options(["max_events would bound the count."], top)
    ('--max-events would bound the count.',)
    """
    named = [each for each in command.params if isinstance(each, click.Option) and "_" in (each.name or "")]
    clear = click.Command(command.name, params=list(named))
    return tuple(in_options(sentence, clear) for sentence in sentences)


def _meant(name: str) -> tuple[str, ...]:
    """Return patterns for a parameter's name where it stands for the parameter."""
    if "_" in name:
        return (rf"(?<![\w-]){name}(?![\w(-]|\.\w)",)
    return tuple(pattern.format(name=name) for pattern in MEANT)
