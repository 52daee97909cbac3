"""A log that grows: the lines that it has got since it was read, wherever it was rotated to meanwhile.

Read in pieces, the lines come in the order of the log, each once and whole: a sketch of the pieces is the one
of all lines at once. A last line that has not ended yet waits for the next time.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hushcount.errors import DataError, ParameterError, SketchFileError
from hushcount.files.fingerprint import Fingerprint
from hushcount.files.leftovers import remove_leftovers
from hushcount.keys.columns import KeyColumns
from hushcount.sources.formats.files import FileSource, one_format, typed_columns
from hushcount.sources.formats.held import UNREADABLE, Mark, Stretch
from hushcount.sources.formats.objects import is_address
from hushcount.sources.formats.registry import COMPRESSIONS, PATTERN, reader_of
from hushcount.sources.formats.rotated import Unread, unread
from hushcount.sources.read_ahead import read_ahead
from hushcount.sources.source import Batch, keyed

LINES = ("lines", "jsonl", "combined", "common")
MOST = 1 << 28  # bytes that are read before the sketch is saved
POSITION, MORE, GONE = "log", "more", "gone"  # what the state of a source holds
NO_LOG = (
    "append takes one log that grows, an uncompressed file on this machine; rotated logs beside it are found"
    " by themselves."
)
ARRIVED = (
    "The lines that had come by the last reading of the log are counted; when it is read must not depend on"
    " what they say."
)
NO_LINE = "{} has no whole line yet, so there is nothing to count."


@dataclass(frozen=True, slots=True)
class GrowingLog(FileSource):
    """The whole lines of a log that were not read before; `marks` say where they end.

    `known` are digests of the logs that were read so far, `more` says that there are further lines, and
    `gone` that lines may be missing because the log was truncated.
    """

    marks: tuple[Mark, ...] = ()
    known: tuple[str, ...] = ()
    first: bool = False
    more: bool = False
    gone: bool = False

    @property
    def fingerprint(self) -> str:
        """The logs that were read so far, and what is asked of them."""
        question = [self.format, self.columns.names, self.columns.key_type]
        return str(Fingerprint.of([(name, 0) for name in self.known], question))

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which lines are counted, besides what happens to those that cannot be."""
        return (*super(GrowingLog, self).notes, ARRIVED)

    @property
    def state(self) -> dict[str, str]:
        """How far the logs are read when these lines have been counted."""
        position = {"marks": [mark.to_dict() for mark in self.marks], "known": list(self.known)}
        told = {name: "yes" for name, given in ((MORE, self.more), (GONE, self.gone)) if given}
        return {POSITION: json.dumps(position), **told}

    def batches(self, skip_rows: int = 0) -> Iterator[Batch]:
        """Yield the keys of the lines in order; nothing can be skipped."""
        if self.first:
            return super(GrowingLog, self).batches(skip_rows)
        return read_ahead(keyed(self.columns, self._pieces(skip_rows)))


def open_log(path: object, form: str | None, columns: KeyColumns, state: Mapping[str, str]) -> GrowingLog:
    """Open the lines of a log that another reading, which left `state`, has not read."""
    name = _checked_path(path)
    remove_leftovers(tempfile.gettempdir())
    form = form or one_format(name, [name])
    if form not in LINES and not form.startswith(PATTERN):
        raise ParameterError(
            f"append is for logs, whose lines stand alone: {', '.join(LINES)} or a pattern, not {form}."
        )
    marks, known = _position(state)
    stretches, more, gone = _stretches(unread(name, marks))
    if not marks and not stretches[-1].size:
        raise DataError(NO_LINE.format(name))
    reader = reader_of(form)
    typed = typed_columns(form, reader, stretches[-1], columns)
    read = [each for each in stretches if each.end]
    names = dict.fromkeys((*known, *(each.log.name for each in read if each.log is not None)))
    last = [each.until for each in read[-2:] if each.until is not None] or marks
    if len(read) > 1 and read[-2].log is not None and read[-2].log.compression is not None:
        last = last[1:]  # nobody writes to it any more
    source = GrowingLog(tuple(stretches), form, reader, typed, tuple(last), tuple(names))
    return replace(source, first=not marks and form == "jsonl", more=more, gone=gone)


def _checked_path(path: object) -> str:
    """Return the path of a log, or raise for anything else."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    packed = os.path.splitext(str(name))[1].lower() in COMPRESSIONS
    if (
        name in ("", "-")
        or packed
        or is_address(name)
        or (os.path.lexists(name) and not os.path.isfile(name))
    ):
        raise ParameterError(NO_LOG)
    return str(name)


def _position(state: Mapping[str, str]) -> tuple[list[Mark], list[str]]:
    """Return the marks and the names of the logs that were read, from what `GrowingLog.state` left."""
    if not state:
        return [], []
    try:
        position = json.loads(state[POSITION])
        return [Mark.from_dict(mark) for mark in position["marks"]], list(map(str, position["known"]))
    except (KeyError, TypeError, ValueError):
        failure = SketchFileError(UNREADABLE)
    raise failure


def _stretches(found: Unread) -> tuple[list[Stretch], bool, bool]:
    """Return the whole lines of files, whether some are left for the next time, and whether some are gone."""
    stretches: list[Stretch] = []
    for log, start in found.files:
        left = MOST - sum(each.size for each in stretches)
        if left <= 0:
            return stretches, True, found.gone
        end = log.whole_lines(start, left)
        stretches.append(Stretch.of(log, start, log.mark(end)))
    last, read = found.files[-1][0], stretches[-1].end
    return stretches, last.whole_lines(read, 1) > read, found.gone
