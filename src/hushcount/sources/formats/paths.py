"""A path, folder or glob as a list of inputs of one format, in path order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence

from hushcount.errors import DataError, ParameterError
from hushcount.files.atomic import identity
from hushcount.files.failures import attempt, file_failure
from hushcount.sources.formats.arrow_ipc import MAGIC
from hushcount.sources.formats.inputs import Input, Pipe, file_input, spooled, standard_input
from hushcount.sources.formats.registry import FORMATS, TABLE, ending_format


def find_inputs(path: str, format: str | None) -> tuple[list[Input], str]:  # noqa: A002
    """Return the inputs behind a path and their format."""
    if format is not None:
        FORMATS.check(format)
    if path == "-":
        if format is None:
            raise ParameterError(f"Standard input needs --format, one of {', '.join(FORMATS)}.")
        return [_prepared(standard_input(), format)], format
    several, names = _names(path)
    format = format or _one_format(path, names)  # noqa: A001
    if os.path.isdir(path):
        names = [name for name in names if ending_format(name) == format] or names
    inputs = [attempt(file_failure(name, "cannot be read"), _input, name, format) for name in names]
    return _filled(path, inputs, format if several else None), format


def _input(name: str, format: str) -> Input:  # noqa: A002
    # The libraries that read files take no other names.
    attempt(
        lambda _: DataError(f"{name!a} is a file name that is not valid UTF-8; rename the file."), name.encode
    )
    return _prepared(file_input(name), format)


def _prepared(file: Input, format: str) -> Input:  # noqa: A002
    """Return the same input, copied from a pipe to a file if the format needs to seek."""
    if not isinstance(file, Pipe):
        return file
    seeks = format == "parquet" or (format == "arrow" and file.head().startswith(MAGIC))
    return spooled(file) if seeks or (format == "jsonl" and file.location is None) else file


def _names(path: str) -> tuple[bool, list[str]]:
    """Return whether the path may stand for several files, and their names, each file once."""
    if os.path.isdir(path):
        names = attempt(file_failure(path, "cannot be read"), lambda: list(_below(path)))
        if not names:
            raise DataError(f"Folder {path} has no data files.")
        return True, distinct(names)
    if os.path.lexists(path):
        return False, [path]
    if glob.has_magic(path):
        names = [name for name in without_cycles(glob.iglob(path, recursive=True)) if not os.path.isdir(name)]
        if not names:
            raise DataError(f"No file matches {path}.")
        return True, distinct(names)
    # A path inside a folder that may not be entered fails with its own reason.
    attempt(file_failure(path, "cannot be read"), os.stat, path)
    return False, [path]


def distinct(names: Iterable[str]) -> list[str]:
    """Return the names in order, of several links to one file only the first."""
    first: dict[object, str] = {}
    for name in sorted(names):
        first.setdefault(identity(name), name)
    return list(first.values())


def without_cycles(names: Iterable[str]) -> Iterator[str]:
    """Yield the names; raise if one leads through a link to a folder that holds the link."""
    sound = {"", os.sep}
    for name in names:
        folder = os.path.dirname(name)
        while folder not in sound:
            if os.path.islink(folder) and _holds_itself(folder):
                raise DataError(
                    f"{folder} is a link to a folder above it, so files would count many times;"
                    " remove the link or name the files otherwise."
                )
            sound.add(folder)
            folder = os.path.dirname(folder)
        yield name


def _holds_itself(link: str) -> bool:
    """Return whether a link leads to a folder in which it lies."""
    target, place = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
    return os.path.commonpath((target, place)) == target


def _below(folder: str) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if name[0] not in "._"]
        yield from (os.path.join(place, name) for name in names if name[0] not in "._")


def _one_format(path: str, names: Sequence[str]) -> str:
    known = sorted({format for name in names if (format := ending_format(name)) is not None})  # noqa: A001
    if os.path.isdir(path) and len(known) > 1:  # notes beside the data
        known = [format for format in known if format != "lines"]  # noqa: A001
    if len(known) > 1:
        raise ParameterError(
            f"{path} has files of several formats ({', '.join(known)}); name one with --format."
        )
    strangers = not os.path.isdir(path) and any(ending_format(name) is None for name in names)
    if not known or strangers:
        raise ParameterError(
            f"The format of {path} is not known by its ending; name it with --format ({', '.join(FORMATS)})."
        )
    return known[0]


def _filled(path: str, inputs: list[Input], format_of_several: str | None) -> list[Input]:
    """Refuse empty files; empty parts of several text files are left out."""
    filled = [file for file in inputs if file.size != 0]
    parts = format_of_several is not None and TABLE[format_of_several].streams
    if not filled or (len(filled) < len(inputs) and not parts):
        empty = next(file.name for file in inputs if file.size == 0)
        raise DataError(f"{empty if len(inputs) == 1 or filled else path} is empty.")
    return filled
