"""Which lines of a log were not read yet: in the log itself, and in those that it was rotated to.

A log is rotated by renaming (access.log becomes access.log.1, and a new access.log begins) or by copying it
and truncating it in place. Either way what was read is found again by its content, never by a name, and what
cannot be found is refused, so that no line is read twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hushcount.errors import DataError
from hushcount.files.failures import attempt, file_failure
from hushcount.sources.formats.held import Mark, OpenLog

# What follows the name of the log in that of a rotated one: .1, .2.gz, -20261118, .2026-11-18.zst.
ENDING = re.compile(r"[.-](\d[\d._T-]*?)(\.[A-Za-z]\w*)?")
GENERATION = 4  # digits; more are a date
ATTEMPTS = 10
SECOND = 10**9
BUSY = "{} is being rotated; run it again."
SEVERAL = (
    "{} and {} both begin with what was counted, so it cannot be told which lines are new; move away the one"
    " that is a copy."
)
NO_ORDER = (
    "Beside {} are rotated logs of two kinds of names, such as numbers and dates, so their order is not"
    " known; move those of one kind away."
)
LOST = (
    "Neither {0} nor a rotated log beside it begins with what was counted, and there are newer ones whose"
    " lines may be missing. Count them into another sketch file; `hushcount release` takes both together."
)
REWRITTEN = (
    "{0} was rewritten: it no longer begins with what was counted, but still has the last line of it. Count"
    " from now on into another sketch file, of a log without the lines that were counted."
)


@dataclass(frozen=True, slots=True)
class Unread:
    """Files with lines that were not read yet, oldest first, and where these begin.

    `gone` says that what was read before is in none of them, because the log was truncated.
    """

    files: tuple[tuple[OpenLog, int], ...]
    gone: bool = False


def unread(path: str, marks: Sequence[Mark]) -> Unread:
    """Find what a log has got since it was read up to these marks, the last of which is that of the log."""
    log, rotated = attempt(file_failure(path, "cannot be read"), _opened, path)
    if not marks:
        return Unread(((log, 0),))
    *earlier, mark = marks
    found = _since(log, rotated, mark)
    known = {each.identity for each, _ in found.files}
    late = [(each, before.read) for before in earlier for each in _kept(rotated, before)]
    return Unread(
        (*((each, at) for each, at in late if each.identity not in known), *found.files), found.gone
    )


def _since(log: OpenLog, rotated: Sequence[OpenLog], mark: Mark) -> Unread:
    """Find the file that a mark is of, and those that were begun after it."""
    later = [each for each in rotated if _written_since(each, mark)]
    if log.identity == mark.identity and log.begins_with(mark):
        for copy in later:
            if copy.begins_with(mark):
                raise DataError(SEVERAL.format(log.path, copy.path))
        return Unread(((log, mark.read),))
    if found := [each for each in later if each.begins_with(mark)]:
        found = [each for each in found if each.identity == mark.identity] or found
        if len(found) > 1:
            raise DataError(SEVERAL.format(found[0].path, found[1].path))
        newer = _newer(log.path, rotated, found[0])
        return Unread(((found[0], mark.read), *((each, 0) for each in newer), (log, 0)))
    if any(each.modified > mark.modified for each in rotated):
        raise DataError(LOST.format(log.path))
    if log.has_line(mark.last):
        raise DataError(REWRITTEN.format(log.path))
    return Unread(((log, 0),), gone=True)


def _kept(rotated: Sequence[OpenLog], mark: Mark) -> list[OpenLog]:
    """Return the rotated log that a mark is of, which may have got lines after it was renamed."""
    same = [each for each in rotated if each.identity == mark.identity and each.begins_with(mark)]
    packed = [each for each in rotated if each.compression and _written_since(each, mark)]
    return same or [each for each in packed if each.begins_with(mark)][:1]


def _written_since(log: OpenLog, mark: Mark) -> bool:
    """Return whether a log may have what was read: some programs that compress it keep whole seconds only."""
    return log.modified // SECOND >= mark.modified // SECOND


def _newer(path: str, rotated: Sequence[OpenLog], found: OpenLog) -> list[OpenLog]:
    """Return the rotated logs that were begun after one of them."""
    if len({_order(path, each.path)[0] for each in rotated}) > 1:
        raise DataError(NO_ORDER.format(path))
    return [each for each in rotated if _order(path, each.path) > _order(path, found.path)]


def _order(path: str, name: str) -> tuple[int, int]:
    """Return the kind of a name, and what sorts those of a kind, the oldest first.

    Numbers grow with age, and dates do not; dates with other digits are of another kind.
    """
    found = ENDING.fullmatch(name[len(path) :])
    digits = re.sub(r"\D", "", found[1]) if found else ""
    is_date = len(digits) > GENERATION
    return (len(digits), int(digits)) if is_date else (0, -int(digits or 0))


def _opened(path: str) -> tuple[OpenLog, list[OpenLog]]:
    """Open a log and those beside it, all as they are at one moment."""
    for _ in range(ATTEMPTS):
        names = _names(path)
        try:
            log, *rotated = opened = [OpenLog(name) for name in (path, *names)]
        except FileNotFoundError:
            if not os.path.exists(path):
                raise
            continue
        if names == _names(path) and all(_is_there(each) for each in opened):
            return log, [each for each in rotated if each.identity != log.identity]
    raise DataError(BUSY.format(path))


def _is_there(log: OpenLog) -> bool:
    """Return whether a log is still where it was opened."""
    try:
        status = os.stat(log.path)
    except FileNotFoundError:
        return False
    return (status.st_dev, status.st_ino) == log.identity


def _names(path: str) -> list[str]:
    """Return the names of the rotated logs, the oldest first; one that is being compressed is taken whole."""
    folder, base = os.path.split(path)
    found: dict[tuple[int, int], str] = {}
    for name in sorted(os.listdir(folder or ".")):
        if name.startswith(base) and ENDING.fullmatch(name[len(base) :]):
            place = os.path.join(folder, name)
            found.setdefault(_order(path, place), place)
    return [found[order] for order in sorted(found)]
