"""From a path, a folder or a glob to the names of files, in an order that no listing of a folder decides."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator

from hushcount.errors import DataError
from hushcount.files.atomic import identity
from hushcount.files.failures import attempt, file_failure


def find_names(path: str) -> tuple[bool, list[str], str]:
    """Return whether a path may stand for several files, their names, and what all begin with.

    Names are sorted, and each file is there once. Of a glob that matches folders alone, all files below them
    are taken. Folders after the common beginning may name columns.
    """
    if os.path.isdir(path):
        return (
            True,
            _filled(path, attempt(file_failure(path, "cannot be read"), lambda: list(_below(path)))),
            path,
        )
    if os.path.lexists(path):
        return False, [path], path
    if glob.has_magic(path):
        found = list(without_cycles(glob.iglob(path, recursive=True)))
        names = [name for name in found if not os.path.isdir(name)]
        for folder in found if not names else []:
            names += attempt(file_failure(folder, "cannot be read"), lambda name=folder: list(_below(name)))
        if not found:
            raise DataError(f"No file matches {path}.")
        return True, _filled(path, names), _plain_start(path)
    # A path inside a folder that may not be entered fails with its own reason.
    attempt(file_failure(path, "cannot be read"), os.stat, path)
    return False, [path], path


def _filled(path: str, names: list[str]) -> list[str]:
    """Return the names in order, or raise if there is none."""
    if not names:
        raise DataError(f"Folder {path} has no data files.")
    return distinct(names)


def _plain_start(pattern: str) -> str:
    """Return the folders of a glob before the first that has a wildcard."""
    start = ""
    for part in pattern.split(os.sep)[:-1]:
        if glob.has_magic(part):
            break
        start += part + os.sep
    return start


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
